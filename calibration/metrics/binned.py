"""Binned calibration errors: the generalised ECE of distributions, and the ECE of points (equal width or mass).

Libraries that all say "ECE, 10 bins" differ by a factor of two on the same data; here the name states the estimator.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..arrays import FloatArray, beta_sample, confidence_sample
from ..errors import NotEnoughData, RangeError

_FIRM = 1e5
"""Concentration above which two incomplete beta functions are computed, see `_Lift`."""

_BLOCK = 1 << 14
"""Number of records processed at a time, so that temporary arrays stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class ReliabilityTable:
    """The data of a reliability diagram, one entry per bin; arrays of shape (bins,).

    Attributes
    ----------
    low, high : ndarray
        Edges of the bins.
    weight : ndarray
        Records in the bin (points), or the sum of the probabilities of lying in it (distributions).
    confidence : ndarray
        Mean confidence inside the bin; NaN where the bin is empty.
    accuracy : ndarray
        Share of correct answers, weighted alike; NaN where the bin is empty.
    accuracy_low, accuracy_high : ndarray
        95 % Wilson interval of the accuracy at the bin's effective number of records, (sum w)^2 / sum w^2.
    error : float
        The weighted mean of |accuracy - confidence| over the bins: the ECE that this table shows.
    """

    low: FloatArray
    high: FloatArray
    weight: FloatArray
    confidence: FloatArray
    accuracy: FloatArray
    accuracy_low: FloatArray
    accuracy_high: FloatArray
    error: float


