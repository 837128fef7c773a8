"""Shared code for learning maps: conditions, regularised logistic regression, step functions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..arrays import FloatArray, numbers, probabilities
from ..errors import NotEnoughData, RangeError, ShapeError
from ..logistic import Logistic, fit_logistic

TINY = 30
"""With fewer records a parametric fit is shrunk towards the identity, with a note."""

PRIOR_PRECISION = 1.0
"""Precision of the normal prior around the identity, for each coefficient: about the weight of a few records."""


Learnable = tuple[FloatArray, FloatArray, FloatArray | None]
FLAT = 1e-7
"""A slope on the log-odds up to this is zero but for rounding: the confidences say nothing of the outcomes."""
SAYS_NOTHING = ("the same value for every confidence: they do not rank right above wrong",)
"""The note of a map that is flat."""


def learnable(mean: FloatArray, correct: FloatArray, weights: FloatArray | None) -> Learnable:
    """The records that stand for any: without those of weight 0, which say nothing of classes, steps or separability either.

    Raises
    ------
    NotEnoughData
        If nothing can be learned: one class, or one confidence for all.
    RangeError, ShapeError
        If a weight is negative, not finite or missing.
    """
    if weights is not None:
        weights = numbers("weights", weights)
        if weights.shape != correct.shape:
            raise ShapeError(f"{correct.size} records need {correct.size} weights, got shape {weights.shape}")
        if not (np.isfinite(weights) & (weights >= 0.0)).all():
            raise RangeError("weights must be finite and >= 0")
        if not weights.any():
            raise NotEnoughData("every weight is zero")
        counted = weights > 0.0
        mean, correct, weights = mean[counted], correct[counted], weights[counted]
    _require_two_classes(mean, correct)
    return mean, correct, weights


def _require_two_classes(mean: FloatArray, correct: FloatArray) -> None:
    right = int(correct.sum())
    if right in (0, len(correct)):
        whose = "the only answer is" if len(correct) == 1 else f"all {len(correct)} answers are"
        raise NotEnoughData(f"{whose} {'right' if right else 'wrong'}: a map needs right and wrong ones")
    if mean.min() == mean.max():
        raise NotEnoughData(f"all {len(mean)} confidences are {mean[0]:.6g}: nothing can be learned from their order")


def is_separable(x: FloatArray, correct: FloatArray) -> bool:
    """Whether a threshold separates right from wrong answers, ties allowed: then the likelihood has no maximum."""
    right, wrong = x[correct == 1.0], x[correct == 0.0]
    return bool(right.min() >= wrong.max() or right.max() <= wrong.min())


def fit_near_identity(
    columns: Sequence[FloatArray],
    correct: FloatArray,
    identity: FloatArray,
    separable: bool,
    weights: FloatArray | None = None,
) -> tuple[Logistic, tuple[str, ...]]:
    """Maximum likelihood; the mode under a prior around the identity where that does not exist or records are few."""
    n = records(correct, weights)
    if not separable and n >= TINY:
        fit = fit_logistic(columns, correct, prior_mean=identity, weights=weights)
        if fit.converged:
            return fit, ()
        separable = True
    reason = "no maximum of the likelihood (separable)" if separable else f"only {n:g} records"
    fit = fit_logistic(columns, correct, prior_mean=identity, prior_precision=PRIOR_PRECISION, weights=weights)
    return fit, (f"regularised towards the identity: {reason}",)


def records(correct: FloatArray, weights: FloatArray | None) -> float:
    """How many records these are, or stand for where that is more."""
    return float(correct.size if weights is None else max(correct.size, weights.sum()))


def few_records(correct: FloatArray, weights: FloatArray | None) -> tuple[str, ...]:
    """A note where steps are fitted on few records."""
    n = records(correct, weights)
    return (f"only {n:g} records: the steps are rough",) if n < TINY else ()


def by_mean(
    mean: FloatArray, correct: FloatArray, weights: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distinct means in ascending order, with the weighted numbers of right answers and of records at each."""
    counts = np.ones(len(mean)) if weights is None else weights
    knots, place = np.unique(mean, return_inverse=True)
    return knots, np.bincount(place, counts * correct).astype(np.float64), np.bincount(place, counts).astype(np.float64)


def isotonic_regression(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The non-decreasing values closest to these in weighted least squares."""
    from scipy import optimize  # heavy, and only fits need it

    return np.asarray(optimize.isotonic_regression(values, weights=weights).x, dtype=np.float64)


def store_columns(owner: object, **columns: Sequence[float]) -> None:
    """Store the columns of a frozen map as tuples of floats in [0, 1]; JSON brings lists."""
    for name, values in columns.items():
        object.__setattr__(owner, name, tuple(probabilities(name, list(values)).tolist()))


def require_ascending(name: str, values: Sequence[float]) -> None:
    """Raise a `RangeError` unless the values ascend strictly."""
    if any(b <= a for a, b in pairwise(values)):
        raise RangeError(f"{name} must ascend strictly, got {list(values)!r}")
