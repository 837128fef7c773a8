"""AUROC of the linguistic and the consistency signal beside the semantic one, where the recorded answers allow it.

Linguistic: how sure the draft sounds to the lexicon's reader. Consistency: how many of the other samples support the draft's sentences, by the
rules. Both as the proxy measures them; a set needs the texts of several samples for the latter.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np

from benchmarks.data.answers import SETS, Answers, load_set
from benchmarks.evidence.clusters import auroc
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.signals.consistency import ConsistencySignal

DRAWS = 300
MOST = 300
"""Questions of a set whose sentences are compared: the first."""


def interval(scores: np.ndarray, right: np.ndarray) -> str:
    """AUROC with a 95 % bootstrap interval over questions."""
    rng = np.random.default_rng(0)
    resampled = []
    for _ in range(DRAWS):
        draw = rng.integers(0, len(right), len(right))
        resampled.append(auroc(right[draw], scores[draw]))
    low, high = np.nanquantile(resampled, [0.025, 0.975])
    return f"{auroc(right, scores):.3f} ({low:.3f} to {high:.3f})"


def _recorded(answers: Answers, signal: str) -> str:
    part = answers.measured(signal)
    if not len(part):
        return ""
    return interval(np.array([case.raw[signal].mean for case in part.cases]), part.correct.astype(bool))


async def _consistency(answers: Answers) -> str:
    """Over the cases whose samples are recorded and whose draft claims something."""
    signal, scores, right = ConsistencySignal(), [], []
    for case in answers.cases:
        if len(case.samples) > 1:
            clusters = cluster_by_rules(case.question, [s.text for s in case.samples])
            scores.append((await signal.measure(case.question, case.samples, clusters)).mean)
            right.append(case.correct)
    return interval(np.array(scores), np.array(right, bool)) if scores else ""


def table(data: Path) -> str:
    """One line a set; an empty cell where the set does not record what the signal needs."""
    lines = ["| set | n | right | semantic | linguistic | consistency |", "|---|---|---|---|---|---|"]
    for name in SETS:
        answers = load_set(data, name, MOST)
        cells = [
            _recorded(answers, "semantic"),
            _recorded(answers, "linguistic"),
            asyncio.run(_consistency(answers)),
        ]
        lines.append(f"| {name} | {len(answers)} | {answers.correct.mean():.3f} | {' | '.join(cells)} |")
    return "\n".join(lines)
