"""AUROC of the largest cluster's share: our clusters against exact-match clusters, on the recorded samples.

Two labels for a draft. "Surface": it holds a gold answer word by word. "Meaning": it does, or it holds one of the further right answers in
right_answers.json, written by hand for the drafts that the surface calls wrong ("Doctor Zhivago" for "Dr Zhivago"), before the AUROC
on them was looked at. Sets whose label is a language model's verdict have one label only.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from benchmarks import RECORDED
from benchmarks.data.equivalence import SAMPLE_SETS, Row, contains, exact, read
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.types import Clustering

RIGHT: dict[str, dict[str, list[str]]] = json.loads((RECORDED / "right_answers.json").read_text(encoding="utf-8"))
BALANCED = {
    "balanced TriviaQA": "samples/balanced/triviaqa_BALANCED__llama.jsonl.gz",
    "balanced SciQ": "samples/balanced/sciq_BALANCED__qwen.jsonl.gz",
}
"""Balanced by design between sure and unsure answers: harder than traffic, for comparing clusters only."""


def auroc(right: np.ndarray, score: np.ndarray) -> float:
    """Area under the ROC curve by ranks; NaN where only one label is there."""
    n = right.sum()
    if n in (0, len(right)):
        return float("nan")
    return float((rankdata(score)[right].sum() - n * (n + 1) / 2) / (n * (len(right) - n)))


def exact_clusters(row: Row) -> Clustering:
    """Answers with equal SQuAD forms together; the mark to beat."""
    members: dict[str, list[int]] = {}
    for i, sample in enumerate(row["samples"]):
        members.setdefault(exact(sample["text"]), []).append(i)
    ordered = sorted(members.values(), key=lambda c: (-len(c), c[0]))
    return Clustering(tuple(tuple(c) for c in ordered))


def our_clusters(row: Row) -> Clustering:
    """Clusters by the rules."""
    return cluster_by_rules(row["question"], [sample["text"] for sample in row["samples"]])


def is_right(row: Row, clustering: Clustering, further: Sequence[str] = ()) -> bool:
    """Whether the draft is right by the row's label, or holds one of the further answers."""
    sample = row["samples"][clustering.draft_index]
    known = sample["contains"] if "contains" in sample else sample.get("correct", row.get("label", 0))
    return bool(known) or any(contains(answer, sample["text"]) for answer in further)


def compared(
    rows: Sequence[Row], theirs: Sequence[Clustering], ours: Sequence[Clustering], further: dict[str, list[str]]
) -> str:
    """Two AUROCs and the difference with its paired bootstrap interval, as table cells."""
    sides = []
    for clusterings in (theirs, ours):
        right = [is_right(r, c, further.get(r["id"], ())) for r, c in zip(rows, clusterings, strict=True)]
        share = [len(c.largest) / len(r["samples"]) for r, c in zip(rows, clusterings, strict=True)]
        sides.append((np.array(right), np.array(share)))
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(500):
        draw = rng.integers(0, len(rows), len(rows))
        differences.append(np.subtract(*(auroc(right[draw], share[draw]) for right, share in reversed(sides))))
    low, high = np.nanquantile(differences, [0.025, 0.975])
    exact_, own = (auroc(*side) for side in sides)
    return f"{exact_:.3f} | {own:.3f} | {own - exact_:+.3f} ({low:+.3f} to {high:+.3f})"


def sample_sets(data: Path) -> str:
    """The table."""
    lines = ["| set | n | label | exact | ours | difference (95 % interval) |", "|---|---|---|---|---|---|"]
    for name, path in (SAMPLE_SETS | BALANCED).items():
        rows = read(data / path)
        theirs, ours = [exact_clusters(r) for r in rows], [our_clusters(r) for r in rows]
        first = "surface" if "label" not in rows[0] or name == "nq" else "verdict of a model"
        lines.append(f"| {name} | {len(rows)} | {first} | {compared(rows, theirs, ours, {})} |")
        if name in RIGHT:
            lines.append(f"| {name} | {len(rows)} | meaning | {compared(rows, theirs, ours, RIGHT[name])} |")
    return "\n".join(lines)
