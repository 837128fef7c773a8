"""The layout of an answer: its sentences, items, headings and rows by offset, and the spans that no edit may touch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..text.opaque import opaque_spans
from ..text.sentences import Place, pieces
from .reading import Block, Span

_BLOCKS: dict[Place, Block] = {"prose": "prose", "list": "item", "quotation": "quote"}
_EMPHASISED = re.compile(r"(\*\*|__)(?=\S)[^*_\n]{1,80}(?<=\S)\1:?")
"""A line that is only emphasis: a heading without its sign."""
_WORD = re.compile(r"\w")
_RULE = frozenset(" \t|:=-")
_MARKS = " \t\n#*_:"


@dataclass(frozen=True, slots=True)
class Segment(Span):
    """A sentence, list item, heading or row of a table, without its marker and surrounding white space."""

    block: Block


def segments(text: str) -> tuple[Segment, ...]:
    r"""The sentences of a text, and its headings and rows, in order.

    >>> [(text[s.start:s.end], s.block) for text in ["# Facts\nIt is 12. Yes.\n- One"] for s in segments(text)]
    [('Facts', 'heading'), ('It is 12.', 'prose'), ('Yes.', 'prose'), ('One', 'item')]
    """
    return tuple(_segments(text))


def _segments(text: str) -> Iterator[Segment]:
    at = 0
    for piece in pieces(text):
        words = piece.text
        if piece.is_sentence:
            start, end = _stripped(words, " \t\n")
            block = (
                "heading" if piece.place == "prose" and _EMPHASISED.fullmatch(words.strip()) else _BLOCKS[piece.place]
            )
            yield Segment(at + start, at + end, block)
        elif (line := words.lstrip()) and line[0] in "#|" and _WORD.search(line) and not _RULE.issuperset(line):
            start, end = _stripped(words, _MARKS if line[0] == "#" else " \t\n")
            yield Segment(at + start, at + end, "heading" if line[0] == "#" else "row")
        at += len(words)


def _stripped(words: str, marks: str) -> tuple[int, int]:
    return len(words) - len(words.lstrip(marks)), len(words.rstrip(marks))


def inline_opaque(text: str) -> tuple[Span, ...]:
    """Code, formulas, addresses, quotations and citations, in order and apart."""
    return _apart(opaque_spans(text))


def opaque(inline: Iterable[Span], found: Iterable[Segment]) -> tuple[Span, ...]:
    """What no edit may touch: the inline spans, and whole rows and quoted lines."""
    whole = ((segment.start, segment.end) for segment in found if segment.block in ("row", "quote"))
    return _apart([*((span.start, span.end) for span in inline), *whole])


def _apart(spans: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(end, joined[-1].end))
        else:
            joined.append(Span(start, end))
    return tuple(joined)
