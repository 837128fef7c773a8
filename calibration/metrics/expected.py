"""Expected scores of one answer: Brier and log loss, the confidence being a distribution. One value per answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray, outcomes, parameters, same_shape


def _columns(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, ...]:
    return same_shape(
        alpha=parameters("alpha", alpha), beta=parameters("beta", beta), correct=outcomes("correct", correct)
    )


def expected_brier(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> FloatArray:
    """Expected Brier score E[(p - y)^2], p ~ Beta(alpha, beta), of each answer.

    Parameters
    ----------
    alpha, beta : array_like
        Finite, >= 1e-6.
    correct : array_like
        0 or 1.

    Returns
    -------
    ndarray of float64
        In [0, 1], lower = better; the mean over answers is the score of a model.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: RALC A.2.1: variance plus squared distance of the mean from y. **Deviates**: none in value.

    Examples
    --------
    >>> expected_brier([9.0, 9.0], [1.0, 1.0], [1, 0]).round(6).tolist()
    [0.018182, 0.818182]
    """
    a, b, y = _columns(alpha, beta, correct)
    k = a + b
    miss = np.where(y == 1.0, b / k, a / k)
    score: FloatArray = (a / k) * (b / k) / (k + 1.0) + miss * miss
    return score


def expected_nll(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> FloatArray:
    """Expected log loss E[-ln p(y)], p ~ Beta(alpha, beta), of each answer.

    Parameters and errors as for `expected_brier`.

    Returns
    -------
    ndarray of float64
        Nats, > 0, lower = better; up to 1e6 where the side that came true stands at the 1e-6 floor.

    Notes
    -----
    **Source**: RALC A.3: psi(alpha + beta) - psi(alpha) for y = 1, with beta for y = 0. **Deviates**: none. Where the other
    parameter is far below this one the difference of the digammas keeps an absolute, not a relative, 1e-15.

    Examples
    --------
    >>> expected_nll([9.0, 9.0], [1.0, 1.0], [1, 0]).round(6).tolist()
    [0.111111, 2.828968]
    """
    a, b, y = _columns(alpha, beta, correct)
    loss: FloatArray = special.digamma(a + b) - special.digamma(np.where(y == 1.0, a, b))
    return loss
