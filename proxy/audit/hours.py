"""Sums of whole hours, so that figures over weeks need not count every request again.

One process sums up each hour once, some time after its end (`sum_up_next`). What changes the rows of such an hour afterwards, one that comes
late or retention, drops its sums in the same transaction; until it is summed up again its rows are counted themselves. So a figure is
always the one that counting all rows gives. Sums hold no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, inf, nextafter
from typing import Any

import sqlalchemy as sa

from hedgerow.proxy.audit.engine import Connection, Engine, transaction
from hedgerow.proxy.audit.tables import answers, hour_counts, hour_endings, hours
from hedgerow.proxy.outcomes import Status

HOUR_S = 3600
LATE_S = 1800.0
"""A row this much older than now may belong to an hour that is summed up."""
SETTLED_S = 2 * LATE_S
"""How long after its end an hour is summed up; clocks of processes may differ by what this is more than `LATE_S`."""
CELLS = 20
"""Equal cells of [0, 1] in which mean confidences are counted."""
PURPOSES = ("answer", "samples", "rewrite", "escalation")
"""What tokens are spent on."""
MARKER, SERVED_MARKER = "marker", "served"
"""Kinds of `hour_counts`: answers by the draft's own marker, and by that of what was served (`served_marker`)."""
_TOKENS = tuple(f"tokens_{purpose}" for purpose in PURPOSES)
COSTS = ("cost_answer", "cost_calibration")
SUMMED = ("requests", *_TOKENS, "duration_ms", *COSTS, "unpriced")
"""What is summed over requests that ended alike, as `hour_endings` names it."""
_HEDGED = sa.literal_column(f"'{Status.HEDGED}'", sa.String)
_ABSTAINED = sa.literal_column(f"'{Status.ABSTAINED}'", sa.String)
_ESCALATED = sa.literal_column(f"'{Status.ESCALATED}'", sa.String)
"""Written out: PostgreSQL takes an expression with parameters for another one in GROUP BY."""
_LOCK = 0x6865_6467_6868
"""Any number that nobody else locks."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """From a moment (None: from the beginning) until before another."""

    since: float | None
    until: float

    @classmethod
    def of(cls, since: float | None, until: float) -> Stretch:
        """That of a period, which includes its end."""
        return cls(since, nextafter(until, inf))

    def holds(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        """The condition on a column of moments."""
        before = column < self.until
        return before if self.since is None else before & (column >= self.since)


@dataclass(frozen=True, slots=True)
class Parts:
    """A period in the hours that are summed up, from the first one's beginning until the last one's, and in the stretches of which rows have to be counted."""

    first: int
    last: int
    between: tuple[Stretch, ...]

    def holds(self, hour: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        """The condition on a column of hours."""
        return hour.between(self.first, self.last)


def parts_of(connection: Connection, since: float | None, until: float) -> Parts:
    """The parts of a period, both ends included. The sums must be read in the same snapshot."""
    first = 0 if since is None else ceil(since / HOUR_S) * HOUR_S
    last = floor(until / HOUR_S) * HOUR_S - HOUR_S
    known = sa.select(hours.c.hour).where(hours.c.hour.between(first, last)).order_by(hours.c.hour)
    between: list[Stretch] = []
    start = since
    for hour in connection.execute(known).scalars():
        if start is None or start < hour:
            between.append(Stretch(start, float(hour)))
        start = float(hour + HOUR_S)
    between.append(Stretch.of(start, until))
    return Parts(first, last, tuple(between))


def row_sums() -> list[sa.ColumnElement[Any]]:
    """`SUMMED`, over rows."""
    a = answers.c
    known = a.cost_answer.is_not(None) & a.cost_calibration.is_not(None)
    return [
        sa.func.count(),
        *(sa.func.sum(a[name]) for name in _TOKENS),
        sa.func.sum(a.duration_ms),
        *(sa.func.sum(sa.case((known, a[name]), else_=0.0)) for name in COSTS),
        sa.func.sum(sa.case((a.raw_alpha.is_not(None) & ~known, 1), else_=0)),
    ]


def cell(alpha: sa.ColumnElement[Any], beta: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """The cell of a mean confidence; a mean of 1 is in the last."""
    found = sa.cast(sa.func.floor(alpha / (alpha + beta) * CELLS), sa.Integer)
    return sa.case((found >= CELLS, CELLS - 1), else_=found)


def served_marker() -> sa.ColumnElement[Any]:
    """What an answer was worded with (shadow: would have been): the id of our hedge, else the draft's own marker; null where nobody got it, no draft
    marker was read or no one entry of the lexicon words it.
    """
    a = answers.c
    unsaid = (a.status == _ABSTAINED) | (a.status == _ESCALATED) | a.own_marker.is_(None)
    return sa.case((unsaid, sa.null()), (a.status == _HEDGED, a.hedge), else_=a.own_marker)


def sum_up_next(engine: Engine, now: float) -> int | None:
    """Sum up the newest hour that has ended long enough ago and is not summed up; its beginning, seconds since 1970, or None where all are.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine) as connection:
        hour = _next(connection, now)
    if hour is None:
        return None
    with transaction(engine, "write") as connection:
        _take_turn(connection)
        if connection.execute(sa.select(hours.c.hour).where(hours.c.hour == hour)).first() is None:
            _sum_up(connection, hour)
    return hour


