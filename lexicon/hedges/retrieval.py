"""From a confidence to hedges: the nearest by 1-Wasserstein distance.

Two ways to the same ranking. RALC's: shortlist by the mean, rank the shortlist by W1. The direct one (`shortlist=None`): W1 is the
L1 distance of quantile vectors, so one flat search ranks the whole lexicon. Large lexicons are searched by FAISS (`shortlisting.py`). Both then measure what competes for the first k
places anew (`w1_refined`), so that the error of the vectors decides no rank.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...calibration import Beta
from ...calibration.arrays import FloatArray
from ...calibration.wasserstein import NODES, quantile_nodes
from ..errors import LexiconError
from .entries import Lexicon, Match, Register
from .quantiles import GRID_ERROR, crossings, query_nodes, w1_refined
from .shortlisting import l1_search

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

    def nearest(
        self, target: Beta, k: int = 5, *, register: Register | None = None, avoid: Collection[str] = frozenset()
    ) -> tuple[Match, ...]:
        """The k nearest hedges, best first.

        Parameters
        ----------
        target : Beta
            The confidence that the wording should convey.
        k : int
            How many, >= 1; fewer are returned where the lexicon has fewer.
        register : {"plain", "formal", "casual"}, optional
            The tone of the answer. Among near-ties a hedge of this register comes first.
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
        return self._remembered(target, k, register, frozenset(avoid))

    def _ranked(self, target: Beta, k: int, register: Register | None, avoid: frozenset[str]) -> tuple[Match, ...]:
        query = query_nodes(target)
        candidates, scores = self._candidates(target, query, k)
        reluctance = np.zeros(candidates.size)
        if register or avoid:
            reluctance += [self._reluctance(index, register, avoid) for index in candidates.tolist()]
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

    def _reluctance(self, index: int, register: Register | None, avoid: Collection[str]) -> float:
        """Distance added to a hedge that does not suit: less than a near-tie for its tone, a near-tie for being used lately."""
        hedge = self.hedges[index]
        if hedge.is_plain:
            return 0.0
        unsuited = register is not None and hedge.register != register
        return NEAR_TIE * (hedge.id in avoid) + NEAR_TIE / 2 * unsuited
