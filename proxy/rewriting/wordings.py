"""Selects the hedges that a route may write, by voice and tone."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ...calibration import Beta
from ...lexicon import Hedge, Lexicon, Match, Register, Retriever, offered
from ...lexicon.hedges.entries import Voice
from ...lexicon.hedges.offered import Wordings
from ...lexicon.hedges.retrieval import NEAR_TIE

Tone = Literal["neutral", "formal", "casual"]
SPEAKERS: dict[str, tuple[Voice, ...]] = {
    "auto": ("impersonal", "first_person"),
    "first_person": ("first_person",),
    "impersonal": ("impersonal",),
}
"""Who may speak, by the route's voice."""

_TONES: dict[Tone, tuple[Register, ...] | None] = {
    "neutral": None,
    "formal": ("plain", "formal"),
    "casual": ("plain", "formal", "casual"),
}
_PREFERRED: dict[Tone, Register] = {"neutral": "plain", "formal": "formal", "casual": "casual"}


@dataclass(frozen=True, slots=True)
class Choice:
    """The hedges that a route may use, and the tone preferred among about equally near ones."""

    retriever: Retriever
    register: Register

    @classmethod
    def of(
        cls,
        lexicon: Lexicon,
        *,
        wordings: Wordings = "vetted",
        voice: Literal["auto", "first_person", "impersonal"] = "auto",
        tone: Tone = "neutral",
        registers: Collection[Register] | None = None,
        never: Collection[str] | None = None,
        boosters: bool = False,
        shortlist: int | None = 30,
    ) -> Choice:
        """The choice for a route's settings and its lexicon.

        Raises:
            LexiconError: no hedge is left.
        """
        hedges = offered(
            lexicon,
            wordings=wordings,
            voices=SPEAKERS[voice],
            boosters=boosters,
            registers=registers or _TONES[tone],
            never=never,
        )
        return cls(Retriever(hedges, shortlist), _PREFERRED[tone])

    @property
    def hedges(self) -> tuple[Hedge, ...]:
        """All of them."""
        return self.retriever.hedges

    def nearest(self, target: Beta, k: int, avoid: Collection[str] = frozenset()) -> tuple[Match, ...]:
        """The k nearest hedges for a target, best first; those in `avoid` are left out where another is about as near."""
        matches = self.retriever.nearest(target, k, register=self.register, avoid=avoid)
        fresh = tuple(match for match in matches if match.hedge.id not in avoid)
        return fresh if fresh and fresh[0].distance <= matches[0].distance + NEAR_TIE else matches
