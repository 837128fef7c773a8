"""Edits of a draft by offset, and notes beside it: outside of them the text is the same by construction."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ...lexicon.reading.reading import Reading

_STOPPED = re.compile(r"[.!?。！？…][\"”»’')\]*_」』]*\s*$")
_SHORT = 280
"""Characters of an answer in one line up to which a note stands in that line."""
_LIKE_A_MARKER = re.compile(r"\d{1,9}|[A-Za-z]")
"""An answer that would begin a list if a full stop followed it."""
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


def with_note(reading: Reading, text: str, note: Note | None) -> tuple[str, int]:
    """The answer, worded as `text`, with a note before or after it, and by how many characters its own words move.

    A note is a paragraph of its own beside an answer of several lines, or behind a bare number or letter ("75. This" would be item 75 of a list); else a
    sentence. It stands before a closing offer ("Let me know ...").
    """
    if note is None:
        return text, 0
    is_apart = len(text) > _SHORT or "\n" in text.strip()
    if note.where == "start":
        gap = "\n\n" if is_apart else " "
        return f"{note.text}{gap}{text}", len(note.text) + len(gap)
    body, rest = text.rstrip(), ""
    last = reading.sentences[-1] if reading.sentences else None
    farewell = reading.words_of(last) if last is not None and last.act == "speaks" and last.index > 0 else ""
    if farewell and body.endswith(farewell):
        body, rest = body[: -len(farewell)].rstrip(), farewell
    gap = "\n\n" if is_apart or _LIKE_A_MARKER.fullmatch(body) else " "
    stop = "" if gap == "\n\n" or _STOPPED.search(body) else "."
    return f"{body}{stop}{gap}{note.text}" + (f"{gap}{rest}" if rest else ""), 0
