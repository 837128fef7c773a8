"""An English text prepared for comparison: its words of confidence, and the other words, which must be kept."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...lexicon.text.english import ADVERBS, BE
from ...lexicon.text.sentences import Piece
from ...lexicon.text.words import word_set
from .doubt import Doubt
from .verbs import HAVE, Form, is_participle
from .words import Word

_MOVABLE = ADVERBS - word_set("not never ever only even just all both each perhaps maybe possibly probably")
_STOP_IN_QUOTATION = re.compile(r"[.,](?=[\"”»])")


@dataclass(frozen=True, slots=True)
class Unit:
    """A word that must be kept, and its verb form."""

    word: Word
    form: Form = ""

    @property
    def lower(self) -> str:
        """The word in lower case."""
        return self.word.lower


@dataclass(frozen=True)
class Reading:
    """The part of a text that differs from the other text: its pieces, their words, and its words of confidence."""

    parts: tuple[Piece, ...]
    words: list[Word]
    doubts: list[Doubt]

    @cached_property
    def units(self) -> list[Unit]:
        """The words that must be kept."""
        return _without_empty_brackets(_verbs_after_adverbs(list(_units(self.words, self.doubts))))

    @cached_property
    def bare(self) -> str:
        """The text without its words of confidence."""
        text, cut = "".join(part.text for part in self.parts), 0
        kept: list[str] = []
        for doubt in self.doubts:
            kept.append(text[cut : self.words[doubt.start].start])
            cut = self.words[doubt.end - 1].end
        lines = _STOP_IN_QUOTATION.sub("", "".join([*kept, text[cut:]])).splitlines()
        return "\n".join(line for line in lines if re.search(r"\w", line))

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(unit.word.start for unit in self.units)

    def unit_of(self, doubt: Doubt) -> tuple[int, bool]:
        """The unit that a doubt belongs to, and whether the doubt ends its sentence.

        At the end of a sentence it belongs to the last unit before it.
        """
        last = self.words[doubt.end - 1]
        following = bisect_left(self._starts, last.end)
        closes = following == len(self.units) or self.units[following].word.piece != last.piece
        after_own = following > 0 and self.units[following - 1].word.piece == last.piece
        if closes and (after_own or doubt.kind == "caveat" or following == len(self.units)):
            return max(0, following - 1), True
        return following, False

    def opens(self, doubt: Doubt) -> bool:
        """Whether a doubt comes first in its sentence, or first after a colon in it."""
        return self.words[doubt.start].initial


def _units(words: Sequence[Word], doubts: Sequence[Doubt]) -> Iterator[Unit]:
    """The words outside the doubts, as units.

    A verb after a modal verb, "to", "does" or "did" is marked as a base form; "have" before a participle is left out.
    """
    ends = {doubt.end: doubt.kind in ("modal", "infinitive") for doubt in doubts}
    hidden = {index for doubt in doubts for index in range(doubt.start, doubt.end)}
    shown = [index for index in range(len(words)) if index not in hidden]
    form: Form = ""
    piece = -1
    last = 0
    for place, index in enumerate(shown):
        word = words[index]
        if word.piece != piece:
            form, piece = "", word.piece
        if any(ends.get(at, False) for at in range(last + 1, index + 1)):
            form = "base"
        last = index
        following = [words[i].lower for i in shown[place + 1 : place + 4]]
        if (
            form == "base"
            and word.lower == "have"
            and is_participle(next((w for w in following if not is_adverb(w)), ""))
        ):
            form = "perfect"
        elif word.lower in ("do", "does", "did") and following[:1] == ["not"]:
            form = "past" if word.lower == "did" else "base"
        elif form and (is_adverb(word.lower) or word.lower == "not"):
            yield Unit(word)
        else:
            yield Unit(word, form)
            form = ""


def is_adverb(word: str) -> bool:
    """Whether a word can come before or after a verb without a change of meaning."""
    return word in _MOVABLE or (word.endswith("ly") and len(word) > 4)


def _verbs_after_adverbs(units: list[Unit]) -> list[Unit]:
    """The units with each form of "be" or "have" moved after its adverbs: their order does not matter."""
    for index in range(len(units) - 2, -1, -1):
        at = index
        while (
            at + 1 < len(units)
            and (units[at].lower in BE | HAVE or units[at].lower in ("be", "been"))
            and is_adverb(units[at + 1].lower)
        ):
            units[at], units[at + 1] = units[at + 1], units[at]
            at += 1
    return units


def _without_empty_brackets(units: list[Unit]) -> list[Unit]:
    kept: list[Unit] = []
    for unit in units:
        if unit.lower == ")" and kept and kept[-1].lower == "(":
            kept.pop()
        else:
            kept.append(unit)
    return kept
