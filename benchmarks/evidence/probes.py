"""Short probes against full samples with a live model, drawn once: `python -m benchmarks.evidence.probes` (some ten minutes).

The embedded model (SmolLM2-135M, without its brief examples) answers SciQ questions: eight full samples, the first of which is also the draft of
the other way, and seven short ones beside that draft. The replies and their tokens are kept in `probes.jsonl.gz` by the question's id;
questions and gold answers stay with the data.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks import DATA, RECORDED
from benchmarks.data.equivalence import Row, read
from benchmarks.evidence.signals import interval
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.grading.rules import alias_grade
from hedgerow.proxy.pipeline.sampling.forms import SHORT
from hedgerow.proxy.protocols import Call
from hedgerow.proxy.upstreams.dialects.chat import shortened
from hedgerow.proxy.upstreams.embedded import EmbeddedModel, open_embedded

KEPT = RECORDED / "probes.jsonl.gz"
ASKED = 60
SAMPLES = 8
LONGEST_REPLY = 32
"""Tokens."""
SEED = 11
FEWEST = 5
"""Right answers from which an AUROC says anything."""


def kept() -> list[dict[str, Any]]:
    """What was drawn: id, and by kind ("full", "short") the texts, the prompt's tokens and those written."""
    return [json.loads(line) for line in gzip.decompress(KEPT.read_bytes()).splitlines()]


def questions(data: Path) -> dict[str, Row]:
    """The questions by id."""
    return {row["id"]: row for row in read(data / "qa" / "sciq_subset.jsonl.gz")}


async def _ask(model: EmbeddedModel, body: dict[str, Any], n: int) -> dict[str, Any]:
    answer = await model.complete(Call("/chat/completions", body | {"n": n, "temperature": 1.0}))
    usage = answer["usage"]
    return {
        "texts": [choice["message"]["content"] for choice in answer["choices"]],
        "prompt": usage["prompt_tokens"],
        "written": usage["completion_tokens"],
    }


async def draw(rows: list[Row]) -> None:
    """Ask the model both ways; what has come is kept after every question, and asked no more."""
    from hedgerow.proxy.config import EmbeddedUpstream

    settings = EmbeddedUpstream(provider="embedded", max_answer_tokens=LONGEST_REPLY, brief=False)
    model = await open_embedded("embedded", settings)
    text = gzip.decompress(KEPT.read_bytes()).decode() if KEPT.exists() else ""
    done = {json.loads(line)["id"] for line in text.splitlines()}
    for row in track([row for row in rows if row["id"] not in done], "asking", disable=not sys.stderr.isatty()):
        body = {"messages": [{"role": "user", "content": row["question"]}]}
        full = await _ask(model, body, SAMPLES)
        short = await _ask(model, shortened(body, SHORT), SAMPLES - 1)
        text += json.dumps({"id": row["id"], "full": full, "short": short}, ensure_ascii=False) + "\n"
        KEPT.write_bytes(gzip.compress(text.encode(), mtime=0))
    await model.aclose()


def table(data: Path) -> str:
    """Tokens spent on a question, and how well the draft's share tells right from wrong, by way of sampling."""
    gold, rows = questions(data), kept()
    lines = [
        "| samples | n | drafts right | prompt tokens | tokens written | AUROC (95 % interval) |",
        "|---|---|---|---|---|---|",
    ]
    for way in ("full", "short"):
        outcomes = [_outcome(gold[row["id"]], row, way) for row in rows]
        right, share = np.array([right for right, _ in outcomes], bool), np.array([share for _, share in outcomes])
        prompt, written = (np.mean([row[way][kind] for row in rows]) for kind in ("prompt", "written"))
        if way == "short":  # the draft is a call of its own
            prompt += np.mean([row["full"]["prompt"] for row in rows])
            written += np.mean([row["full"]["written"] for row in rows]) / SAMPLES
        auroc = interval(share, right) if right.sum() >= FEWEST else f"too few right (under {FEWEST})"
        lines.append(f"| {way} | {len(rows)} | {right.sum()} | {prompt:.0f} | {written:.0f} | {auroc} |")
    return "\n".join(lines)


def _outcome(question: Row, row: dict[str, Any], way: str) -> tuple[bool, float]:
    """Whether the draft is right by the alias rule, and the share of the answers in its cluster."""
    texts = row["full"]["texts"] if way == "full" else [row["full"]["texts"][0], *row["short"]["texts"]]
    clusters = cluster_by_rules(question["question"], texts)
    inside = clusters.largest if way == "full" else next(c for c in clusters.clusters if 0 in c)
    draft = texts[clusters.draft_index if way == "full" else 0]
    return alias_grade(question["question"], draft, question["aliases"]).correct == 1.0, len(inside) / len(texts)


def main() -> int:
    """Draw and keep."""
    if not DATA.is_dir():
        print("the recorded answers are not beside the checkout", file=sys.stderr)
        return 2
    every = questions(DATA)
    chosen = random.Random(SEED).sample(sorted(every), ASKED)
    asyncio.run(draw([every[name] for name in chosen]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
