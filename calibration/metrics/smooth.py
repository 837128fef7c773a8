"""Smooth ECE: a calibration error without bins, with a bandwidth that equals the error itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from ..arrays import FloatArray, confidence_sample
from ..errors import RangeError
from .bootstrap import Interval, lot_of, require_resampling

# Intervals for calibration errors that are L1 norms of a residual, smoothed or in bins.
#
# Percentiles of their resamples would be biased upwards.


class Residual(Protocol):
    """Outcomes minus confidences of a sample, smoothed or summed in bins.

    A mean, whose L1 norm is the calibration error.
    """

    estimate: float
    """The error of the sample."""
    n: int
    """Records in the sample."""

    def distance(self, chosen: NDArray[np.int64]) -> float:
        """L1 distance to the residual of a resample, given by indices of records."""


def norm_interval(
    residual: Residual,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 200,
    on_resample: Callable[[], None] | None = None,
    groups: ArrayLike | None = None,
) -> Interval:
    """The error with an interval that has its coverage even for well calibrated confidences.

    Notes
    -----
    **Source**: ours. A norm is at least 0 on every sample: noise can only raise it, resampling raises it again, and so
    percentiles of resamples lie above the true error of a calibrated map. The residual itself is a mean without bias:
    with D the L1 distance between that of a resample and that of the data, |estimate - truth| <= D by the triangle
    inequality, so the estimate plus and minus the `level` quantile of D covers the truth.
    """
    distances = _distances([residual], rng, level, resamples, on_resample, groups)
    return _within(residual, float(np.quantile(distances, level)))


def norm_change(
    before: Residual,
    after: Residual,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 200,
    on_resample: Callable[[], None] | None = None,
    groups: ArrayLike | None = None,
) -> tuple[Interval, Interval, Interval]:
    """The errors of two confidences of the same records, and their difference, each with an interval.

    Notes
    -----
    **Source**: ours. Each estimate is within its D of the truth (`norm_interval`), so their difference is within the
    sum of both, whose quantile is taken over the same resamples. The interval is wide, because it does not use that
    both confidences may have the same errors.
    """
    distances = _distances([before, after], rng, level, resamples, on_resample, groups)
    change, reach = after.estimate - before.estimate, float(np.quantile(distances.sum(axis=1), level))
    one, other = (
        _within(residual, float(np.quantile(column, level)))
        for residual, column in zip((before, after), distances.T, strict=True)
    )
    return one, other, Interval(change, change - reach, change + reach)


def _within(residual: Residual, reach: float) -> Interval:
    return Interval(residual.estimate, max(0.0, residual.estimate - reach), min(1.0, residual.estimate + reach))


def _distances(
    residuals: Sequence[Residual],
    rng: np.random.Generator,
    level: float,
    resamples: int,
    on_resample: Callable[[], None] | None,
    groups: ArrayLike | None = None,
) -> FloatArray:
    """Distances of the residuals of resamples, shape (resamples, residuals)."""
    require_resampling(level, resamples)
    distances = np.empty((resamples, len(residuals)))
    draw = lot_of(residuals[0].n, groups)
    for i in range(resamples):
        chosen = draw(rng)
        distances[i] = [residual.distance(chosen) for residual in residuals]
        if on_resample is not None:
            on_resample()
    return distances


_CELLS = 1 << 14
"""Number of cells of the grid on [0, 1].

Residuals are shared between the two nearest centres, with an error of order 1 / cells^2.
"""

_HALVINGS = 40

_LEAST_BANDWIDTH = 1e-3
"""Smallest standard deviation of the kernel in an interval; below it residuals would not be smoothed."""


def smooth_ece(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Smooth calibration error at the bandwidth that equals it.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        In [0, 1].
    correct : array_like, shape (n,)
        0 or 1.

    Returns
    -------
    float
        In [0, 1]; lower = better calibrated. Consistent: within constant factors of the distance to the nearest calibrated
        predictor.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Blasiok & Nakkiran, Smooth ECE, ICLR 2024: residuals y - p smoothed by a Gaussian reflected at 0 and 1, the
    integral of the absolute value, at the s with smECE_s = s (it falls with s, so there is one).

    **Deviates**: from the reference implementation, not from the definition. The reflected Gaussian is the heat kernel of
    [0, 1] with insulated ends, diagonal in cosines: each smoothing is one cosine transform of a grid of 16,384 cells, within 1e-8 of
    the sum of mirror images, and s is found to 1e-12. relplot 1.0.3 stops at a bandwidth up to 1/1024 below s and divides by a density
    to which it adds a little: on 60 sets of 30 to 1,000 confidences inside (0, 1) it lay between .002 below and .005 above. Its
    reflection leaves the end points out, so confidences of exactly 0 and 1 weigh half there: on sets that hold them it lay between
    .007 below and .033 above.

    Examples
    --------
    >>> round(smooth_ece([0.9] * 10, [1] * 6 + [0] * 4), 6)
    0.3
    """
    spectrum = _spectrum(*confidence_sample(confidence, correct))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _smoothed(spectrum, middle) > middle else (low, middle)
    return (low + high) / 2.0


