"""How soon the drift watcher speaks, and how often without a cause: recorded answers, maps fitted on a part of them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.drift import EXACT, input_test, plausible, raw_histogram, sequential_test
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.proxy.grading.rules import contains_gold
from hedgerow.proxy.lab.measuring import cluster_by_key, fold

RUNS = 40
GOOD = 800
"""Verdicts before the change."""
BAD = 800
ALPHA = 0.01
FITTED = (200, 450, 900)
SPOILT = (0.3, 0.5, 0.7)
SOURCES = ("answerable_math/llama.jsonl.gz", "answerable_math/mistral.jsonl.gz")


@dataclass(frozen=True)
class Recorded:
    """One question a row: raw Beta and whether the draft was right."""

    alpha: FloatArray
    beta: FloatArray
    correct: FloatArray


def section(data: Path) -> str:
    """False alarms and delays, with and without forgiving what the fit could not know."""
    recorded = [_read(data / "samples" / source) for source in SOURCES]
    lines = [
        "## Drift",
        "",
        f"Recorded answers of two models to {recorded[0].correct.size:,} arithmetic questions each (ten samples, exact clusters, gold match). In each of "
        f"{RUNS} runs a model, and in it the answers that a Platt map is fitted on, are drawn anew; then {GOOD} other answers come in unchanged, and "
        f"{BAD} in which the given share of right answers is wrong (the samples agree as before). Probability of ever raising a false alarm: at most "
        f"{ALPHA:g}. *Stated*: the calibrated means are tested as they were stated; *forgiving*: also as any map that the fit's own data do not rule "
        "out would have stated them, which is what the watcher does.",
        "",
        "| fitted on | null | alarms before the change (95 %) | right made wrong | noticed | median delay | 90 % within |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in FITTED:
        for name in ("stated", "forgiving"):
            for i, share in enumerate(SPOILT):
                early, delays = _runs(recorded, n, name == "forgiving", share)
                lines.append(_row(n if not i else "", name if not i else "", early, share, delays))
    lines += [
        "",
        "A map that was fitted on few answers is often wrong from its first day: the test of the stated means says so, truly, while nothing has changed. "
        "The watcher speaks of change; how wrong the map is all along is the calibration error with its interval, beside it.",
        "",
        _inputs(recorded),
    ]
    return "\n".join(lines)


def _runs(recorded: list[Recorded], n: int, forgiving: bool, share: float) -> tuple[int, list[int]]:
    """Alarms before the change, and delays of the others; a change that was not noticed has the delay `BAD`."""
    rng = np.random.default_rng(12)
    early, delays = 0, []
    for _ in range(RUNS):
        rows = recorded[int(rng.integers(len(recorded)))]
        order = rng.permutation(rows.correct.size)
        train, later = order[:n], order[n : n + GOOD + BAD]
        fitted = fit_map("platt", rows.alpha[train], rows.beta[train], rows.correct[train], folds=0)
        correct = rows.correct[later].copy()
        correct[GOOD:] *= rng.random(later.size - GOOD) >= share
        mean = fitted.map.means(rows.alpha[later] / (rows.alpha[later] + rows.beta[later]))
        nulls = plausible(fitted.provenance.information, alpha=ALPHA / 2) if forgiving else EXACT
        outcomes = sequential_test(mean, correct, alpha=ALPHA / 2 if forgiving else ALPHA, nulls=nulls).alarm_at
        if outcomes is not None and outcomes < GOOD:
            early += 1
        else:
            delays.append(BAD if outcomes is None else outcomes - GOOD + 1)
    return early, delays


def _row(n: Any, name: str, early: int, share: float, delays: list[int]) -> str:
    low, high = wilson_interval(np.array([early / RUNS]), np.array([float(RUNS)]))
    noticed = sum(delay < BAD for delay in delays)
    median, most = (np.quantile(delays, q) if delays else BAD for q in (0.5, 0.9))
    shown = [f"{value:.0f}" if value < BAD else f"over {BAD}" for value in (median, most)]
    before = f"{early} of {RUNS} ({low[0]:.0%} to {high[0]:.0%})"
    return f"| {n} | {name} | {before} | {share:.0%} | {noticed} of {len(delays)} | {shown[0]} | {shown[1]} |"


def _inputs(recorded: list[Recorded]) -> str:
    """Raw confidences alone: the same model again, and the other model in its place."""
    rng = np.random.default_rng(13)
    means = [rows.alpha / (rows.alpha + rows.beta) for rows in recorded]
    false = noticed = 0
    for _ in range(RUNS):
        order = rng.permutation(means[0].size)
        reference = raw_histogram(means[0][order[:450]])
        false += input_test(reference, means[0][order[450:2450]], alpha=ALPHA).alarm_at is not None
        noticed += input_test(reference, rng.permutation(means[1])[:500], alpha=ALPHA).alarm_at is not None
    return (
        f"Raw confidences against those of a fit on 450 answers, windows of 500: {false} of {RUNS} runs of four windows of the same model raise an "
        f"alarm; with the other model in its place {noticed} of {RUNS} do in the first window."
    )


def _read(path: Path) -> Recorded:
    outcomes = []
    with gzip.open(path, "rt") as lines:
        for row in map(json.loads, lines):
            texts = [sample["text"] for sample in row["samples"]]
            clustering = cluster_by_key([fold(text) for text in texts], "exact")
            agree = len(clustering.largest)
            right = contains_gold(texts[clustering.draft_index], row["gold"])
            outcomes.append((agree, max(len(texts) - agree, 1e-6), right))
    return Recorded(*np.array(outcomes, dtype=np.float64).T)
