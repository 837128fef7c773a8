"""Do the intervals of `hedgerow evaluate` and `--compare` cover? Simulated lives whose truth is known: answers of ten samples, right less often
than they agree, and nearly as often.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.divergence import faithfulness_divergence
from hedgerow.calibration.evaluation import Signal, compare
from hedgerow.calibration.fitting import fit_map, out_of_fold, random_folds, shared_training
from hedgerow.calibration.maps.base import apply_map, map_class
from hedgerow.calibration.metrics.binned import wilson_interval
from hedgerow.calibration.metrics.bootstrap import Interval, bootstrap_interval
from hedgerow.calibration.metrics.table import METRICS, paired

LIVES, ANSWERS, FITTED, RESAMPLES = 120, 500, 150, 100
FIT_LIVES = 100
COMPARED_LIVES, COMPARED_RESAMPLES, FOLDS = 400, 500, 5
POPULATION = 50_000
TRAFFIC = {"far too sure": 2.0, "nearly calibrated": 1.1}
"""The exponent of the share of answers that agree that gives the probability of being right."""
CHANGES = ("expected_brier", "generalised_ece", "faithfulness_divergence", "smooth_ece", "ece_equal_width")
CROSS_VALIDATED = ("generalised_ece", "faithfulness_divergence")
PERCENTILES = "faithfulness_divergence, percentiles alone"
KINDS = ("platt-bounded", "identity", "platt", "isotonic", "histogram")
AGREE = np.arange(1.0, 11.0)
SIZES = (200, 500)
"""Answers of a comparison."""
ALONE = 1.96
"""Standard errors to either side of one 95 % interval."""


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
            "answer for next to impossible; its Faithfulness Divergence is decided by the few such answers, which a resample cannot invent (*percentiles alone*). "
            "So such Betas are taken to have had, besides their answers, a third of a right and a third of a wrong one: the interval says what is not known.",
            "",
            f"**Cross-validated changes**, as `hedgerow fit` shows them: platt-bounded, five folds, {FIT_LIVES} lives, {RESAMPLES} resamples. Truth: the maps learned on the folds, on "
            f"{POPULATION:,} other answers, a fifth each. *Uncorrected*: the same intervals with the variance of independent answers.",
            "",
            "| metric | "
            + " | ".join(
                f"{name}, {answers} answers: covered (95 %) | uncorrected" for name in TRAFFIC for answers in SIZES
            )
            + " |",
            "|---|" + "---|---|" * len(TRAFFIC) * len(SIZES),
            *_cross_validated(),
            "",
            f"**Differences**, as `--compare` shows them: {', '.join(KINDS)} against the first, five folds, {COMPARED_LIVES} lives. Truth: the exact Brier scores of the maps learned on the "
            "folds, averaged. *Uncorrected*: the same intervals with the variance of independent answers.",
            "",
            "| traffic | answers | all intervals hold together (95 %) | uncorrected | each alone, worst candidate | half width, isotonic | uncorrected |",
            "|---|---|---|---|---|---|---|",
            *_differences(),
            "",
            "**Why the correction.** An answer is measured in one fold and learned from in the four others. Where two maps are about as good, the difference of their scores is a sum "
            "over pairs of answers, in which each pair stands twice, once with either of them measured. Who takes the answers for independent counts half of that variance. Spread of the "
            "difference over the lives, as a multiple of the mean uncorrected standard error (1 where it is right, 1.41 = sqrt 2 to be expected of equally good maps; the corrected one is 1.5 times as wide):",
            "",
            "| traffic | answers | " + " | ".join(KINDS[1:]) + " |",
            "|---|---|" + "---|" * len(KINDS[1:]),
            *_spreads(),
            "",
        ]
    )


def _drawn(rng: np.random.Generator, n: int, power: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    agree = rng.integers(1, 11, n).astype(np.float64)
    return agree, np.maximum(10.0 - agree, 1e-6), (rng.random(n) < _right(agree, power)).astype(np.float64)


def _right(agree: FloatArray, power: float) -> FloatArray:
    return np.minimum((agree / 10.0) ** power, 0.97)


def _changes() -> list[str]:
    cells: dict[str, list[str]] = {name: [] for name in (*CHANGES, PERCENTILES)}
    for power in TRAFFIC.values():
        held: dict[str, list[tuple[bool, float]]] = {name: [] for name in cells}
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
                held[name].append(_held(change, truth))
            name, mapped = "faithfulness_divergence", apply_map(fitted, *rest)
            loss = faithfulness_divergence(*mapped, y[FITTED:]) - faithfulness_divergence(*rest, y[FITTED:])
            plain = bootstrap_interval(lambda values: values, loss, rng=rng, resamples=RESAMPLES)
            held[PERCENTILES].append(_held(plain, METRICS[name](*there, population[2]) - before[name]))
        for name in cells:
            cells[name].append(
                f"{_share([hit for hit, _ in held[name]])} | {np.mean([width for _, width in held[name]]):.3f}"
            )
    return [f"| {name} | " + " | ".join(cell) + " |" for name, cell in cells.items()]


def _cross_validated() -> list[str]:
    cells: dict[str, list[str]] = {name: [] for name in CROSS_VALIDATED}
    for power in TRAFFIC.values():
        population = _drawn(np.random.default_rng(1), POPULATION, power)
        for answers in SIZES:
            ratios: dict[str, list[float]] = {name: [] for name in CROSS_VALIDATED}
            for life in range(FIT_LIVES):
                rng = np.random.default_rng([life, answers, 4])
                a, b, y = _drawn(rng, answers, power)
                before, after = out_of_fold(
                    map_class("platt-bounded").learn, (a, b, y), random_folds(a, b, y, FOLDS), FOLDS
                )
                there = _by_the_maps_of_folds(a, b, y, population)
                for name in CROSS_VALIDATED:
                    held = paired(name, before, after, y, rng=rng, resamples=RESAMPLES).difference
                    truth = METRICS[name](*there, population[2]) - METRICS[name](*population)
                    end = held.low if truth < held.estimate else held.high
                    ratios[name].append(abs(truth - held.estimate) / max(abs(end - held.estimate), 1e-12))
            for name, found in ratios.items():
                wide = [ratio <= shared_training(FOLDS) for ratio in found]
                cells[name].append(f"{_share(wide)} | {_share([ratio <= 1.0 for ratio in found])}")
    return [f"| {name} | " + " | ".join(cell) + " |" for name, cell in cells.items()]


def _by_the_maps_of_folds(
    a: FloatArray, b: FloatArray, y: FloatArray, population: tuple[FloatArray, ...]
) -> FloatArray:
    """The population's confidences, a fifth after each map that is learned without one fold; shape (2, POPULATION)."""
    fold, part = random_folds(a, b, y, FOLDS), np.arange(POPULATION) % FOLDS
    mapped = np.empty((2, POPULATION))
    for out in range(FOLDS):
        learned = map_class("platt-bounded").learn((a / (a + b))[fold != out], y[fold != out])
        mapped[:, part == out] = apply_map(learned.map, population[0][part == out], population[1][part == out])
    return mapped


