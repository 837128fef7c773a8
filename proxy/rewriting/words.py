"""Splits a text into the words that a rewrite must keep: contractions expanded, signs kept, punctuation left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...lexicon.text.sentences import Piece
from ...lexicon.text.words import open_contraction, straight

_TOKEN = re.compile(
    r"(?P<word>[^\W_]+(?:[.,](?=\d)\d+|[-'](?=[^\W_])[^\W_]+)*)|(?P<strong>[;:])|(?P<soft>[.,!…\"'“”‘«»„])|(?P<dash>[–—])|(?P<sign>\S)"
)
_BY_NUMBER = re.compile(r"\d\s*[–—]|[–—]\s*\d")
_OPAQUE = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|„[^„“”\n]*[“”]|https?://\S+|\$(?=[^\s\d])[^$\n]+\$",
    re.DOTALL,
)
_NOT_PROSE = re.compile(r"\s*(?:#|\||```|~~~|</?\w)")


@dataclass(frozen=True, slots=True)
class Word:
    """A word or a sign.

    Attributes:
        text: as it is written.
        lower: in lower case; a month called May keeps its capital.
        start, end: its offsets in the text.
        piece: the index of its piece.
        segment: the index of its stretch between strong breaks (ends of pieces, ";", ":").
        initial: whether it is the first of a sentence or after a colon.
        opaque: whether it is in a quotation, code, a formula or a URL.
    """

    text: str
    lower: str
    start: int
    end: int
    piece: int
    segment: int
    initial: bool
    opaque: bool


def words_of(parts: Sequence[Piece]) -> list[Word]:
    """The words and signs of a text given in pieces. Time linear in its length."""
    hidden = _hidden("".join(part.text for part in parts))
    span = next(hidden, None)
    result: list[Word] = []
    offset = segment = 0
    for number, piece in enumerate(parts):
        initial, prose = True, not _NOT_PROSE.match(piece.text)
        segment += 1
        for match in _TOKEN.finditer(straight(piece.text)):
            start, end = offset + match.start(), offset + match.end()
            while span is not None and span[1] <= start:
                span = next(hidden, None)
            if match.lastgroup == "strong":
                segment += 1
                initial = True
            if match.lastgroup in ("strong", "soft") or (
                match.lastgroup == "dash" and not _is_minus(piece.text, match)
            ):
                continue
            opaque = not prose or (span is not None and span[0] <= start)
            for written, lower in _parts(match.group()):
                result.append(Word(written, lower, start, end, number, segment, initial, opaque))
            initial = initial and match.lastgroup == "sign"
        offset += len(piece.text)
    return result


def spoken(text: str) -> list[str]:
    """The words of a phrase in lower case, contractions expanded."""
    return [word.lower for word in words_of([Piece(text, True)])]


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in _OPAQUE.finditer(text))


def _is_minus(text: str, match: re.Match[str]) -> bool:
    return _BY_NUMBER.search(text, max(0, match.start() - 2), match.end() + 2) is not None


def _parts(token: str) -> Iterator[tuple[str, str]]:
    """The words that a token stands for, each as (as written, in lower case)."""
    lower = token if token == "May" else token.lower()  # noqa: S105
    if "'" not in token and lower != "cannot":
        yield token, lower
        return
    parts = open_contraction(lower)
    yield (token[: len(parts[0])] if lower.startswith(parts[0]) else parts[0]), parts[0]
    for part in parts[1:]:
        yield part, part
    if len(parts) == 1 and lower.endswith("'s"):
        yield "'s", "'s"
