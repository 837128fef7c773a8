"""Cutting an answer into sentences without losing a character.

`pieces` gives sentences and what lies between them, in order; joined, they are the text again. Code blocks, headings, tables
and rules are never sentences. List markers, quotation bars and labels ("Answer: ") lie between sentences, so a list
keeps its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hedgerow.proxy.rewriting.shape import label_end
from hedgerow.proxy.rewriting.words import word_set

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_OPAQUE_LINE = re.compile(r"^\s*(?:#{1,6}\s|\||[-*_=]{3,}\s*$|\$\$|\\\[|<[a-zA-Z/!])|^(?: {4,}|\t)(?![-*+•]|\d+[.)])")
_MARKER = re.compile(r"^(?:\s*(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\)|>)[ \t]+)+(?:\[[ xX]\][ \t]+)?|^[ \t]+")
_STOP = re.compile(r"[.!?…]+(?:[\"”»’')\]*_]+|\[\d+\])*(?=\s)|[。！？]")
_ABBREVIATIONS = word_set(
    "dr mr mrs ms st prof sr jr vs etc no vol fig inc ltd co corp gen col capt lt sgt rev hon gov sen rep mt ft ave dept est approx "
    "e.g i.e cf al ca jan feb mar apr jun jul aug sep sept oct nov dec bzw usw z.b d.h ca nr s p pp m mme sra ud"
)
_MONTH = re.compile(r"(?:jan|feb|mär|mar|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec)\w*\b", re.IGNORECASE)
_LAST_WORD = re.compile(r"([\w.]+)\.$")


Place = Literal["prose", "list", "quotation"]
_ITEM = re.compile(r"[ \t]*(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z]\))[ \t]|[ \t]{2,}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text.

    Attributes:
        is_sentence: False for what lies between sentences.
        place: where it stands: in running text, in an item of a list, behind a quotation bar.
    """

    text: str
    is_sentence: bool
    place: Place = "prose"


def pieces(text: str) -> tuple[Piece, ...]:
    """The text as sentences and the stretches between them; their texts joined are the text."""
    found: list[Piece] = []
    position = 0
    for fence in _FENCE.finditer(text):
        found.extend(_prose(text[position : fence.start()]))
        found.append(Piece(fence.group(), False))
        position = fence.end()
    found.extend(_prose(text[position:]))
    return tuple(piece for piece in found if piece.text)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences alone, in order: what per-sentence confidences are indexed by."""
    return tuple(piece.text for piece in pieces(text) if piece.is_sentence)


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
    for stop in _STOP.finditer(line):
        if not _ends_sentence(line, start, stop):
            continue
        gap = re.compile(r"\s*").match(line, stop.end())
        end = gap.end() if gap else stop.end()
        yield Piece(line[start : stop.end()], True, place)
        yield Piece(line[stop.end() : end], False)
        start = end
    rest = line[start:]
    yield Piece(rest.rstrip(), bool(rest.strip()), place)
    yield Piece(rest[len(rest.rstrip()) :], False)


def _ends_sentence(line: str, start: int, stop: re.Match[str]) -> bool:
    """False after an abbreviation or an initial, and where the next word is written small."""
    following = line[stop.end() :].lstrip()
    if stop.group() == "." and (word := _LAST_WORD.search(line, start, stop.end())):
        last = word.group(1)
        if last.lower() in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last != "I") or "." in last:
            return False
        if last.isdigit() and len(last) < 3 and _MONTH.match(following):
            return False
    return not following[:1].islower()
