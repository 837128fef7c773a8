"""From a confidence to hedges: the nearest by 1-Wasserstein distance.

Two ways to the same ranking. RALC's: shortlist by the mean, rank the shortlist by W1. The direct one (`shortlist=None`): W1 is the
L1 distance of quantile vectors, so one flat search ranks the whole lexicon. Large lexicons are searched by FAISS (`shortlisting.py`). Both then measure what competes for the first k
places anew (`w1_refined`), so that the error of the vectors decides no rank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache, lru_cache, partial
from math import exp, lgamma, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.special import cython_special

from ...calibration import Beta
from ...calibration.arrays import FloatArray
from ...calibration.wasserstein import NODES, quantile_nodes
from ..errors import LexiconError
from .entries import Lexicon, Match

# Quantile vectors of a target within microseconds, and exact distances for the few best hedges.
#
# `hedgerow.calibration.wasserstein` is the reference for both; this module is faster, with a stated and tested error.

GRID_ERROR = 5e-5
"""Bound on the L1 distance, hence on W1, between an interpolated vector and `quantile_nodes`."""

_LOGIT = (-5.0, 5.0, 65)
_LOG_CONCENTRATION = (log(0.5), log(500.0), 33)
"""First line, last line and number of lines of the grid's two axes."""


@lru_cache(maxsize=512)
def _around(i: int, j: int) -> FloatArray:
    """Quantile vectors at 4 x 4 grid points from row i and column j on, shape (16, 64).

    Made when a query first comes near: the whole grid would take a fifth of a second, and most of it is never asked for.
    """
    mean = special.expit(np.linspace(*_LOGIT)[i : i + 4])[:, None]
    concentration = np.exp(np.linspace(*_LOG_CONCENTRATION)[j : j + 4])
    return quantile_nodes((mean * concentration).ravel(), ((1.0 - mean) * concentration).ravel())


@cache
def _weights() -> list[float]:
    """The weights by which `quantile_nodes` multiplies quantiles."""
    weights: list[float] = (np.polynomial.legendre.leggauss(NODES)[1] / 2.0).tolist()
    return weights


def query_nodes(target: Beta) -> FloatArray:
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
    row = _place(log(target.alpha / target.beta), *_LOGIT)
    column = _place(log(target.alpha + target.beta), *_LOG_CONCENTRATION)
    if row is None or column is None:
        return quantile_nodes(target.alpha, target.beta)
    (i, across), (j, along) = row, column
    nodes: FloatArray = np.array([x * y for x in across for y in along]) @ _around(i, j)
    return nodes


def _place(x: float, start: float, stop: float, count: int) -> tuple[int, tuple[float, float, float, float]] | None:
    """The first of four grid lines around x, and their cubic weights; None outside the grid."""
    if not start <= x <= stop:
        return None
    at = (x - start) * (count - 1) / (stop - start)
    first = min(max(int(at), 1), count - 3) - 1
    f = at - first - 1.0
    before, after, beyond = f + 1.0, f - 1.0, f - 2.0
    return first, (
        -f * after * beyond / 6.0, before * after * beyond / 2.0, -before * f * beyond / 2.0, before * f * after / 6.0
    )  # fmt: skip


def crossings(nodes: FloatArray, apart: FloatArray) -> list[float]:
    """Where quantile functions cross the target's: linearly between the two nodes whose partial sums stand out most.

    Parameters
    ----------
    nodes : ndarray of shape (n, 64)
        Vectors by `quantile_nodes`.
    apart : ndarray of shape (n, 64)
        `nodes` less the target's vector; an interpolated one will do.

    Returns
    -------
    list of n floats
        In [0, 1], also where nothing crosses.
    """
    weights = _weights()
    sums = apart.cumsum(axis=1)
    places = []
    for row, at in enumerate(np.abs(sums - sums[:, -1:] / 2.0).argmax(axis=1).tolist()):
        i = min(at, NODES - 2)
        w0, w1 = weights[i], weights[i + 1]
        before, after = apart.item(row, i) / w0, apart.item(row, i + 1) / w1
        low, high = nodes.item(row, i) / w0, nodes.item(row, i + 1) / w1
        share = before / (before - after) if before * after < 0.0 else 0.5
        places.append(low + share * (high - low))
    return places


