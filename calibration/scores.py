"""Fits a Beta to scores in [0, 1]: by moments (with both degenerate cases) and by maximum likelihood."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .arrays import FloatArray, probabilities
from .beta import PARAMETER_FLOOR, Beta
from .errors import NotEnoughData, ShapeError

SCORE_FLOOR = 1e-6
"""Scores are clipped to (1e-6, 1 - 1e-6) before taking logarithms."""

_ROUNDING = 1e-12
"""Scores closer than this are equal: the difference is rounding."""

_STEPS = 200


def _scores(scores: ArrayLike) -> FloatArray:
    s = probabilities("scores", scores)
    if s.ndim != 1:
        raise ShapeError(f"scores must be one-dimensional, got shape {s.shape}")
    if s.size == 0:
        raise NotEnoughData("no scores to fit a Beta to")
    return s


def fit_moments(scores: ArrayLike) -> Beta:
    """Beta with the mean and the n - 1 variance of the scores.

    Parameters
    ----------
    scores : array_like, shape (T,)
        In [0, 1], T >= 1.

    Returns
    -------
    Beta
        Where the scores are constant, all 0 or all 1, or spread wider than any Beta of their mean: (mean T, (1 - mean) T),
        each lifted to 1e-6. One score is constant.

    Raises
    ------
    NotEnoughData
        If `scores` is empty.
    RangeError, ShapeError
        If a score is out of range or the array is not one-dimensional.

    Notes
    -----
    **Source**: RALC A.1.1. **Deviates**: scores within 1e-12 of each other are constant; a variance that is rounding would
    give concentrations up to 1e32.

    Examples
    --------
    >>> beta = fit_moments([0.6, 0.8])
    >>> round(beta.alpha, 6), round(beta.beta, 6)
    (6.65, 2.85)
    >>> fit_moments([1.0, 1.0, 1.0])
    Beta(alpha=3.0, beta=1e-06)
    """
    s = _scores(scores)
    mean = float(s.mean())
    if np.ptp(s) <= _ROUNDING:
        return Beta.from_mean(float(s[0]), float(s.size))
    variance = float(s.var(ddof=1))
    if variance >= mean * (1.0 - mean):
        return Beta.from_mean(mean, float(s.size))
    concentration = mean * (1.0 - mean) / variance - 1.0
    return Beta.from_mean(mean, concentration)


def fit_likelihood(scores: ArrayLike) -> Beta:
    """Beta of maximum likelihood, its support fixed at [0, 1].

    Parameters
    ----------
    scores : array_like, shape (T,)
        In [0, 1], T >= 1; brought within (1e-6, 1 - 1e-6).

    Returns
    -------
    Beta
        Where the scores are constant, as for `fit_moments`: the likelihood has no maximum then.

    Raises
    ------
    NotEnoughData
        If `scores` is empty.
    RangeError, ShapeError
        If a score is out of range or the array is not one-dimensional.

    Notes
    -----
    **Source**: the likelihood equations psi(alpha) - psi(alpha + beta) = mean ln s and the same of 1 - s, by Newton's method on
    (ln alpha, ln beta) from the moments. **Deviates**: none.

    Examples
    --------
    >>> beta = fit_likelihood([0.55, 0.6, 0.7, 0.75, 0.8])
    >>> round(beta.alpha, 3), round(beta.beta, 3)
    (17.049, 8.024)
    """
    s = _scores(scores)
    if np.ptp(s) <= _ROUNDING:
        return fit_moments(s)
    inside = np.clip(s, SCORE_FLOOR, 1.0 - SCORE_FLOOR)
    target = np.array([np.log(inside).mean(), np.log1p(-inside).mean()])
    start = fit_moments(inside)
    logs = np.log([start.alpha, start.beta])
    for _ in range(_STEPS):
        step = _newton_step(logs, target)
        logs = logs + step
        if np.abs(step).max() < 1e-13:
            break
    alpha, beta = np.exp(logs).tolist()
    return Beta(max(alpha, PARAMETER_FLOOR), max(beta, PARAMETER_FLOOR))


def _newton_step(logs: FloatArray, target: FloatArray) -> FloatArray:
    """One Newton step on the mean log-likelihood in (ln alpha, ln beta), limited to a factor e."""
    p = np.exp(logs)
    gradient = p * (target - special.digamma(p) + special.digamma(p.sum()))
    curvature = np.outer(p, p) * special.polygamma(1, p.sum()) - np.diag(p * p * special.polygamma(1, p))
    hessian = curvature + np.diag(gradient)
    if (
        np.linalg.eigvalsh(hessian).max() >= 0.0
    ):  # far from the maximum: the curvature in (alpha, beta) is always negative
        hessian = curvature
    step = -np.linalg.solve(hessian, gradient)
    return np.asarray(step / max(1.0, float(np.abs(step).max())), dtype=np.float64)
