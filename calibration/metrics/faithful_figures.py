"""All metrics of the faithfulness of a set of answers, with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray, probabilities, sample
from ..errors import RangeError
from .bootstrap import Interval
from .faithful import BINS, ON_EDGE, mean_over_bins, membership, sums_in_bins


@dataclass(frozen=True, slots=True)
class FaithfulnessFigures:
    """All metrics of a set of answers, with intervals.

    Attributes
    ----------
    n : int
        Answers that assert something.
    bins_filled : int
        Number of non-empty bins of confidence; `cmfg` is comparable between sets if no bin is empty.
    cmfg, mfg : Interval
        Conditional and plain mean faithfulness; 1 = every answer sounds as sure as the model is.
    cmfg_always_decisive : float
        cMFG that the same answers would have without any hedge; 0.5 where all bins are filled.
    decisiveness, confidence : Interval
        Means.
    overstated, understated : Interval
        Mean of how far decisiveness lies above, and below, confidence; lower is better. Of answers with one assertion 1 - MFG is their sum.
    spearman : Interval or None
        Rank correlation of decisiveness and confidence; None where either is the same in all answers.
    """

    n: int
    bins_filled: int
    cmfg: Interval
    mfg: Interval
    cmfg_always_decisive: float
    decisiveness: Interval
    confidence: Interval
    overstated: Interval
    understated: Interval
    spearman: Interval | None


def faithfulness_figures(
    decisiveness: ArrayLike,
    confidence: ArrayLike,
    faithfulness: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 1000,
    level: float = 0.95,
    bins: int = BINS,
) -> FaithfulnessFigures:
    """All metrics with bootstrap intervals, in one pass over the resamples.

    Parameters
    ----------
    decisiveness, confidence, faithfulness : array_like, shape (n,)
        Of each answer, in [0, 1]: means over its assertions, and definition 1.
    rng : numpy.random.Generator
        Source of the resamples.
    resamples : int
        >= 2, or 0 for no intervals: then both ends are the estimate.
    level : float
        Confidence level, in (0, 1).
    bins : int
        As in `cmfg`.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024; Efron & Tibshirani 1993, chapter 13 (percentile intervals, answers resampled). **Deviates**: none.
    Equal answers are drawn together (a multinomial draw), so that the time grows with the different values and not with n alone.
    """
    if resamples == 1 or resamples < 0:
        raise RangeError(f"resamples must be 0 or >= 2, got {resamples!r}")
    if not 0.0 < level < 1.0:
        raise RangeError(f"level must be in (0, 1), got {level!r}")
    columns = sample(
        decisiveness=probabilities("decisiveness", decisiveness),
        confidence=probabilities("confidence", confidence),
        faithfulness=probabilities("faithfulness", faithfulness),
    )
    # shares of samples differ in the last digit by how they were computed; without rounding there would be no ties
    distinct: FloatArray
    distinct, times = np.unique(np.round(np.stack(columns, axis=1), 12), axis=0, return_counts=True)
    counts = times.astype(np.float64)
    work = _Weighted(*distinct.T, bins=bins)
    n = int(counts.sum())
    estimate = work.figures(counts)
    drawn = np.array([work.figures(_redrawn(counts, n, rng)) for _ in range(resamples)])

    def interval(column: int) -> Interval:
        return _percentiles(float(estimate[column]), drawn[:, column] if resamples else np.empty(0), level)

    always = mean_over_bins(work.weights(counts), work.weights(counts, distinct[:, 1]))
    return FaithfulnessFigures(
        n=n,
        bins_filled=int((work.weights(counts) > 0).sum()),
        cmfg=interval(0),
        mfg=interval(1),
        cmfg_always_decisive=always,
        decisiveness=interval(2),
        confidence=interval(3),
        overstated=interval(4),
        understated=interval(5),
        spearman=None if np.isnan(estimate[6]) else interval(6),
    )


def _redrawn(counts: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """How often each distinct answer is in a resample."""
    if counts.size == n:
        return np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
    return rng.multinomial(n, counts / n).astype(np.float64)


class _Weighted:
    """Metrics of distinct answers with counts."""

    def __init__(self, d: FloatArray, c: FloatArray, f: FloatArray, *, bins: int) -> None:
        self.f, self.bins = f, bins
        self._averaged = np.stack([f, d, c, np.maximum(d - c, 0.0), np.maximum(c - d, 0.0)])
        self._held = membership(c, bins)
        self._ranked = [np.unique(column, return_inverse=True)[1] for column in (d, c)]

    def weights(self, counts: FloatArray, values: FloatArray | None = None) -> FloatArray:
        """Sum of values (by default of ones) in each bin."""
        return sums_in_bins(self._held, self.bins, counts if values is None else counts * values)

    def figures(self, counts: FloatArray) -> list[float]:
        """The metrics, in the order of `faithfulness_figures`."""
        conditional = mean_over_bins(self.weights(counts), self.weights(counts, self.f))
        means = (self._averaged * counts).sum(axis=1) / counts.sum()
        x, y = (_midranks(inverse, counts) for inverse in self._ranked)
        return [conditional, *means.tolist(), _correlation(x, y, counts)]


def _midranks(inverse: NDArray[np.intp], counts: FloatArray) -> FloatArray:
    """Mean rank of each value, with counts."""
    weights = np.bincount(inverse, counts)
    return np.asarray((np.cumsum(weights) - weights / 2.0)[inverse], dtype=np.float64)


def _correlation(x: FloatArray, y: FloatArray, counts: FloatArray) -> float:
    """Weighted correlation; NaN if one of the two is constant."""
    n = counts.sum()
    x, y = x - (counts * x).sum() / n, y - (counts * y).sum() / n
    weighted = counts * x
    scale = np.sqrt((weighted * x).sum() * (counts * y * y).sum())
    return float((weighted * y).sum() / scale) if scale > ON_EDGE * n else float("nan")


def _percentiles(estimate: float, drawn: FloatArray, level: float) -> Interval:
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return Interval(estimate, estimate, estimate)
    low, high = np.quantile(known, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return Interval(estimate, float(low), float(high))
