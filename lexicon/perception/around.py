"""Access to the words around a cue, and word sets that several contexts share."""

from __future__ import annotations

from collections.abc import Sequence

from ..text.words import word_set
from .cues import Cue

BE = word_set("am is are was were be been being remains remain remained")
SUBJECT = word_set("i we")
OTHERS = word_set("you they he she who")
WH = word_set("how why what where who when")
_MODIFIERS = word_set(
    "not also even still very quite fairly really mostly essentially certainly technically perfectly remotely only just about honestly personally strongly truly firmly do did would will can must have always *"
)
FAR = 5
"""Number of words after "cannot provide" or "do not have" in which their object is searched."""


def word_at(words: Sequence[str], index: int) -> str:
    """The word at an index; "" outside the sentence."""
    return words[index] if 0 <= index < len(words) else ""


def word_before(words: Sequence[str], cue: Cue) -> str:
    """The word before a cue and its adverbs."""
    return word_at(words, index_before(words, cue))


def index_before(words: Sequence[str], cue: Cue) -> int:
    """The index of the word before a cue and its adverbs; -1 where there is none."""
    index = cue.first - 1
    while index >= 0 and (words[index] in _MODIFIERS or words[index].endswith("%")):
        index -= 1
    return index


def within(words: Sequence[str], index: int, wanted: frozenset[str]) -> int | None:
    """Index of the first wanted word among the next words of the clause; None if there is none."""
    for at in range(index + 1, min(index + 1 + FAR, len(words))):
        if words[at] in wanted:
            return at
        if words[at] in {",", ".", ";"}:
            return None
    return None