def _held(interval: Interval, truth: float) -> tuple[bool, float]:
    """Whether it holds the truth, and its width."""
    return interval.low - 1e-9 <= truth <= interval.high + 1e-9, interval.high - interval.low


@dataclass(frozen=True, slots=True)
class _Compared:
    """What a comparison found in each life, shape (lives, candidates): estimate minus truth, half width of its interval, plain standard error."""

    errors: FloatArray
    reach: FloatArray
    plain: FloatArray


@cache
def _compared(power: float, answers: int) -> _Compared:
    lives = []
    for life in range(COMPARED_LIVES):
        rng = np.random.default_rng([life, answers, 3])
        a, b, y = _drawn(rng, answers, power)
        found = compare(
            {"semantic": Signal(a, b)}, y, kinds=KINDS, reference=("semantic", KINDS[0]), folds=FOLDS, resamples=COMPARED_RESAMPLES, rng=rng
        )  # fmt: skip
        truth, losses = _true_scores(a, b, y, power)
        held = {one.kind: one.difference for one in found.candidates}
        lives.append(
            [
                (
                    held[kind].estimate - (truth[kind] - truth[KINDS[0]]),
                    (held[kind].high - held[kind].low) / 2.0,
                    np.std(losses[kind] - losses[KINDS[0]], ddof=1) / np.sqrt(answers),
                )
                for kind in KINDS[1:]
            ]
        )
    errors, reach, plain = np.moveaxis(np.array(lives), 2, 0)
    return _Compared(errors, reach, plain)


def _lives() -> Iterator[tuple[str, int, _Compared]]:
    for title, power in TRAFFIC.items():
        for answers in SIZES:
            yield title, answers, _compared(power, answers)


def _differences() -> list[str]:
    narrow, isotonic = np.sqrt(1.0 + FOLDS / (FOLDS - 1.0)), KINDS[1:].index("isotonic")
    rows = []
    for title, answers, found in _lives():
        hit = np.abs(found.errors) <= found.reach
        before = np.abs(found.errors) <= found.reach / narrow
        width = float(found.reach[:, isotonic].mean())
        alone = np.abs(found.errors) <= ALONE * narrow * found.plain
        worst = alone[:, alone.mean(axis=0).argmin()]
        rows.append(
            f"| {title} | {answers} | {_share(hit.all(axis=1))} | {_share(before.all(axis=1))} | {_share(worst)} | {width:.4f} | {width / narrow:.4f} |"
        )
    return rows


def _spreads() -> list[str]:
    rows = []
    for title, answers, found in _lives():
        ratios = found.errors.std(axis=0) / np.sqrt((found.plain**2).mean(axis=0))
        rows.append(f"| {title} | {answers} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")
    return rows


def _true_scores(
    a: FloatArray, b: FloatArray, y: FloatArray, power: float
) -> tuple[dict[str, float], dict[str, FloatArray]]:
    """The exact Brier score of each kind, averaged over the maps that are learned without one fold; and the loss of each answer."""
    fold, right, agree = random_folds(a, b, y, FOLDS), _right(AGREE, power), a.astype(int) - 1
    scores = dict.fromkeys(KINDS, 0.0)
    losses = {kind: np.empty(y.size) for kind in KINDS}
    for kind in KINDS:
        for out in range(FOLDS):
            rest = fold != out
            mean = (
                map_class(kind)
                .learn((a / (a + b))[rest], y[rest])
                .map.means(AGREE / (AGREE + np.maximum(10.0 - AGREE, 1e-6)))
            )
            scores[kind] += float(np.mean(right * (1.0 - mean) ** 2 + (1.0 - right) * mean**2)) / FOLDS
            losses[kind][~rest] = (mean[agree[~rest]] - y[~rest]) ** 2
    return scores, losses


def _share(hits: Sequence[bool] | NDArray[np.bool_]) -> str:
    low, high = wilson_interval(np.array([np.mean(hits)]), np.array([float(len(hits))]))
    return f"{np.mean(hits):.1%} ({low[0]:.0%} to {high[0]:.0%})"
