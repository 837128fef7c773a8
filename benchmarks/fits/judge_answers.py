"""What the shipped judge adds to the rules of same meaning: `python -m benchmarks.fits.judge_answers [--share 25] [--write]`.

EVOUNA's questions by hash: those below `TRAINED_SHARE` were trained on; a quarter of all chooses the threshold, the last quarter reports. Then the
share of the largest group on recorded samples, by rules and by rules and judge, and what reading costs. `--write` keeps the figures in answers.json.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import anyio
import numpy as np

from benchmarks import DATA
from benchmarks.data.equivalence import SAMPLE_SETS, Row, evouna, read
from benchmarks.evidence.clusters import auroc, is_right
from benchmarks.fits.judge_pairs import TRAINED_SHARE, part_of
from hedgerow.proxy.clustering.clusterer import JudgedClusterer, cluster_by_rules
from hedgerow.proxy.clustering.judged_support import read_claims
from hedgerow.proxy.clustering.local import ENTAILED, FOLDER, SENTENCE, LocalJudge, LocalPairs, behind
from hedgerow.proxy.clustering.rules import judge_pair

PRECISION = 0.96
"""Least precision at which a threshold is chosen, where one reaches it."""


def people(judge: LocalJudge, share: int) -> tuple[float, dict[str, dict[str, float]]]:
    """The threshold with the best F1 at `PRECISION` on one part of the questions, and precision, recall and F1 on another."""
    rows = [
        r
        for r in evouna(DATA, words=None)
        if r["answer"].strip() and TRAINED_SHARE <= part_of(r["question"]) < TRAINED_SHARE + 2 * share
    ]
    by_rules = np.array([_by_rules(row) for row in rows])
    judged = by_rules.copy()
    undecided = [(i, gold) for i, row in enumerate(rows) if not by_rules[i] for gold in row["gold"] if _open(row, gold)]
    texts = [
        (behind(rows[i]["question"], rows[i]["answer"]), behind(rows[i]["question"], gold)) for i, gold in undecided
    ]
    pairs = [(max(two, key=len), min(two, key=len)) for two in texts]
    entailed = judge.probabilities(pairs)[:, ENTAILED]
    for (i, _), probability in zip(undecided, entailed, strict=True):
        judged[i] = max(judged[i], probability)
    right = np.array([row["correct"] for row in rows])
    chooses = np.array([part_of(row["question"]) < TRAINED_SHARE + share for row in rows])
    short = np.array([len(row["answer"].split()) <= SENTENCE for row in rows])
    tried = {float(t): _scores(judged[chooses] >= t, right[chooses]) for t in np.arange(0.05, 1.0, 0.01)}
    sure = {t: scores for t, scores in tried.items() if scores["precision"] >= PRECISION} or tried
    best = max(sure, key=lambda t: sure[t]["f1"])
    scores_of = {}
    for name, part in (("all lengths", ~chooses), ("short", ~chooses & short), ("long", ~chooses & ~short)):
        scores_of[f"{name}, rules"] = _scores(by_rules[part] >= 1.0, right[part])
        scores_of[f"{name}, rules and judge"] = _scores(judged[part] >= best, right[part])
    return best, scores_of


def _by_rules(row: Row) -> float:
    return float(any(judge_pair(row["question"], gold, row["answer"]).same for gold in row["gold"]))


def _open(row: Row, gold: str) -> bool:
    is_long = max(len(text.split()) for text in (gold, row["answer"])) > SENTENCE
    return is_long and judge_pair(row["question"], gold, row["answer"]).same is None


def _scores(called: np.ndarray, right: np.ndarray) -> dict[str, float]:
    hit = int((called & right).sum())
    figures = {
        "n": len(right),
        "precision": hit / called.sum(),
        "recall": hit / right.sum(),
        "f1": 2 * hit / (called.sum() + right.sum()),
    }
    return {name: round(float(figure), 4) for name, figure in figures.items()}


def groups(judge: LocalJudge, same: float, questions: int) -> dict[str, dict[str, float]]:
    """AUROC of the share of the largest group, by surface label, on recorded samples."""
    figures = {}
    layered = JudgedClusterer(LocalPairs(judge, budget_s=1e6, same=same))
    for name in ("llama13b", "gemma2", "nq"):
        rows = read(DATA / SAMPLE_SETS[name])[:questions]
        figures[name] = {"n": len(rows)}
        ways: dict[str, Callable[[str, list[str]], object]] = {
            "rules": cluster_by_rules,
            "rules and judge": lambda question, answers: anyio.run(layered.cluster, question, answers),
        }
        for way, cluster in ways.items():
            clusterings = [cluster(row["question"], [s["text"] for s in row["samples"]]) for row in rows]
            right = np.array([is_right(row, c) for row, c in zip(rows, clusterings, strict=True)])
            share = np.array([len(c.largest) / len(row["samples"]) for row, c in zip(rows, clusterings, strict=True)])
            figures[name][way] = round(auroc(right, share), 3)
    return figures


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument(
        "--share", type=int, default=25, help="hundredths of the questions that choose, and as many that report"
    )
    parser.add_argument("--questions", type=int, default=500, help="most questions of each sample set")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    judge = LocalJudge(args.folder)
    best, verdicts = people(judge, args.share)
    figures = {"threshold": round(best, 2), "evouna": verdicts}
    print(json.dumps(figures, indent=1), flush=True)
    figures |= {"samples": groups(judge, best, args.questions), "cost": cost(judge, *twelve_claims())}
    print(json.dumps(figures, indent=1))
    if args.write:
        (args.folder / "answers.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