def w1_refined(hedge: Beta, target: Beta, crossing: float) -> float:
    """W1 of two Betas, from where their quantile functions cross.

    Parameters
    ----------
    hedge, target : Beta
    crossing : float
        From `crossings`; not looked at where nothing crosses.

    Returns
    -------
    float
        At most 1e-4 below `hedgerow.calibration.wasserstein.w1_exact` (99 times in 100 less than 1e-5), and above it by rounding alone.
        The former figures are the worst seen for concentrations from 0.5 to 500, the latter is proven.

    Notes
    -----
    W1 is the maximum over c of |2 G(c) - shift| (see `w1_exact`), so that any c gives a lower bound, and it is flat there: an error
    of the crossing enters squared. One evaluation replaces 48 bisections. |shift|, the distance of the means, is the bound from
    c = 0; it is the distance itself where nothing crosses, and the better bound where the crossing lies beyond the outermost nodes.
    """
    shift = target.mean - hedge.mean
    if (hedge.alpha - target.alpha) * (hedge.beta - target.beta) <= 0.0 or not 0.0 < crossing < 1.0:
        return abs(shift)
    powers = log(crossing), log1p(-crossing)
    area = _area(hedge.alpha, hedge.beta, crossing, *powers) - _area(target.alpha, target.beta, crossing, *powers)
    return max(abs(shift), abs(2.0 * area - shift))


def _area(a: float, b: float, at: float, log_at: float, log_rest: float) -> float:
    """The integral of the distribution function over [0, at].

    It needs the partial mean: I(alpha + 1, beta) is I(alpha, beta) less a power term (DLMF 8.17.20).
    """
    k = a + b
    power = exp(a * log_at + b * log_rest + lgamma(k) - lgamma(a) - lgamma(b))
    below: float = cython_special.betainc(float(a), float(b), at)  # scalar: a tenth of the ufunc's overhead
    return (at - a / k) * below + power / k


# The nearest of many vectors by L1 distance: by FAISS where there are many, by numpy where there are few.

Search = Callable[[FloatArray, int], tuple[NDArray[np.int64], NDArray[np.float32]]]
"""(query of shape (d,), count) -> indices of so many of the nearest vectors, and their distances, in any order."""

FAISS_FROM = 2_000
"""Vectors from which on FAISS searches. Below, numpy takes at most 50 microseconds longer for a search, and the process neither imports
FAISS (10 MB, 25 ms) nor keeps an index; from 5,000 on FAISS is twenty times as fast (benchmarks/performance/retrieval.py)."""


def l1_search(vectors: FloatArray, faiss_from: int = FAISS_FROM) -> Search:
    """A search among vectors.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        n, d >= 1; compared with single precision.
    faiss_from : int
        Vectors from which on FAISS searches.
    """
    singles = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(singles) < faiss_from:
        return partial(_by_numpy, singles)
    import faiss

    faiss.omp_set_num_threads(1)  # one query at a time: waking threads costs a thousand times the search
    dimensions = singles.shape[1]
    index = faiss.IndexFlat1D() if dimensions == 1 else faiss.IndexFlat(dimensions, faiss.METRIC_L1)
    index.add(singles)
    return partial(_by_faiss, index)


