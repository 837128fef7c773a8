"""Finds hedges and boosters in a text as spans, for the rewriter to remove and for marker analysis to count."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ...calibration import Beta
from ..errors import TextTooLong
from ..hedges.entries import Hedge
from ..hedges.loading import load
from ..text.sentences import sentence_spans
from ..text.words import Token, tokenize, word_set
from .cues import BOOSTER, Cue, find_cues
from .model import perceived
from .own import Own
from .translated import (
    Book,
    Wording,
    Wordings,
    book_of,
    by_first_word,
    check_language,
    find_wordings,
)

LIMIT = 500_000
"""Longest text that is read, in characters: about five seconds of work. No answer of a model is that long."""

_ADVERBIAL = word_set("surely modal must should often hearsay always never rarely sometimes either")
_VERBS = word_set("am is are was were be been have has had do does would will can could seems seem must")
_OPENING = _VERBS | word_set(
    "i we it there that this my our a an the being as to in with from for if at of all what any some here say honestly frankly me just"
)
"""Words directly before a cue that belong to it: "I am" of "I am not sure", "there is a" of "there is a chance"."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text that expresses the speaker's confidence.

    Attributes
    ----------
    start, end : int
        Offsets into the text, `text[start:end]`.
    text : str
    kind : {"hedge", "booster"}
        hedge: sounds less confident than a plain assertion; booster: emphasises confidence.
    beta : Beta
        The confidence that readers perceive in these words alone.
    hedge : str or None
        Id of the lexicon entry, if the words are one.
    """

    start: int
    end: int
    text: str
    kind: Literal["hedge", "booster"]
    beta: Beta
    hedge: str | None


@dataclass(frozen=True, slots=True)
class Marked:
    """A sentence with its cues and spans, the input of perception.

    `own`: Betas of wordings of a custom lexicon, which are not cues.
    """

    start: int
    end: int
    tokens: list[Token]
    cues: list[Cue]
    spans: tuple[Span, ...]
    own: tuple[Beta, ...] = ()


def spot(text: str, language: str = "en") -> tuple[Span, ...]:
    """Hedges and boosters in a text, in order, without overlap.

    Parameters
    ----------
    text : str
        At most 500,000 characters.
    language : str
        English is read by a grammar of cues, the other languages in `languages()` by the wordings of their lexicons.

    Raises
    ------
    TextTooLong
        If the text is over the limit.
    LexiconError
        If the language is not supported.

    Examples
    --------
    >>> [(span.text, span.kind, span.hedge) for span in spot("I'm pretty sure it was Pinter, though I could be wrong.")]
    [("I'm pretty sure", 'hedge', 'i-am-pretty-sure'), ('though I could be wrong', 'hedge', 'i-could-be-wrong')]
    """
    return tuple(span for sentence in mark(text, language) for span in sentence.spans)


def check_length(text: str) -> None:
    """Raise an error for a text over the limit."""
    if len(text) > LIMIT:
        raise TextTooLong(f"the text has {len(text):,} characters; at most {LIMIT:,} are read")


def mark(text: str, language: str = "en", own: Own | None = None) -> list[Marked]:
    """The sentences of a text with their cues (English only) and spans; custom wordings come before the shipped ones."""
    check_language(language)
    check_length(text)
    if language == "en":
        return [_mark(text, start, end, own) for start, end in sentence_spans(text)]
    books = (*((own.book,) if own else ()), book_of(language))
    return [_mark_translated(text, start, end, books) for start, end in sentence_spans(text)]


def _mark_translated(text: str, start: int, end: int, books: Sequence[Book]) -> Marked:
    tokens = tokenize(text, start, end)
    wordings: list[Wording] = []
    for book in books:
        wordings += [
            w for w in find_wordings(tokens, book) if all(w.last < f.first or f.last < w.first for f in wordings)
        ]
    spans = (_span(text, tokens, w) for w in sorted(wordings, key=lambda w: w.first))
    return Marked(start, end, tokens, [], tuple(spans))


def _span(text: str, tokens: Sequence[Token], w: Wording) -> Span:
    left, right = tokens[w.first].start, tokens[w.last].end
    return Span(left, right, text[left:right], w.kind, w.beta, w.hedge.id if w.hedge else None)


def _mark(text: str, start: int, end: int, own: Own | None = None) -> Marked:
    tokens = tokenize(text, start, end)
    cues = find_cues(tokens)
    if own is None:
        return Marked(start, end, tokens, cues, tuple(_spans(text, tokens, cues)))
    wordings, cues = own.find(tokens, cues)
    spans = [_span(text, tokens, wording) for wording in wordings]
    others = [s for s in _spans(text, tokens, cues) if all(s.end <= o.start or o.end <= s.start for o in spans)]
    together = tuple(sorted((*spans, *others), key=lambda span: span.start))
    return Marked(start, end, tokens, cues, together, tuple(wording.beta for wording in wordings))


def _spans(text: str, tokens: Sequence[Token], cues: Sequence[Cue]) -> list[Span]:
    """The spans of cues."""
    spans, waiting = list[Span](), deque(cues)
    for first, last, hedge in _ranges(tokens, cues):
        left, right = tokens[first].start, tokens[last].end
        inside = []
        while waiting and waiting[0].first <= last:
            if (cue := waiting.popleft()).first >= first:
                inside.append(cue)
        low = min(inside, key=lambda cue: cue.value, default=None)
        kind: Literal["hedge", "booster"] = "booster" if low and low.value >= BOOSTER else "hedge"
        beta = hedge.beta if hedge else perceived(tokens[first : last + 1])
        spans.append(Span(left, right, text[left:right], kind, beta, hedge.id if hedge else None))
    return spans


@cache
def _phrases() -> Wordings:
    """The lexicon's wordings by first word, longest first."""
    by_words: dict[tuple[str, ...], Hedge] = {}
    for hedge in load():
        slotless = [frame.text for frame in hedge.frames if "{" not in frame.text]
        for wording in [hedge.phrase, *hedge.variants, *slotless] if hedge.phrase else []:
            by_words.setdefault(tuple(token.word for token in tokenize(wording)), hedge)
    return by_first_word(by_words)


