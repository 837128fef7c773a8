"""How each kind of map is learned from means and outcomes; provenance and cross-validation are added in `fits`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.errors import NegativeSlope, NotEnoughData
from hedgerow.calibration.fitting.newton import Logistic, fit_logistic
from hedgerow.calibration.maps import (
    LOG_ODDS_LIMIT,
    BetaCalibrationMap,
    CalibrationMap,
    HistogramMap,
    IdentityMap,
    IsotonicMap,
    PlattMap,
    TemperatureMap,
    VennAbersMap,
    log_odds,
)
from hedgerow.calibration.maps.base import UNANIMITY
from hedgerow.calibration.maps.parametric import logarithms
from hedgerow.calibration.metrics.binned import equal_mass_starts

TINY = 30
"""Below this many records a parametric fit is drawn towards the identity, and says so."""

PRIOR_PRECISION = 1.0
"""Of the normal prior around the identity, for each coefficient: as much as a handful of records weighs."""

_VENN_ABERS_KNOTS = 2000


@dataclass(frozen=True, slots=True)
class Learned:
    """A map, the standard errors of its parameters, and what the fit has to say."""

    map: CalibrationMap
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def learn_identity(mean: FloatArray, correct: FloatArray) -> Learned:
    """The identity; anything will do."""
    return Learned(IdentityMap())


def learn_platt(mean: FloatArray, correct: FloatArray, *, allow_negative_slope: bool = False) -> Learned:
    """Platt's w and b by maximum likelihood, regularised where that has no maximum or hardly any data."""
    require_two_classes(mean, correct)
    return _platt(mean, correct, correct, LOG_ODDS_LIMIT, allow_negative_slope)


def learn_bounded_platt(
    mean: FloatArray, correct: FloatArray, *, limit: float = UNANIMITY, allow_negative_slope: bool = False
) -> Learned:
    """The same on log-odds within the limit, to Platt's smoothed targets.

    Where all means lie beyond the limit on one side, nothing would be left of their order, and they are taken as they are.
    """
    require_two_classes(mean, correct)
    limit = limit if np.ptp(log_odds(mean, limit)) > 0.0 else LOG_ODDS_LIMIT
    right = correct.sum()
    wrong = correct.size - right
    targets = np.where(correct == 1.0, (right + 1.0) / (right + 2.0), 1.0 / (wrong + 2.0))
    return _platt(mean, correct, targets, limit, allow_negative_slope)


def _platt(
    mean: FloatArray, correct: FloatArray, targets: FloatArray, limit: float, allow_negative_slope: bool
) -> Learned:
    x = log_odds(mean, limit)
    columns = (x, np.ones_like(x))
    fit, notes = _regularised_where_needed(columns, targets, np.array([1.0, 0.0]), _separable(x, correct))
    w, b = fit.coefficients.tolist()
    if w < 0.0 and not allow_negative_slope:
        raise NegativeSlope(
            f"the slope is {w:.3g}: wrong answers are the more confident ones here, and the map would turn the order of"
            " confidence round; look at the labels and the signal, or allow a negative slope"
        )
    return Learned(PlattMap(w=w, b=b, limit=limit), dict(zip("wb", fit.standard_errors.tolist(), strict=True)), notes)


def learn_temperature(mean: FloatArray, correct: FloatArray) -> Learned:
    """One slope on the log-odds through 0; the temperature is its inverse."""
    require_two_classes(mean, correct)
    x = log_odds(mean)
    sides = np.where(correct == 1.0, x, -x)
    separable = bool((sides >= 0.0).all() or (sides <= 0.0).all())
    fit, notes = _regularised_where_needed((x,), correct, np.array([1.0]), separable)
    slope, error = fit.coefficients.item(), fit.standard_errors.item()
    if slope <= 0.0:
        raise NegativeSlope(
            f"the slope is {slope:.3g}: no temperature > 0 makes these confidences better; a map with a shift (Platt) may"
        )
    return Learned(TemperatureMap(1.0 / slope), {"temperature": error / slope**2}, notes)


def learn_beta_calibration(mean: FloatArray, correct: FloatArray) -> Learned:
    """Kull's a, b, c; a slope that comes out negative is set to 0 and the rest fitted again, as there."""
    require_two_classes(mean, correct)
    lower, upper = logarithms(mean)
    available = {"a": lower, "b": -upper}
    separable = _separable(mean, correct)
    while available:
        columns = (*available.values(), np.ones_like(mean))
        fit, notes = _regularised_where_needed(columns, correct, np.array([*(1.0 for _ in available), 0.0]), separable)
        values = dict(zip((*available, "c"), fit.coefficients.tolist(), strict=True))
        negative = [name for name in available if values[name] < 0.0]
        if not negative:
            errors = dict(zip((*available, "c"), fit.standard_errors.tolist(), strict=True))
            found = BetaCalibrationMap(a=values.get("a", 0.0), b=values.get("b", 0.0), c=values["c"])
            return Learned(found, errors, notes)
        del available[min(negative, key=values.__getitem__)]
    raise NegativeSlope("both slopes are negative: wrong answers are the more confident ones here")


