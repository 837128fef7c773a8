"""Faithfulness of wording to confidence: does an answer sound as sure as the model is? (Yona, Aharoni & Geva 2024.)"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray, probabilities, same_shape, sample
from ..errors import NotEnoughData, RangeError
from .bootstrap import Interval, require_resampling

BINS = 10
"""Number of bins of confidence, as in the paper."""
ON_EDGE = 1e-9
"""Distance, in bins, up to which a confidence is on the edge between two bins."""


def contradiction_confidence(contradicted: ArrayLike) -> float:
    """Intrinsic confidence in an assertion: the share of sampled answers that do not contradict it.

    Parameters
    ----------
    contradicted : array_like of bool, shape (k,)
        For each of k >= 1 further answers to the same question, whether it contradicts the assertion. An answer that is silent on it, says
        it more coarsely or refuses does not contradict it.

    Returns
    -------
    float
        In [0, 1]; higher = more confident.

    Raises
    ------
    NotEnoughData
        If there is no answer to hold the assertion against.
    RangeError
        If a value is neither 0 nor 1.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, equation 2: 1 - (1/k) sum over i of 1[A contradicts A_i]. **Deviates**: none.

    Examples
    --------
    >>> contradiction_confidence([False, False, True, False])
    0.75
    """
    flags = np.atleast_1d(probabilities("contradicted", contradicted))
    if flags.size == 0:
        raise NotEnoughData("an assertion must be compared with at least one other answer")
    if ((flags > 0.0) & (flags < 1.0)).any():
        raise RangeError("contradicted must be 0 or 1")
    return float((flags.size - flags.sum()) / flags.size)


def faithfulness(decisiveness: ArrayLike, confidence: ArrayLike) -> FloatArray:
    """Faithfulness of responses: 1 - mean over the assertions of |decisiveness - confidence|.

    Parameters
    ----------
    decisiveness : array_like, shape (..., assertions)
        How sure each assertion sounds, in [0, 1]; higher = more decisive. One response is one-dimensional.
    confidence : array_like, shape (..., assertions)
        How sure the model is of it, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (...)
        In [0, 1]; higher = more faithful.

    Raises
    ------
    RangeError
        If a value is out of range, or nothing is asserted (a refusal has no faithfulness).
    ShapeError
        If the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, definition 1. **Deviates**: none.

    Examples
    --------
    >>> faithfulness([1.0, 0.6], [0.8, 0.6]).tolist()
    0.9
    """
    d, c = same_shape(
        decisiveness=np.atleast_1d(probabilities("decisiveness", decisiveness)),
        confidence=np.atleast_1d(probabilities("confidence", confidence)),
    )
    if d.shape[-1] == 0:
        raise RangeError("a response without assertions has no faithfulness")
    return np.asarray(1.0 - np.abs(d - c).mean(axis=-1))


def mfg(faithfulness: ArrayLike) -> float:
    """Mean faithful generation: the mean faithfulness of answers.

    Parameters
    ----------
    faithfulness : array_like, shape (n,)
        Of each answer that asserts something, in [0, 1]; refusals are left out.

    Returns
    -------
    float
        In [0, 1]; higher = more faithful. Depends on how confidences are spread: that of always decisive answers is the mean confidence.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range, or there is none.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, section 4 (MFG). **Deviates**: none.

    Examples
    --------
    >>> mfg([1.0, 0.5])
    0.75
    """
    (values,) = sample(faithfulness=probabilities("faithfulness", faithfulness))
    return float(values.mean())


def cmfg(decisiveness: ArrayLike, confidence: ArrayLike, *, bins: int = BINS) -> float:
    """Conditional mean faithful generation: mean faithfulness within bins of confidence, then over bins.

    For answers with one assertion each.

    Parameters
    ----------
    decisiveness : array_like, shape (n,)
        How sure each response sounds, in [0, 1].
    confidence : array_like, shape (n,)
        How sure the model is of it, in [0, 1].
    bins : int
        Bins of equal width, >= 1.

    Returns
    -------
    float
        In [0, 1]; higher = more faithful. 1 where every answer sounds as sure as the model is; 0.5, where all bins are filled, for answers that
        are always decisive, or fully decisive or not at all by a toss. Which confidences are common does not matter.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, section 4 (cMFG; "10 equally-sized bins", read as equal width, since the metric is to
    simulate confidences spread evenly over [0, 1]). **Deviates**: empty bins are left out of the mean; a confidence on the edge between two bins
    counts half in either. Confidences are shares of k samples, so that at k = 10 nearly all lie on edges: answers that are always decisive
    would get 0.545 with upper ends included and 0.455 with lower ones, not the 0.5 that they are to get. The paper gives 0.5 for "a random
    level of decisiveness" too: with C even over [0, 1] and a level D drawn without a look at it, E[1 - |D - C|] = 1/2 + E[D (1 - D)], since
    E|d - C| = (d**2 + (1 - d)**2) / 2. That is 1/2 for the two ends of the scale alone; levels spread evenly over it get 2/3, and the middle 3/4.

    Examples
    --------
    >>> round(cmfg([1.0, 1.0, 1.0], [0.95, 0.92, 0.15]), 4)
    0.5425
    >>> round(cmfg([1.0] * 11, [i / 10 for i in range(11)]), 4)
    0.5
    """
    d, c = _answers(decisiveness=decisiveness, confidence=confidence)
    return conditional_mean(1.0 - np.abs(d - c), c, bins=bins)


def _answers(**columns: ArrayLike) -> tuple[FloatArray, ...]:
    """The columns of a sample of answers, each in [0, 1], checked."""
    return sample(**{name: probabilities(name, column) for name, column in columns.items()})


def conditional_mean(values: ArrayLike, confidence: ArrayLike, *, bins: int = BINS) -> float:
    """Mean of values within bins of confidence, then the mean over the non-empty bins.

    Parameters
    ----------
    values : array_like, shape (n,)
        Of each answer; the faithfulness of answers with any number of assertions makes this their cMFG.
    confidence : array_like, shape (n,)
        In [0, 1]; of an answer with several assertions the mean over them.
    bins : int
        Bins of equal width, >= 1. A confidence on the edge between two counts half in either.

    Returns
    -------
    float
        Within the range of the values.

    Raises
    ------
    RangeError, ShapeError
        If a confidence is out of range, there is no bin, or the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, section 4: the outer expectation of cMFG. **Deviates**: as `cmfg`.

    Examples
    --------
    >>> conditional_mean([1.0, 0.0, 0.5], [0.97, 0.93, 0.22])
    0.5
    """
    v, c = sample(values=np.asarray(values, dtype=np.float64), confidence=probabilities("confidence", confidence))
    held = membership(c, bins)
    return float(mean_over_bins(sums_in_bins(held, bins), sums_in_bins(held, bins, v)))


@dataclass(frozen=True, slots=True)
class Membership:
    """The bins of each answer: two with half a weight each, or the same one twice."""

    lower: NDArray[np.intp]
    upper: NDArray[np.intp]


def membership(confidence: FloatArray, bins: int) -> Membership:
    """The bins of checked confidences."""
    if bins < 1:
        raise RangeError(f"bins must be >= 1, got {bins!r}")
    place = confidence * bins
    edge = np.abs(place - np.round(place)) < ON_EDGE
    upper = np.where(edge, np.round(place), np.floor(place)).astype(np.intp)
    return Membership(np.clip(upper - edge, 0, bins - 1), np.clip(upper, 0, bins - 1))


def sums_in_bins(held: Membership, bins: int, values: FloatArray | None = None) -> FloatArray:
    """Sum of values (by default of ones) in each bin."""
    half = np.full(held.lower.size, 0.5) if values is None else 0.5 * values
    return np.asarray(np.bincount(held.lower, half, bins) + np.bincount(held.upper, half, bins), dtype=np.float64)


def mean_over_bins(weights: FloatArray, sums: FloatArray) -> float:
    """Mean of the means of the non-empty bins."""
    filled = weights > 0
    return float(np.mean(sums[filled] / weights[filled]))


@dataclass(frozen=True, slots=True)
class DecisivenessCurve:
    """Answers in bins of confidence; one value per non-empty bin.

    Attributes
    ----------
    low, high : ndarray, shape (m,)
        Ends of the bins.
    weight : ndarray, shape (m,)
        Answers in each; one on an edge counts half in either bin.
    confidence, decisiveness, faithfulness : ndarray, shape (m,)
        Means, in [0, 1]. Faithful answers have the decisiveness of their confidence: they lie on the diagonal.
    spread : ndarray, shape (m,)
        Standard error of the mean decisiveness; NaN where one answer or fewer is in the bin.
    """

    low: FloatArray
    high: FloatArray
    weight: FloatArray
    confidence: FloatArray
    decisiveness: FloatArray
    faithfulness: FloatArray
    spread: FloatArray


def decisiveness_curve(
    decisiveness: ArrayLike, confidence: ArrayLike, faithfulness: ArrayLike | None = None, *, bins: int = BINS
) -> DecisivenessCurve:
    """Mean decisiveness by confidence.

    Parameters
    ----------
    decisiveness, confidence : array_like, shape (n,)
        Of each answer, in [0, 1]; of one with several assertions the means over them.
    faithfulness : array_like, shape (n,), optional
        Of each answer; 1 - |decisiveness - confidence| where it is not given, which is that of answers with one assertion.
    bins : int
        Bins of equal width, >= 1; edges as `cmfg` has them.

    Returns
    -------
    DecisivenessCurve
        Bins without an answer are left out.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, figure 4. **Deviates**: none.

    Examples
    --------
    >>> curve = decisiveness_curve([1.0, 1.0, 0.4], [0.95, 0.25, 0.21])
    >>> curve.low.tolist(), curve.decisiveness.tolist()
    ([0.2, 0.9], [0.7, 1.0])
    """
    d, c = _answers(decisiveness=decisiveness, confidence=confidence)
    f = 1.0 - np.abs(d - c) if faithfulness is None else faithfulness
    d, c, f = _answers(decisiveness=d, confidence=c, faithfulness=f)
    held = membership(c, bins)
    weight = sums_in_bins(held, bins)
    filled = weight > 0
    n = weight[filled]
    of_c, of_d, of_f = (sums_in_bins(held, bins, column)[filled] / n for column in (c, d, f))
    variance = np.maximum(sums_in_bins(held, bins, d * d)[filled] / n - of_d**2, 0.0)
    spread = np.sqrt(variance / np.where(n > 1.0, n - 1.0, np.nan))
    edges = np.arange(bins + 1) / bins
    return DecisivenessCurve(edges[:-1][filled], edges[1:][filled], n, of_c, of_d, of_f, spread)


# All metrics of the faithfulness of a set of answers, with bootstrap intervals.


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
    require_resampling(level, resamples or 2)
    columns = _answers(decisiveness=decisiveness, confidence=confidence, faithfulness=faithfulness)
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
