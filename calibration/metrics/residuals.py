"""Intervals for calibration errors that are L1 norms of a residual, smoothed or in bins.

Percentiles of their resamples would be biased upwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import FloatArray
from .bootstrap import Interval, lot_of, require_resampling


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
