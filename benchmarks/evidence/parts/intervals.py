"""Do the intervals of `hedgerow evaluate` and `--compare` cover? Simulated lives whose truth is known: answers of ten samples, right less often
than they agree, and nearly as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.comparison import Signal, compare
from hedgerow.calibration.fitting import fit_map, random_folds
from hedgerow.calibration.maps.base import apply_map, map_class
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.calibration.metrics.table import METRICS, paired

LIVES, ANSWERS, FITTED, RESAMPLES = 120, 500, 150, 100
POPULATION = 50_000
TRAFFIC = {"far too sure": 2.0, "nearly calibrated": 1.1}
"""The exponent of the share of answers that agree that gives the probability of being right."""
CHANGES = ("expected_brier", "generalised_ece", "faithfulness_divergence", "smooth_ece", "ece_equal_width")
KINDS = ("platt-bounded", "identity", "platt", "isotonic", "histogram")
AGREE = np.arange(1.0, 11.0)


def section(_data: Path) -> str:
    """Coverage of the change of each metric, and of all differences of a comparison together."""
    return "\n".join(
        [
            "## Intervals of changes and differences",
            "",
            f"{LIVES} lives of {ANSWERS} answers each; 1 to 10 of ten samples agree, and an answer is right with the agreeing share to the power of 2 (*far too sure*) or 1.1 "
            "(*nearly calibrated*), .97 at most. How often a 95 % interval holds the truth, which is known.",
            "",
            f"**Changes**, as `hedgerow evaluate` shows them: a map fitted on {FITTED} answers, measured on the others before and after, {RESAMPLES} resamples. Truth: the same map on "
            f"{POPULATION:,} other answers.",
            "",
            "| metric | " + " | ".join(f"{name}: covered (95 %) | width" for name in TRAFFIC) + " |",
            "|---|" + "---|---|" * len(TRAFFIC),
            *_changes(),
            "",
            "The errors of points have intervals that are safe and pay for it with their width. A Beta of ten unanimous samples takes a wrong "
            "answer for next to impossible; its Faithfulness Divergence is decided by the few such answers, which a resample cannot invent.",
            "",
            f"**Differences**, as `--compare` shows them: {', '.join(KINDS)} against the first, five folds. Truth: the exact Brier scores of the maps learned on the folds, averaged.",
            "",
            "| traffic | all intervals hold together (95 %) | each alone, worst candidate |",
            "|---|---|---|",
            *_differences(),
            "",
        ]
    )


def _drawn(rng: np.random.Generator, n: int, power: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    agree = rng.integers(1, 11, n).astype(np.float64)
    return agree, np.maximum(10.0 - agree, 1e-6), (rng.random(n) < _right(agree, power)).astype(np.float64)


def _right(agree: FloatArray, power: float) -> FloatArray:
    return np.minimum((agree / 10.0) ** power, 0.97)


def _changes() -> list[str]:
    cells: dict[str, list[str]] = {name: [] for name in CHANGES}
    for power in TRAFFIC.values():
        held: dict[str, list[tuple[bool, float]]] = {name: [] for name in CHANGES}
        population = _drawn(np.random.default_rng(1), POPULATION, power)
        before = {name: METRICS[name](*population) for name in CHANGES}
        for life in range(LIVES):
            rng = np.random.default_rng([life, 2])
            a, b, y = _drawn(rng, ANSWERS, power)
            fitted = fit_map("platt-bounded", a[:FITTED], b[:FITTED], y[:FITTED], folds=0).map
            rest = a[FITTED:], b[FITTED:]
            there = apply_map(fitted, *population[:2])
            for name in CHANGES:
                change = paired(
                    name, rest, apply_map(fitted, *rest), y[FITTED:], rng=rng, resamples=RESAMPLES
                ).difference
                truth = METRICS[name](*there, population[2]) - before[name]
                held[name].append((change.low - 1e-9 <= truth <= change.high + 1e-9, change.high - change.low))
        for name in CHANGES:
            cells[name].append(
                f"{_share([hit for hit, _ in held[name]])} | {np.mean([width for _, width in held[name]]):.3f}"
            )
    return [f"| {name} | " + " | ".join(cell) + " |" for name, cell in cells.items()]


def _differences() -> list[str]:
    rows = []
    for title, power in TRAFFIC.items():
        held = []
        for life in range(LIVES):
            rng = np.random.default_rng([life, 3])
            a, b, y = _drawn(rng, ANSWERS, power)
            found = compare(
                {"semantic": Signal(a, b)}, y, kinds=KINDS, reference=("semantic", KINDS[0]), resamples=500, rng=rng
            )
            truth = _true_scores(a, b, y, power)
            intervals = {one.kind: one.difference for one in found.candidates}
            held.append(
                [intervals[kind].low <= truth[kind] - truth[KINDS[0]] <= intervals[kind].high for kind in KINDS[1:]]
            )
        alone = min(([life[i] for life in held] for i in range(len(KINDS) - 1)), key=np.mean)
        rows.append(f"| {title} | {_share([all(life) for life in held])} | {_share(alone)} |")
    return rows


def _true_scores(a: FloatArray, b: FloatArray, y: FloatArray, power: float) -> dict[str, float]:
    """The exact Brier score of each kind, averaged over the maps that are learned without one fold."""
    fold, right = random_folds(a, b, y, 5), _right(AGREE, power)
    scores = dict.fromkeys(KINDS, 0.0)
    for kind in KINDS:
        for out in range(5):
            rest = fold != out
            mean = (
                map_class(kind)
                .learn((a / (a + b))[rest], y[rest])
                .map.means(AGREE / (AGREE + np.maximum(10.0 - AGREE, 1e-6)))
            )
            scores[kind] += float(np.mean(right * (1.0 - mean) ** 2 + (1.0 - right) * mean**2)) / 5.0
    return scores


def _share(hits: Sequence[bool]) -> str:
    low, high = wilson_interval(np.array([np.mean(hits)]), np.array([float(len(hits))]))
    return f"{np.mean(hits):.1%} ({low[0]:.0%} to {high[0]:.0%})"
