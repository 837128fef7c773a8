"""Checks of the arguments of public functions: shape, range and finiteness, with errors that name the argument.

Nothing here changes a value. The result is float64, broadcast to one shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .beta import PARAMETER_FLOOR
from .errors import RangeError, ShapeError

FloatArray = NDArray[np.float64]


def numbers(name: str, values: ArrayLike) -> FloatArray:
    """`values` as float64; raises an error that names the argument."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{name} must be an array of numbers: {error}") from error


def _within(name: str, values: ArrayLike, low: float, high: float, rule: str) -> FloatArray:
    array = numbers(name, values)
    fine = (array >= low) & (array <= high)  # False for NaN
    if not fine.all():
        raise RangeError(f"{name} must be {rule}, got {float(array[~fine].flat[0])!r}")
    return array


def parameters(name: str, values: ArrayLike) -> FloatArray:
    """Beta parameters: finite and >= 1e-6."""
    return _within(name, values, PARAMETER_FLOOR, np.finfo(np.float64).max, f"finite and >= {PARAMETER_FLOOR}")


def probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Probabilities: in [0, 1]."""
    return _within(name, values, 0.0, 1.0, "in [0, 1]")


def outcomes(name: str, values: ArrayLike) -> FloatArray:
    """Labels: 0 or 1 (False or True), 1 = correct."""
    array = _within(name, values, 0.0, 1.0, "0 or 1")
    between = (array > 0.0) & (array < 1.0)
    if between.any():
        raise RangeError(f"{name} must be 0 or 1, got {float(array[between].flat[0])!r}")
    return array


def same_shape(**named: FloatArray) -> tuple[FloatArray, ...]:
    """The arrays broadcast to one shape; raises an error that names every argument and its shape."""
    try:
        return tuple(np.broadcast_arrays(*named.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in named.items())
        raise ShapeError(f"shapes do not fit together: {shapes}") from None


def sample(**named: FloatArray) -> tuple[FloatArray, ...]:
    """The columns of one sample: of equal length, one-dimensional, not empty; a scalar becomes a constant column."""
    if len({array.shape for array in named.values() if array.ndim}) > 1:  # one label is no column of labels
        shapes = ", ".join(f"{name} {array.shape}" for name, array in named.items())
        raise ShapeError(f"shapes do not fit together: {shapes}")
    arrays = tuple(np.atleast_1d(array) for array in same_shape(**named))
    if arrays[0].ndim != 1 or arrays[0].size == 0:
        raise ShapeError(f"{', '.join(named)} must be one-dimensional and not empty, got shape {arrays[0].shape}")
    return arrays


def beta_sample(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The columns (alpha, beta, correct) of one sample, checked."""
    checked = sample(
        alpha=parameters("alpha", alpha), beta=parameters("beta", beta), correct=outcomes("correct", correct)
    )
    return checked[0], checked[1], checked[2]


def confidence_sample(confidence: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The columns (confidence, correct) of one sample, checked."""
    checked = sample(confidence=probabilities("confidence", confidence), correct=outcomes("correct", correct))
    return checked[0], checked[1]
