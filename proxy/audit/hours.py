"""Hourly sums, so that figures over weeks need not read every request.

One process sums up each hour once, some time after its end (`sum_up_next`). A later change of its rows (a late row, or retention) drops its sums
in the same transaction, and until it is summed up again its rows are counted. So a figure always equals the count over all rows. Sums contain
no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, nextafter
from typing import Any, Literal

import sqlalchemy as sa

from .engine import Connection, Engine, transaction
from .tables import answers, hour_counts, hour_endings, hours

HOUR_S = 3600
SETTLED_S = 3600.0
"""Seconds from the end of an hour until it is summed up: most rows that come late are there by then. Each that comes later drops the sums again."""
CELLS = 20
"""Number of equal cells of [0, 1] for histograms of mean confidences."""
PURPOSES = ("answer", "samples", "rewrite", "escalation")
"""Purposes of tokens."""
_TOKENS = tuple(f"tokens_{purpose}" for purpose in PURPOSES)
COSTS = ("cost_answer", "cost_calibration")
SUMMED = ("requests", *_TOKENS, "duration_ms", *COSTS, "unpriced")
"""The sums over requests with the same outcome, by column of `hour_endings`."""
_LOCK = 0x6865_6468
"""The first number of the advisory locks; the second is the hour."""
_TURNS = {
    "sum": sa.text("SELECT pg_advisory_xact_lock(:lock, hour) FROM unnest(CAST(:hours AS int[])) AS hour"),
    "change": sa.text("SELECT pg_advisory_xact_lock_shared(:lock, hour) FROM unnest(CAST(:hours AS int[])) AS hour"),
}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A half-open time interval; a start of None means from the beginning."""

    since: float | None
    until: float

    @classmethod
    def of(cls, since: float | None, until: float) -> Stretch:
        """The interval of a period, which includes its end."""
        return cls(since, nextafter(until, inf))

    def holds(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        """The condition on a column of moments."""
        before = column < self.until
        return before if self.since is None else before & (column >= self.since)


@dataclass(frozen=True, slots=True)
class Parts:
    """A period split into summed hours, from the first one's start until the last one's, and intervals whose rows must be counted."""

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
    """The cell of a mean confidence; 1 is in the last cell."""
    found = sa.cast(sa.func.floor(alpha / (alpha + beta) * CELLS), sa.Integer)
    return sa.case((found >= CELLS, CELLS - 1), else_=found)


def sum_up_next(engine: Engine, now: float) -> int | None:
    """Sum up the newest hour that has ended and is not summed up. Returns its start in seconds since 1970, or None if all are summed up.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine) as connection:
        hour = _next(connection, now)
    if hour is None:
        return None
    with transaction(engine, "write") as connection:
        take_turn(connection, [hour], "sum")
        if connection.execute(sa.select(hours.c.hour).where(hours.c.hour == hour)).first() is None:
            _sum_up(connection, hour)
    return hour


def drop_sums(connection: Connection, moments: Iterable[float]) -> None:
    """Drop the sums of these times, if there are any, in the transaction that adds or deletes their rows, before it does. Which hours are summed
    up the table says, and no clock: one that was ahead may have summed up the present. SQLite: something must be written before.
    """
    changed = sorted({floor(moment / HOUR_S) * HOUR_S for moment in moments})
    take_turn(connection, changed, "change")
    known = sa.select(hours.c.hour).where(hours.c.hour.in_(changed)).order_by(hours.c.hour).with_for_update()
    if dropped := connection.execute(known).scalars().all():
        for table in (hours, hour_endings, hour_counts):
            connection.execute(sa.delete(table).where(table.c.hour.in_(dropped)))


def _next(connection: Connection, now: float) -> int | None:
    oldest = connection.execute(sa.select(sa.func.min(answers.c.created_at))).scalar()
    if oldest is None:
        return None
    first, last = floor(oldest / HOUR_S) * HOUR_S, floor((now - SETTLED_S) / HOUR_S) * HOUR_S - HOUR_S
    known = set(connection.execute(sa.select(hours.c.hour).where(hours.c.hour.between(first, last))).scalars())
    return next((hour for hour in range(last, first - 1, -HOUR_S) if hour not in known), None)


def take_turn(connection: Connection, hours: Sequence[int], to: Literal["sum", "change"]) -> None:
    """Lock some hours, so that no row of one is added between its count and the commit of its sums; who changes rows waits for nobody who does.
    SQLite has one writer anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_TURNS[to], {"lock": _LOCK, "hours": [hour // HOUR_S for hour in hours]})


def _sum_up(connection: Connection, hour: int) -> None:
    a, begun = answers.c, sa.literal(hour, sa.BigInteger)
    within = Stretch(float(hour), float(hour + HOUR_S)).holds(a.created_at)
    alike = (sa.func.coalesce(a.route, ""), sa.func.coalesce(a.mode, ""), a.status, sa.func.coalesce(a.reason, ""))
    endings = sa.select(begun, *alike, *row_sums()).where(within).group_by(*alike)
    names = ["hour", "route", "mode", "status", "reason", *SUMMED]
    connection.execute(sa.insert(hour_endings).from_select(names, endings))
    for kind, name, whose in (
        ("raw", sa.cast(cell(a.raw_alpha, a.raw_beta), sa.String), a.raw_alpha.is_not(None)),
        ("calibrated", sa.cast(cell(a.alpha, a.beta), sa.String), a.alpha.is_not(None)),
    ):
        keys = (sa.func.coalesce(a.route, ""), name)
        counts = sa.select(begun, sa.literal(kind), *keys, sa.func.count()).where(within, whose).group_by(*keys)
        names = ["hour", "kind", "route", "name", "answers"]
        connection.execute(sa.insert(hour_counts).from_select(names, counts))
    connection.execute(sa.insert(hours).values(hour=hour))