def generalised_ece(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> float:
    """Expected calibration error of distributions: each answer counts in every bin by its probability of lying there.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Finite, >= 1e-6.
    correct : array_like, shape (n,)
        0 or 1.
    bins : int
        Bins of equal width, >= 1.

    Returns
    -------
    float
        In [0, 1]; lower = better calibrated.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Wang et al., Calibrating Expressions of Certainty, ICLR 2025: w_im = P(p_i in I_m),
    e_im = E[p_i 1(p_i in I_m)]; the sum over m of (sum_i w_im / sum w) |sum_i w_im y_i - sum_i e_im| / sum_i w_im.

    **Deviates**: none in value. Every answer's weights sum to 1, so the two sums of w cancel and the error is
    sum over m of |sum_i (w_im y_i - e_im)| / n. Integrals are closed (incomplete beta functions), within 1e-10 of quadrature.
    Equal (alpha, beta, y) are computed once, which is what makes counts of samples quick.

    Examples
    --------
    >>> round(generalised_ece([9.0, 9.0], [1.0, 1.0], [1, 0]), 6)
    0.400195
    """
    return generalised_reliability(alpha, beta, correct, bins=bins).error


def generalised_reliability(
    alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike, *, bins: int = 10
) -> ReliabilityTable:
    """The reliability table behind `generalised_ece`; parameters, errors and source as there."""
    a, b, y = beta_sample(alpha, beta, correct)
    edges = _edges(bins)
    records, counts = _distinct(np.stack([a, b, y], axis=1))
    blocks = [slice(start, start + _BLOCK) for start in range(0, len(records), _BLOCK)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the incomplete beta function releases the interpreter's lock
        parts = list(pool.map(lambda block: _masses(records[block], counts[block], edges), blocks))
    sums = np.sum(parts, axis=0)
    weight, hits, total, squares = sums
    return _table(edges, weight, hits, total, squares, float(a.size))


def ece_equal_width(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> float:
    """Expected calibration error of points, bins of equal width.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        In [0, 1].
    correct : array_like, shape (n,)
        0 or 1.
    bins : int
        Number of bins (not of edges), >= 1. Bin m holds ((m - 1) / M, m / M]; the first one holds 0 as well.

    Returns
    -------
    float
        In [0, 1]; lower = better calibrated.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Guo et al. 2017, equation 3. **Deviates**: none.

    Examples
    --------
    >>> round(ece_equal_width([0.95, 0.95, 0.35, 0.3], [1, 0, 0, 1]), 6)
    0.4875
    """
    return reliability_equal_width(confidence, correct, bins=bins).error


def reliability_equal_width(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> ReliabilityTable:
    """The reliability table behind `ece_equal_width`; parameters and errors as there."""
    p, y = confidence_sample(confidence, correct)
    return _point_table(p, y, *_equal_width(p, bins))


def ece_equal_mass(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> float:
    """Expected calibration error of points, bins of equal numbers of records.

    Parameters, returns and errors as for `ece_equal_width`.

    Raises
    ------
    NotEnoughData
        If there are fewer records than bins.

    Notes
    -----
    **Source**: Nixon et al. 2019 (adaptive calibration error, one class). **Deviates**: records of one confidence always share
    a bin (a bin boundary that falls among them moves past them), so the value does not depend on the order of the records;
    there may be fewer bins than asked for.

    Examples
    --------
    >>> round(ece_equal_mass([0.9, 0.8, 0.3, 0.2], [1, 0, 0, 1], bins=2), 6)
    0.3
    """
    return reliability_equal_mass(confidence, correct, bins=bins).error


def reliability_equal_mass(confidence: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> ReliabilityTable:
    """The reliability table behind `ece_equal_mass`; parameters and errors as there."""
    p, y = confidence_sample(confidence, correct)
    return _point_table(p, y, *_equal_mass(p, bins))


def equal_mass_starts(ascending: FloatArray, bins: int) -> NDArray[np.intp]:
    """Index at which each bin but the first begins in ascending values; at most bins - 1.

    Equal values share a bin.
    """
    wanted = ascending[(np.arange(1, bins) * ascending.size) // bins]
    starts = np.unique(np.searchsorted(ascending, wanted, side="left"))
    return starts[starts > 0]


def _equal_width(p: FloatArray, bins: int) -> tuple[NDArray[np.intp], FloatArray]:
    """The bin of each confidence, and the edges."""
    edges = _edges(bins)
    return np.maximum(np.searchsorted(edges, p, side="left") - 1, 0), edges


def _equal_mass(p: FloatArray, bins: int) -> tuple[NDArray[np.intp], FloatArray]:
    """The bin of each confidence, and the edges."""
    _edges(bins)
    if p.size < bins:
        raise NotEnoughData(f"{bins} bins of equal mass need at least {bins} records, got {p.size}")
    order = np.sort(p)
    starts = equal_mass_starts(order, bins)
    edges = np.concatenate([[0.0], (order[starts - 1] + order[starts]) / 2.0, [1.0]])
    return np.searchsorted(order[starts], p, side="right"), edges


Places = Callable[[FloatArray, int], tuple[NDArray[np.intp], FloatArray]]


class BinnedResidual:
    """The residual of a sample summed in bins, which all resamples use; see `hedgerow.calibration.metrics.smooth`."""

    def __init__(self, p: FloatArray, y: FloatArray, places: Places, bins: int = 10) -> None:
        self._place, edges = places(p, bins)
        self.n, self._residual, self._bins = p.size, (y - p) / p.size, len(edges) - 1
        self._sums = np.bincount(self._place, self._residual, self._bins)
        self.estimate = float(np.abs(self._sums).sum())

    def distance(self, chosen: NDArray[np.int64]) -> float:
        """L1 distance to the sums of a resample."""
        sums = np.bincount(self._place[chosen], self._residual[chosen], self._bins)
        return float(np.abs(sums - self._sums).sum())


def equal_width_residual(confidence: FloatArray, correct: FloatArray) -> BinnedResidual:
    """The residual of `ece_equal_width`."""
    return BinnedResidual(confidence, correct, _equal_width)


def equal_mass_residual(confidence: FloatArray, correct: FloatArray) -> BinnedResidual:
    """The residual of `ece_equal_mass`, in the bins of the sample."""
    return BinnedResidual(confidence, correct, _equal_mass)


def _edges(bins: int) -> FloatArray:
    if bins < 1:
        raise RangeError(f"bins must be >= 1, got {bins!r}")
    return np.arange(bins + 1) / bins


def _distinct(records: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct records and their counts; unchanged if few repeat, since sorting a million records takes time."""
    head = records[:1000]
    if len(np.unique(head, axis=0)) > 0.5 * len(head):
        return records, np.ones(len(records))
    distinct, counts = np.unique(records, axis=0, return_counts=True)
    return distinct, counts.astype(np.float64)


def _masses(records: FloatArray, counts: FloatArray, edges: FloatArray) -> FloatArray:
    """Sums over records of w, w y, e and w^2 in every bin, shape (4, bins)."""
    a, b, y = records.T
    mean = a / (a + b)
    lifted = _Lift(a, b)
    below, below_mean = np.zeros_like(a), np.zeros_like(a)
    sums = np.empty((4, len(edges) - 1))
    for m, edge in enumerate(edges[1:]):
        if edge == 1.0:
            now, now_mean = np.ones_like(a), mean
        else:
            now = _below(a, b, edge)
            now_mean = mean * lifted.at(edge, now)
        w = now - below
        weighted = counts * w  # sums, not dot products: BLAS would start its own threads inside these
        sums[:, m] = (
            weighted.sum(),
            (weighted * y).sum(),
            (counts * (now_mean - below_mean)).sum(),
            (weighted * w).sum(),
        )
        below, below_mean = now, now_mean
    return sums


def _below(a: FloatArray, b: FloatArray, x: float) -> FloatArray:
    """I_x(a, b); a step at the mean where scipy returns NaN (concentrations of 1e30, whose width is 1e-15)."""
    below = np.asarray(special.betainc(a, b, x), dtype=np.float64)
    return np.where(np.isnan(below), np.heaviside(x - a / (a + b), 0.5), below)


class _Lift:
    """I_x(a + 1, b) from I_x(a, b), edge after edge.

    I_x(a + 1, b) = I_x(a, b) - x^a (1 - x)^b / (a B(a, b)) saves the second incomplete beta function, and a B(a, b) is the same at every
    edge; above a concentration of 1e5 its logarithm no longer has the digits for it.
    """

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self.a, self.b = a, b
        self.firm = (a + b > _FIRM).nonzero()[0]
        self.scale: FloatArray = special.betaln(a, b) + np.log(a)
        self.scale[self.firm] = np.inf

    def at(self, x: float, below: FloatArray) -> FloatArray:
        """I_x(a + 1, b); `below` is I_x(a, b)."""
        exponent = self.a * np.log(x) + self.b * np.log1p(-x) - self.scale
        exponent[self.firm] = 0.0  # not precise there, and may overflow exp
        lifted: FloatArray = below - np.exp(exponent)
        if self.firm.size:
            lifted[self.firm] = _below(self.a[self.firm] + 1.0, self.b[self.firm], x)
        return lifted


def _point_table(p: FloatArray, y: FloatArray, place: np.ndarray, edges: FloatArray) -> ReliabilityTable:
    bins = len(edges) - 1
    weight = np.bincount(place, minlength=bins).astype(np.float64)
    hits = np.bincount(place, y, bins).astype(np.float64)
    total = np.bincount(place, p, bins).astype(np.float64)
    return _table(edges, weight, hits, total, weight, float(p.size))


def _table(
    edges: FloatArray, weight: FloatArray, hits: FloatArray, total: FloatArray, squares: FloatArray, n: float
) -> ReliabilityTable:
    """Bins from the sums of w, w y, e and w^2."""
    filled = weight > 0.0
    blank = np.full(len(weight), np.nan)
    accuracy = np.divide(hits, weight, out=blank.copy(), where=filled)
    effective = np.divide(weight * weight, squares, out=blank.copy(), where=filled & (squares > 0.0))
    low, high = wilson_interval(accuracy, effective)
    return ReliabilityTable(
        low=edges[:-1],
        high=edges[1:],
        weight=weight,
        confidence=np.divide(total, weight, out=blank.copy(), where=filled),
        accuracy=accuracy,
        accuracy_low=low,
        accuracy_high=high,
        error=float(np.abs(hits - total).sum() / n),
    )


def wilson_interval(share: FloatArray, n: FloatArray, *, z: float = 1.959963984540054) -> tuple[FloatArray, FloatArray]:
    """Wilson score interval of shares in [0, 1] seen on `n` records; NaN stays NaN. Source: Wilson 1927.

    Examples
    --------
    >>> low, high = wilson_interval(np.array([0.5]), np.array([10.0]))
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.2366], [0.7634])
    """
    centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n)
    reach = z * np.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
