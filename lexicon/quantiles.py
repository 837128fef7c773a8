"""Quantile vectors of a target within microseconds, and the exact distance of the few hedges that compete for the answer.

`calibration.wasserstein` is the reference for both; what is here trades a stated and tested error for time.
"""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray
from scipy import special

from calibration import Beta
from calibration.wasserstein import NODES, quantile_nodes

Floats = NDArray[np.float64]

GRID_ERROR = 5e-5
"""Bound on the L1 distance, hence on W1, between an interpolated vector and `quantile_nodes`."""

_LOGIT = np.linspace(-5.0, 5.0, 65)
_LOG_CONCENTRATION = np.linspace(log(0.5), log(500.0), 33)


@cache
def _grid() -> Floats:
    """Quantile vectors on the grid, shape (65, 33, 64). Made once a process: a fifth of a second."""
    mean = special.expit(_LOGIT)[:, None]
    concentration = np.exp(_LOG_CONCENTRATION)[None, :]
    return quantile_nodes(mean * concentration, (1.0 - mean) * concentration)


@cache
def quadrature_weights() -> Floats:
    """What `quantile_nodes` multiplies quantiles by, shape (64,)."""
    weights: Floats = np.polynomial.legendre.leggauss(NODES)[1] / 2.0
    return weights


def prepare() -> None:
    """Make the grid now and not at the first query."""
    _grid()


def query_nodes(target: Beta) -> Floats:
    """`quantile_nodes` of one Beta, interpolated where the grid reaches.

    Parameters
    ----------
    target : Beta

    Returns
    -------
    ndarray of float64, shape (64,)
        Within 5e-5 of `quantile_nodes` in L1 for means from .0067 to .9933 and concentrations from 0.5 to 500; the very same
        outside.

    Notes
    -----
    Cubic Lagrange interpolation in (logit of the mean, log concentration), where quantiles are smooth: a tenth of the time of
    64 inverse incomplete beta functions.
    """
    row = _place(log(target.alpha / target.beta), _LOGIT)
    column = _place(log(target.alpha + target.beta), _LOG_CONCENTRATION)
    if row is None or column is None:
        return quantile_nodes(target.alpha, target.beta)
    (i, across), (j, along) = row, column
    weights = (across[:, None] * along).ravel()
    nodes: Floats = weights @ _grid()[i : i + 4, j : j + 4].reshape(16, -1)
    return nodes


def _place(x: float, axis: Floats) -> tuple[int, Floats] | None:
    """The first of four grid lines around x, and their cubic weights; None outside the grid."""
    start, step = float(axis[0]), float(axis[1] - axis[0])
    if not start <= x <= float(axis[-1]):
        return None
    at = (x - start) / step
    first = min(max(int(at), 1), axis.size - 3) - 1
    f = at - first - 1.0
    return first, np.array(
        [
            -f * (f - 1) * (f - 2) / 6,
            (f + 1) * (f - 1) * (f - 2) / 2,
            -(f + 1) * f * (f - 2) / 2,
            (f + 1) * f * (f - 1) / 6,
        ]
    )


def crossings(nodes: Floats, target: Floats) -> list[float]:
    """Where quantile functions cross the target's: linearly between the two nodes whose partial sums stand out most.

    Parameters
    ----------
    nodes : ndarray of shape (n, 64)
        Vectors by `quantile_nodes`.
    target : ndarray of shape (64,)
        An interpolated vector will do.
    """
    apart = nodes - target
    sums = apart.cumsum(axis=1)
    left = np.abs(sums - sums[:, -1:] / 2.0).argmax(axis=1).tolist()
    weights = quadrature_weights()
    found = []
    for row, at in enumerate(left):
        i = min(at, NODES - 2)
        w0, w1 = weights.item(i), weights.item(i + 1)
        before, after = apart.item(row, i) / w0, apart.item(row, i + 1) / w1
        low, high = nodes.item(row, i) / w0, nodes.item(row, i + 1) / w1
        share = before / (before - after) if before * after < 0.0 else 0.5
        found.append(low + share * (high - low))
    return found


def w1_polished(hedge: Beta, target: Beta, crossing: float) -> float:
    """W1 of two Betas from where their quantile functions cross.

    Parameters
    ----------
    hedge, target : Beta
    crossing : float
        From `crossings`; not looked at where they do not cross.

    Returns
    -------
    float
        At most 1e-4 below `calibration.wasserstein.w1_exact` (99 times in 100 less than 1e-5), and above it by rounding alone.

    Notes
    -----
    W1 is the maximum over c of |2 G(c) - shift| (see `w1_exact`) and flat there: an error of the crossing enters squared. One
    evaluation replaces 48 bisections. G needs the partial mean, I(alpha + 1, beta) = I(alpha, beta) less a power term (DLMF 8.17.20).
    """
    shift = target.mean - hedge.mean
    if (hedge.alpha - target.alpha) * (hedge.beta - target.beta) <= 0.0 or not 0.0 < crossing < 1.0:
        return abs(shift)
    area = _area(hedge, crossing) - _area(target, crossing)
    # A crossing far out in a tail lies beyond the nodes; the distance of the means, a lower bound, is then the better figure.
    return max(abs(shift), abs(2.0 * area - shift))


def _area(beta: Beta, at: float) -> float:
    """The integral of the distribution function over [0, at]."""
    a, b = beta.alpha, beta.beta
    power = a * log(at) + b * log1p(-at) + lgamma(a + b) - lgamma(a) - lgamma(b)
    return (at - beta.mean) * float(special.betainc(a, b, at)) + exp(power) / (a + b)
