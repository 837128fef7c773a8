"""Evaluates a map: fits it on the first part of the records and measures it on the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import FloatArray, beta_sample
from .errors import NotEnoughData, RangeError
from .fitted import FittedMap
from .fitting import first_part, fit_map, unseen
from .maps.base import apply_map
from .metrics.bootstrap import Groups, groups_of, taken, too_few_groups
from .metrics.table import Paired
from .summary import paired_metrics, summarise


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of a map on records that it was not fitted on.

    Attributes
    ----------
    fitted : FittedMap
        The map, learned on the first records.
    correct : ndarray, shape (n,)
        Outcomes of the records measured.
    raw, calibrated : tuple[ndarray, ndarray]
        (alpha, beta) of the same records before and after the map.
    before, after : Mapping[str, float]
        Every metric that is defined on the data.
    changes : Mapping[str, Paired]
        The same metrics and their change by the map, with 95 % intervals; empty if none were requested.
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
    groups: ArrayLike | None = None,
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
    groups : array_like, shape (n,), optional
        Records of one group, such as claims of one text, are resampled together, and not measured if any of them was used
        for the fit. With fewer than 20 groups to measure there are no intervals; a note of the map says so.
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
    each = groups_of(groups, y.size)
    train, rest = _parts(y.size, train_fraction, each)
    fitted = _fit_first(kind, (a[:train], b[:train], y[:train]), y.size, groups=taken(each, slice(train)), **options)
    a, b, y, measured = a[rest], b[rest], y[rest], taken(each, rest)
    mapped = apply_map(fitted.map, a, b)
    before, after = summarise(a, b, y), summarise(*mapped, y)
    changes: dict[str, Paired] = {}
    if resamples and (reason := too_few_groups(measured)) is not None:
        notes = (*fitted.provenance.notes, f"no intervals: {reason}")
        fitted = replace(fitted, provenance=replace(fitted.provenance, notes=notes))
    elif resamples and rng is not None:
        how: dict[str, Any] = {"resamples": resamples, "rng": rng, "on_resample": on_resample, "groups": measured}
        changes = paired_metrics((a, b), mapped, y, before, **how)
    return Evaluation(fitted, y, (a, b), mapped, before, after, changes)


def _parts(n: int, train_fraction: float, groups: Groups) -> tuple[int, NDArray[np.bool_]]:
    """The number of records to learn from, and which records are measured."""
    train = first_part(n, train_fraction)
    share = f"train_fraction {train_fraction:g} of {n} labelled answers"
    if train == 0:
        raise NotEnoughData(f"{share} leaves none to fit on; label more of them")
    rest = unseen(n, train, groups)
    if not rest.any():
        why = "" if groups is None else ": all are parts of an answer that the fit has seen"
        raise NotEnoughData(f"{share} leaves none to measure{why}")
    return train, rest


def _fit_first(kind: str, columns: tuple[FloatArray, FloatArray, FloatArray], n: int, **options: Any) -> FittedMap:
    """Fit a map on the first records, with an error message that says so if they are insufficient."""
    try:
        return fit_map(kind, *columns, **options)
    except NotEnoughData as error:
        first = columns[0].size
        raise NotEnoughData(f"{error}; the map is fitted on the first {first} of {n} answers") from error
