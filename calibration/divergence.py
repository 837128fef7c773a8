"""Faithfulness Divergence and the Kullback-Leibler divergences it is based on.

The closed form of the paper is a difference of digammas that loses all its digits for concentrated distributions. Here
every difference is simplified analytically, so the result is a sum of small terms of known sign.
"""

from __future__ import annotations

from math import log1p
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray, outcomes, parameters, same_shape
from .beta import PARAMETER_FLOOR
from .errors import RangeError

_SHIFT = 12
"""The asymptotic series of the digamma is used from here on; its first omitted term is then below 1e-16."""

_SERIES = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760)
"""-B_2n / 2n for n = 1..6: digamma(x + 1) - ln x = 1 / 2x + sum of _SERIES[n - 1] / x^2n (Abramowitz & Stegun 6.3.18)."""


@overload
def faithfulness_divergence(alpha: float, beta: float, correct: bool | int | float) -> float: ...
@overload
def faithfulness_divergence(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> FloatArray: ...
def faithfulness_divergence(alpha: Any, beta: Any, correct: Any) -> Any:
    """Total surprise of learning the outcome: concentration times KL(posterior || prior).

    Parameters
    ----------
    alpha, beta : float or array_like, broadcastable
        Parameters of the confidence, finite and >= 1e-6.
    correct : {0, 1} or array_like
        The outcome, 1 = correct.

    Returns
    -------
    float or ndarray of float64
        Nats, >= 0. Lower = more faithful. A float where all three are Python scalars (the request path; no array is made).

    Raises
    ------
    RangeError
        If a parameter is not finite or below 1e-6, or an outcome is neither 0 nor 1.
    ShapeError
        If the shapes do not fit together.

    Notes
    -----
    **Source**: RALC 3.2 and B.2. y = 1: FD = k (psi(alpha + 1) - psi(k + 1) - ln(alpha / k)); y = 0 with beta for alpha.

    **Deviates**: not in value. With g(x) = psi(x + 1) - ln x the divergence is k (g(a) - g(k)), where a is the parameter of
    the side that came true and k = a + b. For a >= 12 the asymptotic series of g is differenced term by term
    (1/a - 1/k = b / ak); below, both arguments are first moved up by 12 with the recurrence of psi. Relative error
    under 1e-12 for parameters from 1e-6 to 1e8.

    At a fixed mean m and concentration towards infinity, y = 1: FD tends to (1 - m) / 2m.

    Examples
    --------
    >>> round(faithfulness_divergence(9.0, 1.0, True), 6)
    0.053605
    >>> faithfulness_divergence([9.0, 9.0], [1.0, 1.0], [1, 0]).round(6).tolist()
    [0.053605, 3.736168]
    """
    if isinstance(alpha, (int, float)) and isinstance(beta, (int, float)) and isinstance(correct, (int, float)):
        return _scalar_divergence(float(alpha), float(beta), correct)
    came_true, other = _sides(alpha, beta, correct)
    return (came_true + other) * _kl_update(came_true, other).reshape(came_true.shape)


def kl_update(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> FloatArray:
    """Surprise of learning the outcome, KL(posterior || prior): Faithfulness Divergence without its weight.

    Parameters and errors as for `faithfulness_divergence`.

    Returns
    -------
    ndarray of float64
        Nats, >= 0. Lower = less surprise.

    Notes
    -----
    **Source**: RALC 3.2 (the KL term). **Deviates**: none in value.

    Examples
    --------
    >>> kl_update([9.0], [1.0], [1]).round(7).tolist()
    [0.0053605]
    """
    came_true, other = _sides(alpha, beta, correct)
    return _kl_update(came_true, other).reshape(came_true.shape)


def _sides(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The parameter of the side that came true, and the other parameter."""
    a, b, y = same_shape(
        alpha=parameters("alpha", alpha), beta=parameters("beta", beta), correct=outcomes("correct", correct)
    )
    return np.where(y == 1.0, a, b), np.where(y == 1.0, b, a)


def _kl_update(a: FloatArray, b: FloatArray) -> FloatArray:
    """g(a) - g(a + b) for arrays of one shape."""
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    kl = np.empty(a.shape)
    large = a >= _SHIFT
    kl[large] = b[large] * _series_difference(a[large], a[large] + b[large])
    kl[~large] = _shifted(a[~large], b[~large])
    return kl


def _shifted(a: FloatArray, b: FloatArray) -> FloatArray:
    """g(a) - g(a + b) for a < 12: psi(x + 1) = psi(x + 13) - sum over j = 1..12 of 1 / (x + j)."""
    k = a + b
    total = np.zeros(a.shape)
    for j in range(1, _SHIFT + 1):
        total += 1.0 / ((a + j) * (k + j))
    far_a, far_k = a + _SHIFT, k + _SHIFT
    logarithm: FloatArray = np.log1p(b * (_SHIFT / far_k) / a)
    return logarithm + b * (_series_difference(far_a, far_k) - total)


def _series_difference(a: FloatArray, k: FloatArray) -> FloatArray:
    """(g(a) - g(k)) / (k - a) by the asymptotic series, for a, k >= 12.

    u^2n - v^2n is divided by u - v through p(n+1) = (u^2 + v^2) p(n) - (uv)^2 p(n-1), p(0) = 0, p(1) = u + v.
    """
    u, v = 1.0 / a, 1.0 / k
    uv = u * v
    squares, product = u * u + v * v, uv * uv
    before, now = np.zeros_like(u), u + v
    total = 0.5 + _SERIES[0] * now
    for coefficient in _SERIES[1:]:
        before, now = now, squares * now - product * before
        total += coefficient * now
    difference: FloatArray = uv * total
    return difference


def _scalar_divergence(alpha: float, beta: float, correct: float) -> float:
    """The same for a single answer in plain floats: takes microseconds, uses no arrays."""
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not PARAMETER_FLOOR <= value < float("inf"):
            raise RangeError(f"{name} must be finite and >= {PARAMETER_FLOOR}, got {value!r}")
    if correct not in (0, 1):
        raise RangeError(f"correct must be 0 or 1, got {correct!r}")
    a, b = (alpha, beta) if correct else (beta, alpha)
    k = a + b
    if a >= _SHIFT:
        return k * (b * _scalar_series(a, k))
    total = 0.0
    for j in range(1, _SHIFT + 1):
        total += 1.0 / ((a + j) * (k + j))
    far_k = k + _SHIFT
    return k * (log1p(b * (_SHIFT / far_k) / a) + b * (_scalar_series(a + _SHIFT, far_k) - total))


def _scalar_series(a: float, k: float) -> float:
    """`_series_difference` in plain floats."""
    u, v = 1.0 / a, 1.0 / k
    squares, product = u * u + v * v, u * u * v * v
    before, now = 0.0, u + v
    total = 0.5 + _SERIES[0] * now
    for coefficient in _SERIES[1:]:
        before, now = now, squares * now - product * before
        total += coefficient * now
    return u * v * total