def smooth_ece_at(confidence: ArrayLike, correct: ArrayLike, *, bandwidth: float) -> float:
    """Smooth calibration error at a given bandwidth > 0 (the standard deviation of the kernel); else as `smooth_ece`."""
    if not bandwidth > 0.0:
        raise RangeError(f"bandwidth must be > 0, got {bandwidth!r}")
    return _smoothed(_spectrum(*confidence_sample(confidence, correct)), bandwidth)


def smooth_ece_interval(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 200,
    on_resample: Callable[[], None] | None = None,
    groups: ArrayLike | None = None,
) -> Interval:
    """Smooth calibration error with an interval that has its coverage even for well calibrated confidences.

    Parameters
    ----------
    confidence, correct : array_like, shape (n,)
        As for `smooth_ece`.
    rng : numpy.random.Generator
        Source of the resamples.
    level : float
        Confidence level, in (0, 1).
    resamples : int
        >= 2.
    on_resample : callable, optional
        Called after each resample (a progress bar, say).
    groups : array_like, shape (n,), optional
        Records of one group are drawn together.

    Returns
    -------
    Interval
        The estimate, and bounds of the error at the estimate's bandwidth, cut at 0.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: ours, as of `norm_interval`: the error is the L1 norm of the smoothed residual. Simulated with 40 resamples at 95 %: 54 to 59 of
    60 sets of 60 and 200 confidences, calibrated, .05 and .15 off.

    Examples
    --------
    >>> interval = smooth_ece_interval([0.9] * 100, [1] * 60 + [0] * 40, rng=np.random.default_rng(0))
    >>> round(interval.estimate, 6), 0.18 < interval.low < 0.25, 0.35 < interval.high < 0.42
    (0.3, True, True)
    """
    residual = SmoothResidual(*confidence_sample(confidence, correct))
    return norm_interval(residual, rng=rng, level=level, resamples=resamples, on_resample=on_resample, groups=groups)


class SmoothResidual:
    """The smoothed residual of a sample, at the bandwidth of its error; see `hedgerow.calibration.metrics.smooth`."""

    def __init__(self, p: FloatArray, y: FloatArray) -> None:
        self.estimate, self.n = smooth_ece(p, y), p.size
        self._p, self._y, self._spectrum = p, y, _spectrum(p, y)
        self._bandwidth = max(self.estimate, _LEAST_BANDWIDTH)

    def distance(self, chosen: NDArray[np.int64]) -> float:
        """L1 distance to the smoothed residual of a resample."""
        return _smoothed(_spectrum(self._p[chosen], self._y[chosen]) - self._spectrum, self._bandwidth)


def _spectrum(p: FloatArray, y: FloatArray) -> FloatArray:
    """Cosine transform of the mean residual on the grid."""
    place = np.clip(p * _CELLS - 0.5, 0.0, _CELLS - 1.0)
    left = np.minimum(place.astype(np.int64), _CELLS - 2)
    share = place - left
    residual = (y - p) / p.size
    grid = np.bincount(left, residual * (1.0 - share), _CELLS) + np.bincount(left + 1, residual * share, _CELLS)
    return np.asarray(fft.dct(grid, type=2, norm="ortho"), dtype=np.float64)


def _smoothed(spectrum: FloatArray, bandwidth: float) -> float:
    """Sum over the grid of the absolute smoothed residual."""
    frequency = np.pi * np.arange(_CELLS)
    damped = spectrum * np.exp(-0.5 * (bandwidth * frequency) ** 2)
    return float(np.abs(fft.idct(damped, type=2, norm="ortho")).sum())