def _ranges(tokens: Sequence[Token], cues: Sequence[Cue]) -> list[tuple[int, int, Hedge | None]]:
    """Token ranges of the spans: wordings of the lexicon with a cue, then the other cues with their opening words."""
    words = [token.word for token in tokens]
    taken: list[tuple[int, int, Hedge | None]] = []
    free = 0
    for cue in cues:
        if cue.first < free:
            continue
        entry = _entry(words, cue, free)
        opened = _open(words, cue, free)
        first, last, hedge = entry if entry else (opened, cue.last, None)
        taken.append((min(first, opened), last, hedge))
        free = last + 1
    return taken


def _entry(words: Sequence[str], cue: Cue, free: int) -> tuple[int, int, Hedge] | None:
    """The longest wording of the lexicon that covers the cue."""
    book = _phrases()
    best: tuple[int, int, Hedge] | None = None
    for first in range(max(free, cue.first - 7), cue.first + 1):
        for wording, hedge in book.get(words[first], ()):
            last = first + len(wording) - 1
            if last >= cue.last and tuple(words[first : last + 1]) == wording:
                if best is None or last - first > best[1] - best[0]:
                    best = (first, last, hedge)
                break
    return best


def _open(words: Sequence[str], cue: Cue, free: int) -> int:
    """Index of the first word of a span: other cues than adverbs include "I am", "there is a", "it seems" before them."""
    first = cue.first
    if cue.base in _ADVERBIAL or (
        cue.base in {"likely", "possible", "unlikely"} and "that" not in words[cue.last + 1 : cue.last + 2]
    ):
        return first
    while first > free and words[first - 1] in _OPENING:
        first -= 1
    while first < cue.first and words[first] in _VERBS:  # a subject that is no pronoun keeps its verb
        first += 1
    return first
