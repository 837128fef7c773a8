"""The rows of the request explorer: filtered requests, newest first, page by page.

Two steps: an index with every filtered column (`ix_answers_counted`) gives the ids, then those few rows are read. Pages continue by time and id,
so that a later page costs no more than the first and new rows shift nothing. Rare requests may be far back, and texts have no index: a page reads
a limited number of rows and texts, says how far back it came, and the next one continues there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import sqlalchemy as sa

from ..types import Json
from .engine import Connection
from .hours import HOUR_S
from .tables import answers, hour_endings, texts, verdicts

Judged = Literal["right", "wrong", "any", "none"]
PAGE = 50
EXPORT_PAGE = 1000
"""Rows of one page of a list, and of an export."""
TEXTS_READ = 5000
"""Number of candidates whose texts one page of a search reads."""
ROWS_READ = 3_000_000
"""Number of rows, by hourly sums (`hours`), after which one page stops: at most some seconds of PostgreSQL."""
MAX_TEXT = 200
"""Longest search text in characters."""
SHOWN_CHARS = 300
"""Characters of a question or an answer in a list."""


_INDICES_ONLY = "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL random_page_cost = 1"
"""Transaction settings that make PostgreSQL read the index with all columns. By default it counts an index page like four table pages, and would
read a quarter of the table for a common key, or all of it in the order of ids; rare combinations took three times as long.
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of requests; None does not restrict, "" means "without one".

    Attributes:
        least, most: bounds of the calibrated mean, in [0, 1]; either excludes requests without a confidence.
        judged: by the current verdict; "right" from 0.5 on.
        text: part of the question or an answer, if texts are stored readable; case is ignored.
        since, until: seconds since 1970, UTC.
    """

    route: str | None = None
    key: str | None = None
    model: str | None = None
    status: str | None = None
    arm: str | None = None
    least: float | None = None
    most: float | None = None
    judged: Judged | None = None
    text: str | None = None
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the list: rows older than this time and id come after it."""

    created_at: float
    id: str

    def __str__(self) -> str:
        return f"{self.created_at!r}_{self.id}"

    @classmethod
    def read(cls, text: str) -> Place | None:
        """Parse the result of `str`; None for anything else."""
        moment, between, name = text.partition("_")
        try:
            return cls(float(moment), name) if between else None
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows of a list.

    Attributes:
        after: where the next page begins; None at the end.
        read_back_to: how far back the page came when it reached its limit of rows; None if it did not.
    """

    rows: list[Json]
    after: Place | None
    read_back_to: float | None = None


def requests(
    connection: Connection, chosen: Filter, after: Place | None = None, size: int = PAGE, *, whole: bool = False
) -> Page:
    """A page of requests, newest first: the columns of `LISTED`; `whole` does not shorten their texts."""
    weighs = connection.dialect.name == "postgresql"
    if weighs:
        connection.exec_driver_sql(_INDICES_ONLY)
    reached = _reached(connection, chosen, after)
    wanted = _chosen(chosen if reached is None else replace(chosen, since=reached), after, weighs=weighs)
    last = None if reached is None else Place(reached, "")  # before every row of that time
    if chosen.text:
        read_last = connection.execute(wanted.offset(TEXTS_READ - 1).limit(1)).first()
        last = Place(*read_last) if read_last is not None else last
        wanted = _saying(wanted.limit(TEXTS_READ).subquery(), chosen.text)
    page = wanted.limit(size + 1).subquery()
    rows = [dict(row) for row in connection.execute(_listed(page, whole)).mappings()]
    if len(rows) > size:
        rows = rows[:size]
        return Page(rows, Place(rows[-1]["created_at"], rows[-1]["id"]))
    return Page(rows, last, None if last is None else last.created_at)


def _reached(connection: Connection, chosen: Filter, after: Place | None) -> float | None:
    """The time at which a page reaches its limit of rows; None if the end of the list comes first, or the page needs no limit."""
    if replace(chosen, since=None, until=None) == Filter():
        return None
    h = hour_endings.c
    by_hour = sa.select(h.hour, sa.func.sum(h.requests)).group_by(h.hour).order_by(h.hour.desc())
    before = [moment for moment in (chosen.until, after.created_at if after else None) if moment is not None]
    if before:
        by_hour = by_hour.where(h.hour < min(before))
    if chosen.since is not None:
        by_hour = by_hour.where(h.hour > chosen.since)
    read = 0
    for hour, number in connection.execute(by_hour):
        if read >= ROWS_READ:
            return float(hour + HOUR_S)
        read += int(number)
    return None


def _chosen(chosen: Filter, after: Place | None, *, weighs: bool) -> sa.Select[Any]:
    """Time and id of the requests that match the filter without its text, newest first.

    PostgreSQL chooses indices by its statistics (`weighs`). SQLite, without statistics, would choose an index of one column and read the table for
    each row; so every column is an expression there, which makes it read only the index with all columns.
    """
    a = answers.c
    statement = sa.select(a.created_at, a.id).order_by(a.created_at.desc(), a.id.desc())
    for name in ("route", "key", "model", "status", "arm"):
        if (value := getattr(chosen, name)) is not None:
            statement = statement.where(_is(a[name], value, weighs=weighs))
    if chosen.since is not None:
        statement = statement.where(a.created_at >= chosen.since)
    if chosen.until is not None:
        statement = statement.where(a.created_at <= chosen.until)
    mean = a.alpha / (a.alpha + a.beta)
    if chosen.least is not None:
        statement = statement.where(mean >= chosen.least)
    if chosen.most is not None:
        statement = statement.where(mean <= chosen.most)
    if chosen.judged is not None:
        statement = statement.where(_judged(chosen.judged))
    if after is not None:
        statement = statement.where(sa.tuple_(a.created_at, a.id) < (after.created_at, after.id))
    return statement


def _is(column: sa.ColumnElement[Any], value: str, *, weighs: bool) -> sa.ColumnElement[bool]:
    if weighs:
        return column == value if value else column.is_(None)
    return sa.func.coalesce(column, "") == value


def _judged(judged: Judged) -> sa.ColumnElement[bool]:
    v = verdicts.c
    current = sa.exists().where(v.answer_id == answers.c.id, v.current)
    if judged in ("any", "none"):
        return current if judged == "any" else ~current
    return current.where(v.correct >= 0.5 if judged == "right" else v.correct < 0.5)


def _saying(candidates: sa.Subquery, text: str) -> sa.Select[Any]:
    """The candidates whose readable texts contain the search text."""
    t = texts.c
    said = sa.or_(*(column.icontains(text, autoescape=True) for column in (t.question, t.answer, t.draft, t.served)))
    return (
        sa.select(candidates.c.created_at, candidates.c.id)
        .join(texts, t.answer_id == candidates.c.id)
        .join(answers, answers.c.id == candidates.c.id)
        .where(answers.c.store_text.in_(("full", "redacted")), said)
        .order_by(candidates.c.created_at.desc(), candidates.c.id.desc())
    )


def _listed(page: sa.Subquery, whole: bool) -> sa.Select[Any]:
    a, v, t = answers.c, verdicts.c, texts.c

    def text(column: sa.ColumnElement[str]) -> sa.ColumnElement[Any]:
        shown = column if whole else sa.func.substr(column, 1, SHOWN_CHARS)
        return sa.case((a.store_text != "hashed", shown))

    columns = {
        "confidence": a.alpha / (a.alpha + a.beta),
        "raw_confidence": a.raw_alpha / (a.raw_alpha + a.raw_beta),
        "tokens": a.tokens_answer + a.tokens_samples + a.tokens_rewrite + a.tokens_escalation,
        "correct": v.correct,
        "verdict_kind": v.kind,
        "fd": v.fd,
        "question": text(t.question),
        "answer": text(sa.func.coalesce(t.served, t.answer, t.draft)),
    }
    selected = (columns[name].label(name) if name in columns else a[name] for name in LISTED)
    return (
        sa.select(*selected)
        .select_from(page)
        .join(answers, a.id == page.c.id)
        .outerjoin(verdicts, sa.and_(v.answer_id == a.id, v.current))
        .outerjoin(texts, t.answer_id == a.id)
        .order_by(page.c.created_at.desc(), page.c.id.desc())
    )


LISTED = {
    "id": "text", "created_at": "float", "route": "text", "key": "text", "model": "text", "mode": "text", "arm": "text",
    "status": "text", "reason": "text", "http_status": "int", "confidence": "float", "raw_confidence": "float", "hedge": "text",
    "map_id": "text", "tokens": "int", "duration_ms": "float", "correct": "float", "verdict_kind": "text", "fd": "float",
    "question": "text", "answer": "text",
}  # fmt: skip
"""The columns of a list and their kinds; `answer` is the text that the client got."""