def drop_sums(connection: Connection, moments: Iterable[float]) -> None:
    """Before rows of these moments are added or deleted, in the same transaction."""
    changed = {floor(moment / HOUR_S) * HOUR_S for moment in moments}
    if changed:
        _take_turn(connection)
        for table in (hours, hour_endings, hour_counts):
            connection.execute(sa.delete(table).where(table.c.hour.in_(changed)))


def _next(connection: Connection, now: float) -> int | None:
    oldest = connection.execute(sa.select(sa.func.min(answers.c.created_at))).scalar()
    if oldest is None:
        return None
    first, last = floor(oldest / HOUR_S) * HOUR_S, floor((now - SETTLED_S) / HOUR_S) * HOUR_S - HOUR_S
    known = set(connection.execute(sa.select(hours.c.hour).where(hours.c.hour.between(first, last))).scalars())
    return next((hour for hour in range(last, first - 1, -HOUR_S) if hour not in known), None)


def _take_turn(connection: Connection) -> None:
    """Wait for whoever sums up or drops sums, so that no row is added between an hour's count and its commit. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))


def _sum_up(connection: Connection, hour: int) -> None:
    a, begun = answers.c, sa.literal(hour, sa.BigInteger)
    within = Stretch(float(hour), float(hour + HOUR_S)).holds(a.created_at)
    alike = (sa.func.coalesce(a.route, ""), sa.func.coalesce(a.mode, ""), a.status, sa.func.coalesce(a.reason, ""))
    endings = sa.select(begun, *alike, *row_sums()).where(within).group_by(*alike)
    names = ["hour", "route", "mode", "status", "reason", *SUMMED]
    connection.execute(sa.insert(hour_endings).from_select(names, endings))
    mean = a.raw_alpha / (a.raw_alpha + a.raw_beta)
    for kind, name, whose in (
        ("raw", sa.cast(cell(a.raw_alpha, a.raw_beta), sa.String), a.raw_alpha.is_not(None)),
        ("calibrated", sa.cast(cell(a.alpha, a.beta), sa.String), a.alpha.is_not(None)),
        (MARKER, a.own_marker, a.own_marker.is_not(None)),
        (SERVED_MARKER, served_marker(), served_marker().is_not(None)),
    ):
        keys = (sa.func.coalesce(a.route, ""), name)
        sums = (sa.func.count(), sa.func.sum(mean), sa.func.sum(mean * mean))
        counts = sa.select(begun, sa.literal(kind), *keys, *sums).where(within, whose).group_by(*keys)
        names = ["hour", "kind", "route", "name", "answers", "total", "squares"]
        connection.execute(sa.insert(hour_counts).from_select(names, counts))
    connection.execute(sa.insert(hours).values(hour=hour))
