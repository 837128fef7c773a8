"""Finds hedges in languages with a lexicon but no grammar of cues: its wordings, their variants, and negation.

A language has two data files: a lexicon (`data/<code>.json`) and the data to split its texts (`data/text/<code>.json`).
The Betas are those of the English entries that they translate; no readers of German, French or Spanish were asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...calibration import Beta
from ..errors import LexiconError
from ..hedges.entries import Frame, Hedge
from ..hedges.loading import builtin_names, load
from ..text.language import known
from ..text.words import Token, tokenize
from .model import perceived

Wordings = Mapping[str, tuple[tuple[tuple[str, ...], Hedge], ...]]
REACH = 2
"""Number of words before a wording within which a negation applies: "no es probable"."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A wording in a sentence, by its first and last token.

    `hedge` is None if it is negated, which is no entry.
    """

    first: int
    last: int
    beta: Beta
    kind: Literal["hedge", "booster"]
    hedge: Hedge | None


@dataclass(frozen=True, slots=True)
class Book:
    """Wordings by their first word, longest first, and the words that negate them."""

    wordings: Wordings
    negations: frozenset[str]

    @classmethod
    def of(
        cls,
        hedges: Iterable[Hedge],
        negations: frozenset[str],
        edges: frozenset[str],
        common: frozenset[str] = frozenset(),
    ) -> Book:
        """The wordings of entries: phrases, variants and frames, without frames that have only `common` words."""
        by_words: dict[tuple[str, ...], Hedge] = {}
        for hedge in hedges:
            for text in [hedge.phrase, *hedge.variants, *map(_wording, hedge.frames)] if hedge.phrase else ():
                words = _trimmed([token.word for token in tokenize(text)], edges)
                if not common.issuperset(words):
                    by_words.setdefault(words, hedge)
                by_words.setdefault(tuple(token.word for token in tokenize(hedge.phrase)), hedge)
        return cls(by_first_word(by_words), negations)


@cache
def languages() -> tuple[str, ...]:
    """The languages whose hedges can be read: English, then those with a lexicon and a text file here."""
    return ("en", *sorted((known() - {"en"}).intersection(builtin_names())))


def check_language(language: str) -> None:
    """Raise an error for an unsupported language: its hedges would be missed and read as plain assertions.

    Raises
    ------
    LexiconError
    """
    if language not in languages():
        raise LexiconError(f"language {language!r} cannot be read; use one of {', '.join(languages())}")


def find_wordings(tokens: Sequence[Token], book: Book) -> list[Wording]:
    """Wordings of a book in a sentence, in order, without overlap; the longest first, from the left."""
    words = [token.word for token in tokens]
    wordings: list[Wording] = []
    free = index = 0
    while index < len(words):
        entry = next(
            ((w, h) for w, h in book.wordings.get(words[index], ()) if tuple(words[index : index + len(w)]) == w), None
        )
        if entry is None:
            index += 1
            continue
        wording, hedge = entry
        wordings.append(_read(words, index, index + len(wording) - 1, free, hedge, book.negations))
        index = free = index + len(wording)
    return wordings


def _read(
    words: Sequence[str], first: int, last: int, free: int, hedge: Hedge, negations: frozenset[str]
) -> Wording:  # fmt: skip
    """The wording, including a negation directly before it."""
    for at in range(first - 1, max(free, first - REACH) - 1, -1):
        if not words[at][0].isalnum():
            break
        if words[at] in negations:
            return Wording(at, last, _negated(hedge.beta.mean >= 0.5), "hedge", None)
    return Wording(first, last, hedge.beta, "booster" if hedge.booster else "hedge", hedge)


@cache
def _negated(sure: bool) -> Beta:
    """The confidence perceived in a negated wording: that of English readers in "not sure" or "not unlikely"."""
    return perceived(tokenize("not sure" if sure else "not unlikely"))


@cache
def book_of(language: str) -> Book:
    """The wordings of the shipped lexicon of a language.

    Raises
    ------
    LexiconError
        If the language cannot be read.
    """
    check_language(language)
    lexicon = load(language=language)
    return Book.of(lexicon, lexicon.negations, lexicon.edges)


def by_first_word(entries: Mapping[tuple[str, ...], Hedge]) -> Wordings:
    """Wordings of entries by their first word, longest first."""
    grouped: dict[str, list[tuple[tuple[str, ...], Hedge]]] = {}
    for words, hedge in sorted(entries.items(), key=lambda entry: -len(entry[0])):
        grouped.setdefault(words[0], []).append((words, hedge))
    return {first: tuple(wordings) for first, wordings in grouped.items()}


def _wording(frame: Frame) -> str:
    """The words of a frame without its slot."""
    return " ".join(part for part in frame.text.replace("}", "{").split("{")[::2] if part.strip(" ,:;."))


def _trimmed(words: list[str], edges: frozenset[str]) -> tuple[str, ...]:
    """Without conjunctions and marks at either end: "aber sicher bin ich nicht" is recognised without "aber" too."""
    start, stop = 0, len(words)
    while start < stop and (words[start] in edges or not words[start][0].isalnum()):
        start += 1
    while stop > start and (words[stop - 1] in edges or not words[stop - 1][0].isalnum()):
        stop -= 1
    return tuple(words[start:stop])
