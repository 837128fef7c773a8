"""From a confidence to hedges: the nearest by 1-Wasserstein distance."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from calibration import Beta
from lexicon.entries import Lexicon, Match, Register

_X, _W = np.polynomial.legendre.leggauss(64)


def quantile_nodes(alpha: NDArray[np.float64] | float, beta: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Stand-in until calibration has it."""
    nodes = betaincinv(np.asarray(alpha)[..., None], np.asarray(beta)[..., None], (_X + 1) / 2) * _W / 2
    return np.asarray(nodes)


class Retriever:
    """Ranks the hedges of a lexicon for a target Beta."""

    NEAR_TIE = 0.02

    def __init__(self, lexicon: Lexicon, shortlist: int = 30) -> None:
        import faiss

        self.hedges = tuple(hedge for hedge in lexicon if hedge.is_sayable)
        self.shortlist = shortlist
        a = np.array([hedge.beta.alpha for hedge in self.hedges])
        b = np.array([hedge.beta.beta for hedge in self.hedges])
        self._nodes = quantile_nodes(a, b)
        self._means = faiss.IndexFlatL2(1)
        self._means.add((a / (a + b)).astype(np.float32)[:, None])

    def nearest(
        self, target: Beta, k: int = 5, *, register: Register | None = None, avoid: Collection[str] = frozenset()
    ) -> tuple[Match, ...]:
        """The k nearest hedges, best first."""
        count = min(max(self.shortlist, k), len(self.hedges))
        _, found = self._means.search(np.array([[target.mean]], np.float32), count)
        distances = np.abs(self._nodes[found[0]] - quantile_nodes(target.alpha, target.beta)).sum(1)
        rank = []
        for index, distance in zip(found[0], distances, strict=True):
            hedge = self.hedges[index]
            penalty = 0.0
            if not hedge.is_plain:
                penalty = self.NEAR_TIE * (hedge.id in avoid) + self.NEAR_TIE / 2 * (
                    register is not None and hedge.register != register
                )
            rank.append((float(distance) + penalty, int(index), float(distance)))
        return tuple(Match(self.hedges[index], distance) for _, index, distance in sorted(rank)[:k])
