"""Selects the hedges that a route may write, by voice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ...calibration import Beta
from ...lexicon import Hedge, Lexicon, Match, Retriever, offered
from ...lexicon.hedges.entries import Voice
from ...lexicon.hedges.retrieval import NEAR_TIE

RETRIEVED = 5
"""Number of retrieved hedges (RALC 5.3.1)."""
SPEAKERS: dict[str, tuple[Voice, ...]] = {
    "auto": ("impersonal", "first_person"),
    "first_person": ("first_person",),
    "impersonal": ("impersonal",),
}
"""Who may speak, by the route's voice."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The hedges that a route may use."""

    retriever: Retriever

    @classmethod
    def of(cls, lexicon: Lexicon, voice: Literal["auto", "first_person", "impersonal"] = "auto") -> Choice:
        """The choice for a route's settings and its lexicon.

        Raises:
            LexiconError: no hedge is left.
        """
        return cls(Retriever(offered(lexicon, voices=SPEAKERS[voice])))

    @property
    def hedges(self) -> tuple[Hedge, ...]:
        """All of them."""
        return self.retriever.hedges

    def nearest(self, target: Beta, k: int, avoid: Collection[str] = frozenset()) -> tuple[Match, ...]:
        """The k nearest hedges for a target, best first; those in `avoid` are left out where another is about as near."""
        matches = self.retriever.nearest(target, k, avoid=avoid)
        fresh = tuple(match for match in matches if match.hedge.id not in avoid)
        return fresh if fresh and fresh[0].distance <= matches[0].distance + NEAR_TIE else matches
