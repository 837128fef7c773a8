"""The 1-Wasserstein distance between two Betas: exactly, and as the L1 distance of two short vectors.

`w1_exact` is the reference and ranks what a search has shortlisted. `quantile_nodes` turns a Beta into 64 numbers whose plain
L1 distance is W1 within 2.5e-4 for concentrations of 0.5 and more (the worst seen; below, it errs by more): the lexicon stores its
entries so, and an index can search them. The Monte Carlo estimate
of the paper errs by up to .023 with 1,000 samples.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .arrays import FloatArray, parameters, same_shape
from .errors import RangeError

NODES = 64
"""Quantile nodes stored for a Beta."""

_BISECTIONS = 48
"""Number of bisections of [0, 1].

W1 is flat at the crossing (its derivative there is 0), so even 20 leave an error of only 5e-9.
"""


@lru_cache(maxsize=8)
def _gauss_legendre(count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights on [0, 1]; read-only."""
    x, w = np.polynomial.legendre.leggauss(count)
    levels, weights = (x + 1.0) / 2.0, w / 2.0
    levels.setflags(write=False)
    weights.setflags(write=False)
    return levels, weights


def quantile_nodes(alpha: ArrayLike, beta: ArrayLike, *, count: int = NODES) -> FloatArray:
    """Quantiles at Gauss-Legendre nodes times the quadrature weights: the plain L1 distance of two such vectors is W1.

    Parameters
    ----------
    alpha, beta : float or array_like, broadcastable to shape (...)
        Finite, >= 1e-6.
    count : int
        Nodes, >= 1. The bound below holds for 64.

    Returns
    -------
    ndarray of float64, shape (..., count)
        In [0, 1]; the sum of a vector approximates the mean.

    Raises
    ------
    RangeError
        If a parameter is not finite or below 1e-6, or count < 1.
    ShapeError
        If the shapes do not fit together.

    Notes
    -----
    **Source**: W1 on the line is the integral over u in [0, 1] of |Q1(u) - Q2(u)| (Vallender 1974). RALC 4.2 estimates it by
    Monte Carlo; that is what we deviate from. Measured on 2,000 random pairs, a quarter of each side with a parameter at 1e-6,
    twice: concentrations drawn evenly from 0.5 to 500 err by at most 9e-5 and 9e-5 (equally weighted mid-points: 5e-4 and 8e-4),
    drawn evenly in their logarithm by 1.6e-4 and 2.4e-4 (mid-points: 2.5e-3). The error grows as concentrations fall: up to 1e-3
    for 0.1 to 0.5, 8e-3 for 0.01 to 0.1 and 0.022 below. These are the worst seen, not proven bounds. Substitutions that crowd
    the nodes at both ends have a smaller median error and a larger worst one.

    **Used**: by the lexicon to store its entries and to search them. `w1_exact` is the reference.

    Examples
    --------
    >>> nodes = quantile_nodes([8.0, 2.0], [2.0, 8.0])
    >>> nodes.shape
    (2, 64)
    >>> round(float(abs(nodes[0] - nodes[1]).sum()), 4)
    0.6
    """
    if count < 1:
        raise RangeError(f"count must be >= 1, got {count!r}")
    a, b = same_shape(alpha=parameters("alpha", alpha), beta=parameters("beta", beta))
    levels, weights = _gauss_legendre(count)
    nodes: FloatArray = special.betaincinv(a[..., None], b[..., None], levels) * weights
    return nodes


def w1_nodes(nodes1: FloatArray, nodes2: FloatArray) -> FloatArray:
    """W1 of Betas given by `quantile_nodes`: L1 distance over the last axis, broadcasting over the others. In [0, 1].

    Examples
    --------
    >>> lexicon, target = quantile_nodes([8.0, 5.0, 2.0], [2.0, 5.0, 8.0]), quantile_nodes(7.0, 3.0)
    >>> w1_nodes(lexicon, target).round(4).tolist()
    [0.1, 0.2, 0.5]
    """
    return np.asarray(np.abs(nodes1 - nodes2).sum(axis=-1))


def w1_exact(alpha1: ArrayLike, beta1: ArrayLike, alpha2: ArrayLike, beta2: ArrayLike) -> FloatArray:
    """W1 between two Betas from the crossing of their distribution functions; broadcasts over all four arguments.

    Parameters
    ----------
    alpha1, beta1, alpha2, beta2 : float or array_like, broadcastable
        Finite, >= 1e-6.

    Returns
    -------
    ndarray of float64
        In [0, 1]; smaller = nearer. Shape () for four scalars.

    Raises
    ------
    RangeError
        If a parameter is not finite or below 1e-6.
    ShapeError
        If the shapes do not fit together.

    Notes
    -----
    **Source**: W1 is the integral of |F1 - F2|. F1 - F2 has one zero c inside (0, 1) if and only if
    (alpha1 - alpha2)(beta1 - beta2) > 0, because the ratio of the densities is then unimodal. Without one
    W1 = |mean1 - mean2|; with it W1 = |2 G(c) - (mean2 - mean1)|, where G is the integral of F1 - F2 from 0.

    **Deviates**: from RALC 4.2, which samples. Absolute error under 1e-10 for concentrations up to 1e6.

    Examples
    --------
    >>> round(float(w1_exact(8.0, 2.0, 2.0, 8.0)), 12)
    0.6
    >>> w1_exact(3.0, [3.0, 6.0], 300.0, 300.0).round(4).tolist()
    [0.14, 0.1828]
    """
    a1, b1, a2, b2 = same_shape(
        alpha1=parameters("alpha1", alpha1),
        beta1=parameters("beta1", beta1),
        alpha2=parameters("alpha2", alpha2),
        beta2=parameters("beta2", beta2),
    )
    shift = a2 / (a2 + b2) - a1 / (a1 + b1)
    distance = np.atleast_1d(np.abs(shift)).copy()
    crosses = np.atleast_1d((a1 - a2) * (b1 - b2) > 0.0)
    if crosses.any():
        p = tuple(np.atleast_1d(x)[crosses] for x in (a1, b1, a2, b2))
        distance[crosses] = np.abs(2.0 * _integral(_crossing(*p), *p) - np.atleast_1d(shift)[crosses])
    return distance.reshape(shift.shape)


def _crossing(a1: FloatArray, b1: FloatArray, a2: FloatArray, b2: FloatArray) -> FloatArray:
    """Where F1 = F2 inside (0, 1). Below it the distribution with the smaller alpha has more mass."""
    low, high = np.zeros(a1.shape), np.ones(a1.shape)
    sign = np.where(a1 < a2, 1.0, -1.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        f1, f2 = special.betainc(a1, b1, middle), special.betainc(a2, b2, middle)
        # above the medians the difference of the upper tails is more precise; where both functions are 0 or 1, move inwards
        upper = special.betaincc(a2, b2, middle) - special.betaincc(a1, b1, middle)
        difference = np.where(f1 + f2 > 1.0, upper, f1 - f2)
        right = np.where(difference == 0.0, f1 + f2 < 1.0, sign * difference > 0.0)
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return (low + high) / 2.0


def _integral(c: FloatArray, a1: FloatArray, b1: FloatArray, a2: FloatArray, b2: FloatArray) -> FloatArray:
    """G(c), the integral of F1 - F2 over [0, c]."""
    first = c * special.betainc(a1, b1, c) - a1 / (a1 + b1) * special.betainc(a1 + 1.0, b1, c)
    second = c * special.betainc(a2, b2, c) - a2 / (a2 + b2) * special.betainc(a2 + 1.0, b2, c)
    difference: FloatArray = first - second
    return difference