def learn_isotonic(mean: FloatArray, correct: FloatArray) -> Learned:
    """The best non-decreasing step function, kept as knots with straight lines between them (as scikit-learn keeps it)."""
    require_two_classes(mean, correct)
    knots, hits, counts = _grouped(mean, correct)
    values = _isotonic(hits / counts, counts)
    corner = np.ones(len(knots), dtype=bool)
    corner[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    found = IsotonicMap(tuple(knots[corner].tolist()), tuple(values[corner].tolist()))
    return Learned(found, notes=(*_few(len(mean)), *_flat(values)))


def learn_histogram(mean: FloatArray, correct: FloatArray, *, bins: int = 10) -> Learned:
    """The share of correct answers in bins of equal mass, with Laplace's rule.

    Deviates from Zadrozny & Elkan 2001, who take the bare share: (hits + 1) / (n + 2) never says "always" of a few records.
    """
    require_two_classes(mean, correct)
    order = np.argsort(mean, kind="stable")
    starts = equal_mass_starts(mean[order], min(bins, len(mean)))
    edges = (mean[order][starts - 1] + mean[order][starts]) / 2.0
    place = np.searchsorted(edges, mean, side="right")
    counts, hits = np.bincount(place, minlength=len(edges) + 1), np.bincount(place, correct, len(edges) + 1)
    values = (hits + 1.0) / (counts + 2.0)
    return Learned(HistogramMap(tuple(edges.tolist()), tuple(values.tolist())), notes=_few(len(mean)))


def learn_venn_abers(mean: FloatArray, correct: FloatArray) -> Learned:
    """Both isotonic fits for every place that a new answer can take among the distinct means.

    Deviates from Vovk et al. 2015 above 2,000 distinct means: these are first grouped into 2,000 of equal mass.
    """
    require_two_classes(mean, correct)
    knots, hits, counts = _grouped(_thinned(mean), correct)
    lower: list[float] = []
    upper: list[float] = []
    for slot in range(2 * len(knots) + 1):
        for ends, label in ((lower, 0.0), (upper, 1.0)):
            ends.append(_with_one_more(hits, counts, slot, label))
    ordered = [max(low, high) for low, high in zip(lower, upper, strict=True)]  # equal up to rounding where they meet
    found = VennAbersMap(tuple(knots.tolist()), tuple(lower), tuple(ordered))
    return Learned(found, notes=_few(len(mean)))


def require_two_classes(mean: FloatArray, correct: FloatArray) -> None:
    """Raise `NotEnoughData` where nothing can be learned: one class, or one confidence for all."""
    right = int(correct.sum())
    if right in (0, len(correct)):
        raise NotEnoughData(
            f"all {len(correct)} answers are {'right' if right else 'wrong'}: a map needs right and wrong ones"
        )
    if mean.min() == mean.max():
        raise NotEnoughData(f"all {len(mean)} confidences are {mean[0]:.6g}: nothing can be learned from their order")


def _separable(x: FloatArray, correct: FloatArray) -> bool:
    """Whether a threshold divides right from wrong, ties on it allowed: the likelihood has no maximum."""
    right, wrong = x[correct == 1.0], x[correct == 0.0]
    return bool(right.min() >= wrong.max() or right.max() <= wrong.min())


def _regularised_where_needed(
    columns: Sequence[FloatArray], correct: FloatArray, identity: FloatArray, separable: bool
) -> tuple[Logistic, tuple[str, ...]]:
    """Maximum likelihood; the mode under a prior around the identity where that does not exist or records are few."""
    n = len(correct)
    if not separable and n >= TINY:
        fit = fit_logistic(columns, correct, prior_mean=identity)
        if fit.converged:
            return fit, ()
        separable = True
    reason = "no maximum of the likelihood (separable)" if separable else f"only {n} records"
    fit = fit_logistic(columns, correct, prior_mean=identity, prior_precision=PRIOR_PRECISION)
    return fit, (f"regularised towards the identity: {reason}",)


def _few(n: int) -> tuple[str, ...]:
    return (f"only {n} records: the steps are rough",) if n < TINY else ()


def _flat(values: FloatArray) -> tuple[str, ...]:
    return ("the same value for every confidence: they do not rank right above wrong",) if np.ptp(values) == 0.0 else ()


def _grouped(mean: FloatArray, correct: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct means ascending, right answers and records at each."""
    knots, place, counts = np.unique(mean, return_inverse=True, return_counts=True)
    return knots, np.bincount(place, correct).astype(np.float64), counts.astype(np.float64)


def _thinned(mean: FloatArray) -> FloatArray:
    """Means moved to the medians of 2,000 groups of equal mass, where there are more distinct ones."""
    if len(np.unique(mean)) <= _VENN_ABERS_KNOTS:
        return mean
    levels = np.quantile(mean, (np.arange(_VENN_ABERS_KNOTS) + 0.5) / _VENN_ABERS_KNOTS)
    nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2.0, mean)
    return np.asarray(levels[nearest], dtype=np.float64)


def _isotonic(values: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(optimize.isotonic_regression(values, weights=weights).x, dtype=np.float64)


def _with_one_more(hits: FloatArray, counts: FloatArray, slot: int, label: float) -> float:
    """The isotonic fit at a new answer of this label: on knot slot // 2 where slot is odd, before it where even."""
    at, between = slot // 2, slot % 2 == 0
    if between:
        hits, counts = np.insert(hits, at, label), np.insert(counts, at, 1.0)
    else:
        hits, counts = hits.copy(), counts.copy()
        hits[at] += label
        counts[at] += 1.0
    return float(np.clip(_isotonic(hits / counts, counts)[at], 0.0, 1.0))  # an average of shares, but for rounding
