"""Measure answers one row at a time: the lexicon's reader tells how decisive each assertion sounds, rules and words tell contradictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..datasets import BadRow
from .assertions import Unread, assertions
from .contradiction import by_words
from .figures import Gathered
from .rows import Answered, Judged, Row


def judge(row: Answered) -> Judged:
    """Measure a row.

    Raises:
        Unread: its answer cannot be read.
    """
    asserted = assertions(row.answer, row.question)
    table = by_words(row.question, asserted, row.samples) if asserted else []
    return Judged(tuple(one.decisiveness for one in asserted), tuple(table))


def measure(
    rows: Iterable[tuple[int, Row | BadRow]], on_row: Callable[[], None] = lambda: None
) -> tuple[Gathered, list[BadRow], list[tuple[int, str]]]:
    """The figures of all rows; rows that cannot be used; and line and reason of answers that cannot be read."""
    gathered, bad, unread = Gathered(), list[BadRow](), list[tuple[int, str]]()
    for line, row in rows:
        on_row()
        if isinstance(row, BadRow):
            bad.append(row)
        elif isinstance(row, Answered):
            try:
                gathered.add(judge(row).of(row))
            except Unread as refused:
                gathered.unread += 1
                unread.append((line, str(refused)))
        else:
            gathered.add(row)
    return gathered, bad, unread
