"""Splits a text into claims: one statement each, from sentences, list items and table cells, with their context.

Only the position of claims is found here; whether one can be right or wrong is decided by the caller. Code, headings,
quotations and labels before an answer are never claims; headings, labels and the line before a list are context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .clauses import clauses, subject_of
from .sentences import Piece, pieces

MOST = 200
"""Largest number of claims in one text; later ones are ignored."""
LONGEST_CELL = 200
"""Length in characters up to which a table cell is a single fact."""
Kind = Literal["sentence", "item", "cell"]
Says = Callable[[str, Kind], bool]
"""(sentence, list item or cell; its kind) -> whether it says something that can be right or wrong."""

_RULE = frozenset(" \t|:=-")
_CELL = re.compile(r"(?:\\.|[^|\\])+")
_MARKS = " \t*_:#"
_FACT = re.compile(r"\w")
_NO_FACT = re.compile(r"`|\b(?:n/a|none|unknown|tbd)\b", re.IGNORECASE)
_NAME = re.compile(r"\b[A-Z][^\W\d_]+")
_PRONOUN = re.compile(r"(?:he|she|it|they|his|her|its|their|this|these)\b", re.IGNORECASE)
_LONGEST_CONTEXT = 160


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a text.

    Attributes:
        text: its own words, as in the text.
        context: what it is about, if that is elsewhere: the subject of an earlier part, the line before a list, a label,
            the names of a table's row and column. "" if nothing is missing.
        start, end: offsets of `text`.
        kind: what it is, or is a part of.
        sentence: index into `sentences(text)` of its sentence or list item; None for a table cell.
    """

    text: str
    context: str
    start: int
    end: int
    kind: Kind
    sentence: int | None = None

    @property
    def statement(self) -> str:
        """The claim with its context, readable on its own: "Passy: died there in 1934"."""
        return f"{self.context}: {self.text}" if self.context else self.text


def claims(text: str, says: Says = lambda _text, _kind: True, language: str = "en") -> tuple[Claim, ...]:
    """The claims of a text, in order, at most `MOST`. Time linear in its length.

    Examples
    --------
    >>> [c.statement for c in claims("She was born in Rome and died in Paris in 1934.")]
    ['She was born in Rome', 'She: died in Paris in 1934.']
    """
    result: list[Claim] = []
    for claim in _Reader(says, language).read(text):
        result.append(claim)
        if len(result) == MOST:
            break
    return tuple(result)


class _Reader:
    """One pass over the pieces of a text, with the context found so far.

    Attributes:
        heading, introduction, label, subject: context for what follows.
        columns: names of the columns of the current table; None outside tables.
    """

    def __init__(self, says: Says, language: str) -> None:
        self._says, self._language = says, language
        self.heading = self.introduction = self.label = self.subject = ""
        self.columns: list[str] | None = None

    def read(self, text: str) -> Iterator[Claim]:
        """The claims, in order."""
        position = index = 0
        parts = pieces(text)
        for i, piece in enumerate(parts):
            if piece.is_sentence:
                self.columns = None
                yield from self._sentence(piece, position, index)
                index += 1
            elif piece.text.lstrip().startswith("|"):
                yield from self._row(piece.text, position, parts[i + 2].text if i + 2 < len(parts) else "")
            elif piece.text.strip():
                self._note(piece.text)
            elif piece.text.count("\n") > 1:
                self.columns = None
            position += len(piece.text)

    def _note(self, between: str) -> None:
        """Record a heading, or a label before the next piece."""
        if between.lstrip().startswith("#"):
            self.heading, self.introduction, self.label = between.strip(_MARKS), "", ""
        elif between.rstrip(" *_").endswith(":"):
            self.label = between.strip(_MARKS)

    def _sentence(self, piece: Piece, position: int, index: int) -> Iterator[Claim]:
        label, self.label = self.label, ""
        if piece.place == "prose":
            self.introduction = piece.text.strip(_MARKS) if piece.text.rstrip("*_ ").endswith(":") else ""
        if piece.place == "quotation":
            return
        kind: Kind = "item" if piece.place == "list" else "sentence"
        if self._says(piece.text, kind):
            context = self._context(piece, label)
            for part in clauses(piece.text, self._language):
                of = f"{context}, {part.subject}" if context and part.subject else context or part.subject
                words = piece.text[part.start : part.end]
                yield Claim(words, of[-_LONGEST_CONTEXT:], position + part.start, position + part.end, kind, index)
        self._remember(piece.text)

    def _context(self, piece: Piece, label: str) -> str:
        around = (self.introduction or self.heading) if piece.place == "list" else ""
        pronoun = self.subject if _PRONOUN.match(piece.text.lstrip(_MARKS)) and not label else ""
        return ", ".join(filter(None, (around, label, pronoun)))

    def _remember(self, sentence: str) -> None:
        """Record the last subject that is a name, which later pronouns refer to."""
        if self._language == "en" and (subject := subject_of(sentence)) and not _PRONOUN.match(subject):
            self.subject = subject if _NAME.search(subject) else self.subject

    def _row(self, line: str, position: int, following: str) -> Iterator[Claim]:
        """Read a line of a table: the names of its columns, its rule, or a row of facts."""
        cells = [(match.start(), match.group()) for match in _CELL.finditer(line)]
        if _is_rule(line) or not cells:
            return
        if self.columns is None:
            self.columns = [cell.strip(_MARKS) for _, cell in cells] if _is_rule(following) else []
            if self.columns:
                return
        first = cells[0][1].strip(_MARKS) if len(cells) > 1 else ""
        for column, (offset, cell) in enumerate(cells):
            words = cell.strip()
            is_fact = _FACT.search(words) and not _NO_FACT.search(words) and len(words) <= LONGEST_CELL
            if not is_fact or (column == 0 and len(cells) > 1) or not self._says(words, "cell"):
                continue
            name = self.columns[column] if column < len(self.columns) else ""
            start = position + offset + cell.index(words)
            yield Claim(
                words, ", ".join(filter(None, (first, name)))[-_LONGEST_CONTEXT:], start, start + len(words), "cell"
            )


def _is_rule(line: str) -> bool:
    """Whether a line is the rule below the column names of a table."""
    return "-" in line and _RULE.issuperset(line)
