"""Selects the hedges of a route by voice and tone; first-person hedges where the answer speaks in the first person."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ...calibration import Beta
from ...lexicon import Lexicon, Match, Register, Retriever, offered
from ...lexicon.hedges.entries import Voice
from ...lexicon.hedges.offered import Wordings
from ...lexicon.hedges.retrieval import NEAR_TIE
from ...lexicon.text.opaque import masked

Tone = Literal["neutral", "formal", "casual"]

_TONES: dict[Tone, tuple[Register, ...] | None] = {
    "neutral": None,
    "formal": ("plain", "formal"),
    "casual": ("plain", "formal", "casual"),
}
_PREFERRED: dict[Tone, Register] = {"neutral": "plain", "formal": "formal", "casual": "casual"}
_SPEAKS = re.compile(
    r"(?<![\w.] )(?<![\w.])I(?:['’](?:m|ve|d|ll)\b| (?:am|was|have|had|think|believe|know|can|could|would|will|do|don|did|cannot|guess|suspect|recall|"
    r"remember|understand|found|see|say|need|want|should|might|may)\b)|\b[Mm]y (?:best |own )?(?:guess|knowledge|understanding|opinion|view|answer|memory)\b"
)
_LOOKED_AT = 2_000
"""Number of characters of an answer that are searched for the first person."""


def speaks_in_first_person(answer: str) -> bool:
    """Whether the answer speaks in the first person, outside quotations.

    >>> speaks_in_first_person("I think it was Pinter."), speaks_in_first_person("Francis I was king."), speaks_in_first_person('"I am" ends it.')
    (True, False, False)
    """
    return _SPEAKS.search(masked(answer[:_LOOKED_AT])) is not None


@dataclass(frozen=True, slots=True)
class Choice:
    """The hedges that a route may use, and the tone preferred among about equally near ones.

    Attributes:
        usual: for answers that do not say "I".
        spoken: for those that do.
    """

    usual: Retriever
    spoken: Retriever
    register: Register

    @classmethod
    def of(
        cls,
        lexicon: Lexicon,
        *,
        wordings: Wordings = "vetted",
        voice: Voice = "impersonal",
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
        tones = registers or _TONES[tone]

        def retriever(*voices: Voice) -> Retriever:
            hedges = offered(lexicon, wordings=wordings, voices=voices, boosters=boosters, registers=tones, never=never)
            return Retriever(hedges, shortlist)

        if voice == "first_person":
            spoken = retriever("first_person")
            return cls(spoken, spoken, _PREFERRED[tone])
        return cls(retriever("impersonal"), retriever("impersonal", "first_person"), _PREFERRED[tone])

    def nearest(
        self, target: Beta, k: int, answer: str = "", avoid: Collection[str] = frozenset()
    ) -> tuple[Match, ...]:
        """The k nearest hedges for an answer and a target, best first.

        Those in `avoid` are left out where another is about as near.
        """
        retriever = self.spoken if speaks_in_first_person(answer) else self.usual
        matches = retriever.nearest(target, k, register=self.register, avoid=avoid)
        fresh = tuple(match for match in matches if match.hedge.id not in avoid)
        return fresh if fresh and fresh[0].distance <= matches[0].distance + NEAR_TIE else matches
