"""One honest experiment: fit a map on the first part of the records, measure it on the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, beta_sample
from hedgerow.calibration.errors import NotEnoughData, RangeError
from hedgerow.calibration.fitted import FittedMap
from hedgerow.calibration.fitting import first_part, fit_map
from hedgerow.calibration.maps.base import apply_map
from hedgerow.calibration.metrics.table import Paired
from hedgerow.calibration.summary import paired_metrics, summarise


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A map on records that it did not see.

    Attributes
    ----------
    fitted : FittedMap
        The map, learned on the first records.
    correct : ndarray, shape (n,)
        Outcomes of the records measured.
    raw, calibrated : tuple[ndarray, ndarray]
        (alpha, beta) of the same records before and after the map.
    before, after : Mapping[str, float]
        Every metric that the data allow.
    changes : Mapping[str, Paired]
        The same metrics and what the map changes, with 95 % intervals; empty where none were asked for.
    """

    fitted: FittedMap
    correct: FloatArray
    raw: tuple[FloatArray, FloatArray]
    calibrated: tuple[FloatArray, FloatArray]
    before: Mapping[str, float]
    after: Mapping[str, float]
    changes: Mapping[str, Paired]


def evaluate(
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    *,
    kind: str = "platt",
    train_fraction: float = 0.3,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    on_resample: Callable[[], None] | None = None,
    **options: Any,
) -> Evaluation:
    """Fit on the first `train_fraction` of the records, in their order, and measure on the rest.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Raw confidences, finite and >= 1e-6.
    correct : array_like, shape (n,)
        0 or 1.
    kind : str
        Kind of the map, a name in `hedgerow.calibration.maps.KINDS`.
    train_fraction : float
        In (0, 1).
    resamples : int
        Bootstrap resamples for intervals, 0 for none; needs `rng`.
    rng : numpy.random.Generator
        Source of the resamples.
    on_resample : callable, optional
        Called after each resample of each metric, of both confidences.
    **options
        As for the fit.

    Raises
    ------
    NotEnoughData
        If nothing is left to fit on or to measure, or the fit has too little data.
    RangeError, ShapeError, NegativeSlope
        As for the fit.

    Notes
    -----
    **Source**: RALC 5.3.1, the first 30 % of each data set. **Deviates**: none.
    """
    a, b, y = beta_sample(alpha, beta, correct)
    if not 0.0 < train_fraction < 1.0:
        raise RangeError(f"train_fraction must be in (0, 1), got {train_fraction!r}")
    train = first_part(y.size, train_fraction)
    if train == 0:
        raise NotEnoughData(
            f"train_fraction {train_fraction:g} of {y.size} labelled answers leaves none to fit on; label more of them"
        )
    fitted = fit_map(kind, a[:train], b[:train], y[:train], **options)
    a, b, y = a[train:], b[train:], y[train:]
    mapped = apply_map(fitted.map, a, b)
    before, after = summarise(a, b, y), summarise(*mapped, y)
    changes: dict[str, Paired] = {}
    if resamples and rng is not None:
        changes = paired_metrics((a, b), mapped, y, before, resamples=resamples, rng=rng, on_resample=on_resample)
    return Evaluation(
        fitted=fitted,
        correct=y,
        raw=(a, b),
        calibrated=mapped,
        before=before,
        after=after,
        changes=changes,
    )
