"""Hedges in languages that have a lexicon and no grammar of cues: the lexicon's own wordings, other forms of them, and negation.

The Betas are those of the English entries that they translate: no reader of German, French or Spanish was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from hedgerow.calibration import Beta
from hedgerow.lexicon.errors import LexiconError
from hedgerow.lexicon.hedges.entries import Frame, Hedge
from hedgerow.lexicon.hedges.loading import DATA, load
from hedgerow.lexicon.perception.model import heard
from hedgerow.lexicon.text.words import Token, tokenize

REACH = 2
"""How many words before a wording may negate it: "no es probable"."""

_BOOSTERS = frozenset({"without-a-doubt", "certainly", "i-am-sure"})
"""English entries that stress a claim, of those that are translated."""


@dataclass(frozen=True, slots=True)
class Found:
    """A wording in a sentence, by its first and last token. `hedge` is None where it is negated: what is heard is no entry then."""

    first: int
    last: int
    beta: Beta
    kind: Literal["hedge", "booster"]
    hedge: Hedge | None


@dataclass(frozen=True, slots=True)
class _Book:
    wordings: Mapping[str, tuple[tuple[tuple[str, ...], Hedge], ...]]
    negations: frozenset[str]


def languages() -> tuple[str, ...]:
    """The languages that are heard besides English."""
    return tuple(name for name in _forms() if len(name) == 2)


def find(tokens: Sequence[Token], language: str) -> list[Found]:
    """Wordings of the language's lexicon in a sentence, in order, without overlap; the longest from the left.

    Raises
    ------
    LexiconError
        If the language has no lexicon of its own here.
    """
    book = _book(language)
    words = [token.word for token in tokens]
    found: list[Found] = []
    free = index = 0
    while index < len(words):
        entry = next(((w, h) for w, h in book.wordings.get(words[index], ()) if _stands(words, index, w)), None)
        if entry is None:
            index += 1
            continue
        found.append(_heard(words, index, free, entry, book))
        index = free = index + len(entry[0])
    return found


def _stands(words: Sequence[str], index: int, wording: tuple[str, ...]) -> bool:
    return tuple(words[index : index + len(wording)]) == wording


def _heard(
    words: Sequence[str], index: int, free: int, entry: tuple[tuple[str, ...], Hedge], book: _Book
) -> Found:  # fmt: skip
    wording, hedge = entry
    last = index + len(wording) - 1
    for at in range(index - 1, max(free, index - REACH) - 1, -1):
        if not words[at][0].isalnum():
            break
        if words[at] in book.negations:
            return Found(at, last, _negated(hedge.beta.mean >= 0.5), "hedge", None)
    booster = hedge.basis.removeprefix("translation of en:") in _BOOSTERS
    return Found(index, last, hedge.beta, "booster" if booster else "hedge", hedge)


@cache
def _negated(sure: bool) -> Beta:
    """What is heard in a negated wording: what English readers hear in "not sure", or in "not unlikely"."""
    return heard(tokenize("not sure" if sure else "not unlikely"))


@cache
def _forms() -> dict[str, dict[str, str | dict[str, list[str]]]]:
    raw = json.loads((DATA / "hearing" / "forms.json").read_text(encoding="utf-8"))
    return {name: value for name, value in raw.items() if isinstance(value, dict)}


@cache
def _book(language: str) -> _Book:
    if language not in languages():
        raise LexiconError(f"the language {language!r} is not heard; en, {', '.join(languages())} are")
    raw = _forms()[language]
    edges, negations, forms = raw["edges"], raw["negations"], raw["forms"]
    assert isinstance(edges, str) and isinstance(negations, str) and isinstance(forms, dict)  # noqa: S101, PT018 - a file of ours
    by_words: dict[tuple[str, ...], Hedge] = {}
    for hedge in load(language=language):
        texts = [hedge.phrase, *forms.get(hedge.id, ()), *(_wording(frame) for frame in hedge.frames)]
        for text in texts if hedge.phrase else ():
            words = _trimmed([token.word for token in tokenize(text)], frozenset(edges.split()))
            by_words.setdefault(words, hedge)
            by_words.setdefault(tuple(token.word for token in tokenize(hedge.phrase)), hedge)
    by_first: dict[str, list[tuple[tuple[str, ...], Hedge]]] = {}
    for words, hedge in by_words.items():
        by_first.setdefault(words[0], []).append((words, hedge))
    ordered = {first: tuple(sorted(entries, key=lambda entry: -len(entry[0]))) for first, entries in by_first.items()}
    return _Book(ordered, frozenset(negations.split()))


def _wording(frame: Frame) -> str:
    """The words of a frame without its slot."""
    return " ".join(part for part in frame.text.replace("}", "{").split("{")[::2] if part.strip(" ,:;."))


def _trimmed(words: list[str], edges: frozenset[str]) -> tuple[str, ...]:
    """Without conjunctions and marks at either end: "aber sicher bin ich nicht" is heard without "aber" as well."""
    start, stop = 0, len(words)
    while start < stop and (words[start] in edges or not words[start][0].isalnum()):
        start += 1
    while stop > start and (words[stop - 1] in edges or not words[stop - 1][0].isalnum()):
        stop -= 1
    return tuple(words[start:stop])
