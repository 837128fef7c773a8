"""Splits a text into the natural pieces of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"\s*\S+\s*?(?=\s|$)|\s+")
WORDS_A_PIECE = 4
"""About as many words as a fast model server sends at once."""
_LONGEST = 48
"""Number of characters after which a text without spaces is split too."""


def natural_pieces(text: str) -> Iterator[str]:
    """The text in pieces of a few words, as a model would send it; joined, they are the text."""
    piece, count = "", 0
    for match in _WORD.finditer(text):
        piece += match.group()
        count += 1
        if count >= WORDS_A_PIECE or len(piece) >= _LONGEST or piece[-1:] in ".!?\n":
            yield from _cut(piece)
            piece, count = "", 0
    if piece:
        yield from _cut(piece)


def _cut(piece: str) -> Iterator[str]:
    for start in range(0, len(piece), _LONGEST):
        yield piece[start : start + _LONGEST]
