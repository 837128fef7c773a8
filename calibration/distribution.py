"""Beta distributions in arrays: moments, quantiles, distribution function, KL divergence.

Every function broadcasts over (alpha, beta) and checks its arguments; the value for a single answer is `Beta`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .arrays import FloatArray, parameters, probabilities, same_shape


def _betas(alpha: ArrayLike, beta: ArrayLike) -> tuple[FloatArray, FloatArray]:
    a, b = same_shape(alpha=parameters("alpha", alpha), beta=parameters("beta", beta))
    return a, b


def means(alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
    """Means alpha / (alpha + beta), in (0, 1); higher = more confident.

    Raises
    ------
    RangeError
        If a parameter is not finite or below 1e-6. (So for every function of this module.)
    ShapeError
        If the shapes do not fit together. (So for every function of this module.)

    Examples
    --------
    >>> means([9.0, 1.0], [1.0, 1.0]).tolist()
    [0.9, 0.5]
    """
    a, b = _betas(alpha, beta)
    return a / (a + b)


def variances(alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
    """Variance, in (0, 1/4): m (1 - m) / (k + 1), the factors taken without subtraction.

    Examples
    --------
    >>> variances(1.0, 1.0).round(6).tolist()
    0.083333
    """
    a, b = _betas(alpha, beta)
    k = a + b
    return (a / k) * (b / k) / (k + 1.0)


def cdf(x: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
    """P(p <= x), the regularised incomplete beta function I_x(alpha, beta) (scipy's, which is Boost's).

    Parameters
    ----------
    x : array_like
        In [0, 1].
    alpha, beta : array_like
        Finite, >= 1e-6.
    """
    points, a, b = same_shape(x=probabilities("x", x), alpha=parameters("alpha", alpha), beta=parameters("beta", beta))
    return np.asarray(special.betainc(a, b, points), dtype=np.float64)


def quantiles(u: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> FloatArray:
    """The x with P(p <= x) = u; `u` in [0, 1].

    Examples
    --------
    >>> quantiles([0.05, 0.5, 0.95], 9.0, 1.0).round(4).tolist()
    [0.7169, 0.9259, 0.9943]
    """
    levels, a, b = same_shape(u=probabilities("u", u), alpha=parameters("alpha", alpha), beta=parameters("beta", beta))
    return np.asarray(special.betaincinv(a, b, levels), dtype=np.float64)


def kl_divergence(alpha1: ArrayLike, beta1: ArrayLike, alpha2: ArrayLike, beta2: ArrayLike) -> FloatArray:
    """KL(Beta(alpha1, beta1) || Beta(alpha2, beta2)), nats, >= 0; 0 where the two are equal.

    Notes
    -----
    **Source**: RALC 3.2. The Beta is an exponential family, so the divergence is the Bregman divergence of ln B:
    D(alpha1, alpha2) + D(beta1, beta2) - D(k1, k2) with D(x, y) = ln Gamma(y) - ln Gamma(x) - psi(x)(y - x) >= 0.

    **Deviates**: for |y - x| <= x / 2 each D is (y - x)^2 times a quadrature of (1 - s) psi'(x + s(y - x)) over [0, 1],
    which keeps the digits that the difference of ln Gammas loses. Two distributions of one mean and of concentrations k and
    k' still subtract like terms: about log10(k) digits are lost there, and what comes out below 0 is 0.

    Examples
    --------
    >>> kl_divergence(10.0, 1.0, 9.0, 1.0).round(7).tolist()
    0.0053605
    """
    a1, b1, a2, b2 = same_shape(
        alpha1=parameters("alpha1", alpha1),
        beta1=parameters("beta1", beta1),
        alpha2=parameters("alpha2", alpha2),
        beta2=parameters("beta2", beta2),
    )
    divergence = _bregman(a1, a2) + _bregman(b1, b2) - _bregman(a1 + b1, a2 + b2)
    return np.maximum(divergence, 0.0).reshape(a1.shape)


def _bregman(x: FloatArray, y: FloatArray) -> FloatArray:
    """The difference ln Gamma(y) - ln Gamma(x) - psi(x)(y - x)."""
    x, y = np.atleast_1d(x), np.atleast_1d(y)
    step = y - x
    direct = special.gammaln(y) - special.gammaln(x) - special.digamma(x) * step
    nodes, weights = special.roots_legendre(16)
    s, w = (nodes + 1.0) / 2.0, weights / 2.0
    near = np.abs(step) <= 0.5 * x
    points = x[near, None] + step[near, None] * s
    direct[near] = step[near] ** 2 * (special.zeta(2.0, points) @ (w * (1.0 - s)))
    return direct
