"""The values of the lexicon: a hedge, its grammatical frames, a retrieved match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calibration import Beta

FrameKind = Literal["clause", "fragment", "adverb", "parenthetical", "closing", "lead"]
Register = Literal["plain", "formal", "casual"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One way of putting a hedge into a sentence.

    Attributes
    ----------
    kind : FrameKind
        clause: governs a whole clause, `text` holds "{clause}" ("I think that {clause}", "It is unlikely that {clause}").
        fragment: governs a bare answer without a verb, `text` holds "{fragment}" ("Probably {fragment}").
        adverb: goes beside the finite verb ("probably": "It was probably Harold Pinter.").
        parenthetical: between commas after the subject or first phrase ("as far as I know").
        closing: hangs on the end of the sentence before its full stop ("though I am far from certain").
        lead: a sentence or opening of its own that precedes the answer, `text` holds "{answer}"
        ("I am not sure about this, but my best guess: {answer}").
    text : str
        Written as in the middle of a sentence (lower case unless a name or "I"); the rewriter sets case and punctuation.
    """

    kind: FrameKind
    text: str


@dataclass(frozen=True, slots=True)
class Hedge:
    """A phrase with the confidence that it conveys.

    Attributes
    ----------
    id : str
        Stable name, kebab-case, unique in its lexicon ("almost-certainly"). `no-hedge` is the plain assertion.
    phrase : str
        As a person would quote it ("almost certainly"); "" for `no-hedge`.
    beta : Beta
        What readers hear: mean = where, concentration = how much they agree.
    source : str
        "people" or "modelled" or "standard" (an official scale).
    readers : int
        How many people's readings stand behind it; 0 where none.
    frames : tuple[Frame, ...]
        Ways of saying it, best first; empty for `no-hedge`.
    register : {"plain", "formal", "casual"}
    language : str
        ISO 639-1.
    """

    id: str
    phrase: str
    beta: Beta
    source: Literal["people", "modelled", "standard"]
    readers: int
    frames: tuple[Frame, ...]
    register: Register = "plain"
    language: str = "en"

    @property
    def is_plain(self) -> bool:
        """True for `no-hedge`: the answer stands as it is."""
        return not self.frames


@dataclass(frozen=True, slots=True)
class Match:
    """A retrieved hedge and its 1-Wasserstein distance to the target, in [0, 1]; smaller = nearer."""

    hedge: Hedge
    distance: float
