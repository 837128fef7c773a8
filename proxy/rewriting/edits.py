"""Edits of a draft by offset, and notes beside it: outside of them the text is the same by construction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_STOPPED = re.compile(r"[.!?。！？…][\"”»’')\]*_」』]*\s*$")
_SHORT = 280
"""Characters of an answer in one line up to which a note stands in that line."""
Where = Literal["start", "end"]
"""Whether a note stands before or after the answer."""


@dataclass(frozen=True, slots=True)
class Edit:
    """`draft[start:end]` becomes `text`; `hedge` is the id of the lexicon's entry in it, if it is one."""

    start: int
    end: int
    text: str
    hedge: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence of its own before or after the answer; `hedge` is the id of the lexicon's entry in it, if it is one."""

    text: str
    where: Where
    hedge: str | None = None


def applied(draft: str, edits: Iterable[Edit]) -> str:
    """The draft with the edits, in whatever order they are given.

    >>> applied("Yes, in 1912.", [Edit(5, 7, "probably in"), Edit(0, 3, "Probably yes")])
    'Probably yes, probably in 1912.'

    Raises:
        ValueError: an edit is outside the draft, or overlaps another; it names which. Two insertions at one place overlap.
    """
    pieces, done = [], 0
    last: Edit | None = None
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if not 0 <= edit.start <= edit.end <= len(draft):
            raise ValueError(f"the edit of {edit.start}:{edit.end} is outside a text of {len(draft)} characters")
        if last is not None and (edit.start < last.end or edit.start == last.start):
            raise ValueError(f"the edit of {edit.start}:{edit.end} overlaps that of {last.start}:{last.end}")
        pieces += [draft[done : edit.start], edit.text]
        done, last = edit.end, edit
    return "".join((*pieces, draft[done:]))


def noted(text: str, note: Note) -> str:
    r"""A text with a note: in its own line, or a paragraph apart if the text is long, has several lines, or does not end as a sentence does.

    >>> noted("It is in Rome.", Note("I'm not sure of this.", "end")), noted("75", Note("This is a guess.", "end"))
    ("It is in Rome. I'm not sure of this.", '75\n\nThis is a guess.')
    """
    body = text.strip()
    is_line = len(body) <= _SHORT and "\n" not in body
    if note.where == "start":
        return note.text + (" " if is_line else "\n\n") + text
    return text.rstrip() + (" " if is_line and _STOPPED.search(body) else "\n\n") + note.text
