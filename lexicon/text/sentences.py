"""Splits a text into sentences: as plain offsets, or by the formatting of an answer, without losing a character.

`pieces` gives sentences and the text between them, in order; joined, they are the text again. Code blocks, headings,
tables and rules are never sentences. List markers, quotation bars and labels ("Answer: ") are between sentences, so a
list keeps its form. `sentence_spans` ignores formatting; use it for texts that are only read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .shape import label_end
from .words import ABBREVIATIONS, MONTH_PATTERN

_FENCE = re.compile(r"^[ \t]*+(```|~~~).*?(?:^[ \t]*+\1[ \t]*+$|\Z)", re.MULTILINE | re.DOTALL)
_OPAQUE_LINE = re.compile(
    r"^\s*+(?:#{1,6}\s|\||[-*_=]{3,}+\s*+$|\$\$|\\\[|<[a-zA-Z/!])|^(?: {4,}+|\t)(?![-*+•]|\d+[.)])"
)
_MARKER = re.compile(r"^(?:\s*+(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|>)[ \t]++)++(?:\[[ xX]\][ \t]++)?|^[ \t]++")
_STOP = r"(?<![.!?…])[.!?…]++(?:[\"”»’')\]*_]++|\[\d++\])*+(?=\s)|[。！？]"
_STOPS = re.compile(_STOP)
_BREAKS = re.compile(rf"{_STOP}|\n(?:[^\S\n]*+\n)++|\n(?=\s*+(?:[-*•#]|\d{{1,9}}[.)]\s))")
_LAST_WORD = re.compile(r"[\w.]{1,24}\Z")
_WORD = re.compile(r"\w")
_MONTH = re.compile(rf"{MONTH_PATTERN}\b", re.IGNORECASE)
_GAP = re.compile(r"[^\S\n]*+")
_BEFORE_NUMBER = frozenset(["no", "nr", "vol", "fig"])
"""Words that are abbreviations only before a number ("No. 5", but "The answer is no.").

"No." before a sentence begins that sentence.
"""

Place = Literal["prose", "list", "quotation"]
_ITEM = re.compile(r"[ \t]*(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))[ \t]|[ \t]{2,}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text.

    Attributes:
        is_sentence: False for text between sentences.
        place: in running text, in a list item, or after a quotation bar.
    """

    text: str
    is_sentence: bool
    place: Place = "prose"


def pieces(text: str) -> tuple[Piece, ...]:
    """The text as sentences and the stretches between them; joined, they are the text."""
    cut: list[Piece] = []
    position = 0
    for fence in _FENCE.finditer(text):
        cut.extend(_prose(text[position : fence.start()]))
        cut.append(Piece(fence.group(), False))
        position = fence.end()
    cut.extend(_prose(text[position:]))
    return tuple(piece for piece in cut if piece.text)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences only, in order; per-sentence confidences are indexed by them."""
    return tuple(piece.text for piece in pieces(text) if piece.is_sentence)


def spans(text: str) -> tuple[tuple[int, int], ...]:
    """Offsets of the sentences, in the order of `sentences(text)`.

    >>> spans("- It is so. Is it?")
    ((2, 11), (12, 18))
    """
    found, start = [], 0
    for piece in pieces(text):
        if piece.is_sentence:
            found.append((start, start + len(piece.text)))
        start += len(piece.text)
    return tuple(found)


def numbered(text: str, places: Sequence[tuple[int, int]]) -> str:
    """The text with the number of each sentence before it, from 1, and everything else as it is.

    >>> numbered("- It is so.", [(2, 11)])
    '- [1] It is so.'
    """
    parts, done = [], 0
    for number, (start, _) in enumerate(places, start=1):
        parts += [text[done:start], f"[{number}] "]
        done = start
    return "".join((*parts, text[done:]))


def _prose(text: str) -> Iterator[Piece]:
    for line in re.split(r"(\n+)", text):
        if not line.strip() or _OPAQUE_LINE.match(line):
            yield Piece(line, False)
            continue
        marker = _MARKER.match(line)
        start = marker.end() if marker else 0
        yield Piece(line[:start], False)
        label = label_end(line[start:])
        yield Piece(line[start : start + label], False)
        yield from _sentences_of_line(line[start + label :], _place(line[:start]))


def _place(marker: str) -> Place:
    if ">" in marker:
        return "quotation"
    return "list" if _ITEM.match(marker) else "prose"


def _sentences_of_line(line: str, place: Place) -> Iterator[Piece]:
    start = 0
    for stop in _STOPS.finditer(line):
        if not _ends_sentence(line, start, stop):
            continue
        yield _sentence(line[start : stop.end()], place)
        start = _after_gap(line, stop.end())
        yield Piece(line[stop.end() : start], False)
    rest = line[start:]
    yield _sentence(rest.rstrip(), place)
    yield Piece(rest[len(rest.rstrip()) :], False)


def _sentence(text: str, place: Place) -> Piece:
    """A stretch that was cut out as a sentence; it is one if it has a word."""
    return Piece(text, _WORD.search(text) is not None, place)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Offsets of the sentences of a text, in order, without surrounding white space.

    Examples
    --------
    >>> text = "Dr. Who, I think. Not sure!"
    >>> [text[a:b] for a, b in sentence_spans(text)]
    ['Dr. Who, I think.', 'Not sure!']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for stop in _BREAKS.finditer(text):
        if text[stop.start()] == "\n" or _ends_sentence(text, start, stop):
            _append(spans, text, start, stop.end())
            start = stop.end()
    _append(spans, text, start, len(text))
    return spans


def _append(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    """Add a stretch without white space at its ends, unless it has no letter or digit."""
    stretch = text[start:end]
    if any(character.isalnum() for character in stretch):
        left = start + len(stretch) - len(stretch.lstrip())
        spans.append((left, start + len(stretch.rstrip())))


def _after_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position


def _ends_sentence(text: str, start: int, stop: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence.

    Not after an abbreviation, an initial or the number of a list entry, or if the next word is in lower case.
    """
    following = _after_gap(text, stop.end())
    if stop.group() == "." and (word := _LAST_WORD.search(text[max(start, stop.start() - 24) : stop.start()])):
        last = word.group()
        if last.lower() in _BEFORE_NUMBER:
            return stop.start() - len(last) > start and not text[following : following + 1].isdigit()
        if last.lower() in ABBREVIATIONS or _is_initials(last):
            return False
        if last.isdigit() and len(last) < 4 and not text[start : stop.start() - len(last)].strip():
            return False
        if last.isdigit() and len(last) < 3 and _MONTH.match(text, following):
            return False
    return not text[following : following + 1].islower()


def _is_initials(word: str) -> bool:
    """Whether a word is an initial ("J.") or consists of dotted letters ("U.S.", "Ph.D.")."""
    if len(word) == 1:
        return word != "I" and word.isupper()  # "60 km/h." ends a sentence
    return "." in word and all(p.isalpha() and len(p) < 3 for p in word.split("."))