def _by_numpy(
    vectors: NDArray[np.float32], query: FloatArray, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    distances = np.abs(vectors - query.astype(np.float32)).sum(axis=1)
    nearest = np.argsort(distances, kind="stable")[:count]
    return nearest, distances[nearest]


def _by_faiss(index: Any, query: FloatArray, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    distances, nearest = index.search(query.astype(np.float32)[None, :], min(count, index.ntotal))
    return nearest[0], distances[0]


NEAR_TIE = 0.02
"""W1 below which two hedges are as good as each other: readers of one phrase differ by six times as much."""

SPARE = 24
"""Candidates fetched beyond k, so that a near-tie outside the first k can still be preferred."""

NODE_ERROR = 2.5e-4 + GRID_ERROR
"""Error of the distance of two vectors, of the quadrature and of the query's interpolation: the worst seen in 12,000 pairs whose
concentrations are 0.5 or more (`quantile_nodes` has the figures)."""

FLAT_ERROR = 0.03
"""The same below a concentration of 0.5, where the mass sits in the ends of [0, 1] and the quadrature is coarse: 0.022 was seen."""

FLAT = 0.5
"""Concentration below which a Beta is one of those."""

REMEMBERED = 512
"""Rankings that a retriever keeps: confidences that are shares of so many answers come again and again."""

_ONES = np.ones(NODES)


class Retriever:
    """Ranks the hedges of a lexicon for a target Beta. Safe to share between threads.

    Parameters
    ----------
    lexicon : Lexicon
        Hedges without frames are left out: they are only read.
    shortlist : int or None
        How many hedges, nearest by mean, are ranked by W1 (RALC 4.2: 30). None: all of them, by one search.

    Raises
    ------
    LexiconError
        If no hedge of the lexicon can be said, or the shortlist is below 1.

    Notes
    -----
    **Source**: RALC 4.2 and D.5 (k = 5). **Deviates**: W1 by quadrature instead of Monte Carlo (deterministic, and two orders
    nearer to the truth).
    """

    def __init__(self, lexicon: Lexicon, shortlist: int | None = 30) -> None:
        self.hedges = tuple(hedge for hedge in lexicon if hedge.is_sayable)
        if not self.hedges:
            raise LexiconError("no hedge of the lexicon has a frame, so none can be retrieved")
        if shortlist is not None and shortlist < 1:
            raise LexiconError(f"the shortlist must hold one hedge at least, got {shortlist}")
        self.shortlist = shortlist
        alpha = np.array([hedge.beta.alpha for hedge in self.hedges])
        beta = np.array([hedge.beta.beta for hedge in self.hedges])
        self._nodes = quantile_nodes(alpha, beta)
        self._flat = bool((alpha + beta).min() < FLAT)
        self._search = l1_search(self._nodes if shortlist is None else (alpha / (alpha + beta))[:, None])
        self._remembered = lru_cache(REMEMBERED)(self._ranked)

    def nearest(self, target: Beta, k: int = 5, *, avoid: Collection[str] = frozenset()) -> tuple[Match, ...]:
        """The k nearest hedges, best first.

        Parameters
        ----------
        target : Beta
            The confidence that the wording should convey.
        k : int
            How many, >= 1; fewer are returned where the lexicon has fewer.
        avoid : collection of str
            Ids used lately in the conversation: among near-ties they come last, because people tire of one formula. The plain
            assertion is not a formula and is never avoided.

        Returns
        -------
        tuple of Match
            `distance` is W1 to the target; preferences move the order by at most 0.03 of it and never the distance.

        Raises
        ------
        LexiconError
            If k < 1.
        """
        if k < 1:
            raise LexiconError(f"k must be >= 1, got {k}")
        return self._remembered(target, k, frozenset(avoid))

    def _ranked(self, target: Beta, k: int, avoid: frozenset[str]) -> tuple[Match, ...]:
        query = query_nodes(target)
        candidates, scores = self._candidates(target, query, k)
        reluctance = np.zeros(candidates.size)
        if avoid:
            reluctance += [self._reluctance(index, avoid) for index in candidates.tolist()]
            scores = scores + reluctance
        last = sorted(scores.tolist())[min(k, candidates.size) - 1]
        competing = (scores <= last + 2 * self._error(target)).nonzero()[0]
        chosen = candidates[competing].tolist()
        nodes = self._nodes[chosen]
        places = crossings(nodes, nodes - query)
        ranked = []
        for index, place, loath in zip(chosen, places, reluctance[competing].tolist(), strict=True):
            distance = round(w1_refined(self.hedges[index].beta, target, place), 9)
            ranked.append((distance + loath, index, distance))
        return tuple(Match(self.hedges[index], distance) for _, index, distance in sorted(ranked)[:k])

    def _error(self, target: Beta) -> float:
        """How much a distance of two vectors may be wrong."""
        return FLAT_ERROR if self._flat or target.concentration < FLAT else NODE_ERROR

    def _candidates(self, target: Beta, query: FloatArray, k: int) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
        """Indices of the hedges that are worth ranking, and their W1 by vectors."""
        if self.shortlist is None:
            return self._search(query, k + SPARE)
        nearest, _ = self._search(np.array([target.mean]), max(self.shortlist, k))
        return nearest, np.abs(self._nodes[nearest] - query) @ _ONES

    def _reluctance(self, index: int, avoid: Collection[str]) -> float:
        """Distance added to a hedge: a near-tie for being used lately."""
        hedge = self.hedges[index]
        return NEAR_TIE if hedge.id in avoid and not hedge.is_plain else 0.0
