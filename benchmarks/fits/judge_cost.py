"""What reading claims with the shipped judge costs: `python -m benchmarks.fits.judge_cost`. Twelve claims of a recorded biography, five others."""

from __future__ import annotations

import json
import lzma
import time
from collections.abc import Sequence
from statistics import median

from benchmarks import DATA
from hedgerow.proxy.clustering.judged_support import read_claims
from hedgerow.proxy.clustering.local import LocalJudge


def cost(judge: LocalJudge, claims: Sequence[str], question: str, others: Sequence[str]) -> dict[str, float]:
    """Milliseconds for these claims, wall and CPU, median of nine."""
    wall, cpu = [], []
    for _ in range(10):
        start, spent = time.perf_counter(), time.process_time()
        read_claims(judge, question, claims, others)
        wall.append(1000 * (time.perf_counter() - start))
        cpu.append(1000 * (time.process_time() - spent))
    return {
        "claims": len(claims),
        "samples": len(others),
        "wall_ms_p50": round(median(wall[1:])),
        "cpu_ms_p50": round(median(cpu[1:])),
    }


def twelve_claims() -> tuple[list[str], str, list[str]]:
    """Twelve claims of a recorded passage and five samples."""
    with lzma.open(DATA / "long_form" / "graph_uncertainty_bios.jsonl.xz", "rt", encoding="utf-8") as lines:
        rows = map(json.loads, lines)
        row = next(row for row in rows if sum(c.get("from_answer", True) for c in row["claims"]) >= 12)
    return [c["text"] for c in row["claims"] if c.get("from_answer", True)][:12], row["question"], row["samples"][:5]


if __name__ == "__main__":
    print(json.dumps(cost(LocalJudge(), *twelve_claims())))
