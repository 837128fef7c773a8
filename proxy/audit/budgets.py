"""What was spent today, counted in the audit's database for all processes that share it.

Each process has a row of its own with all that its requests have spent, and each request under way has one with what is held for it. Both can be
written twice with the same effect: a process whose write may have failed, or not, writes it again. What nobody gives back is free after `LEASE_S`:
the request's process died, or never learnt that something was held.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.tables import spending

LEASE_S = 900.0
"""Seconds after which nothing is held for a request any more."""
FORGETTING = 0.9
"""How fast the memory of a dear request fades, with each that comes after it."""
KEPT_DAYS = 40
_LOCK = 4_207_302
"""PostgreSQL: the advisory lock that makes those who count take turns. (SQLite has one writer anyway.)"""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request wants of one count.

    Attributes:
        name: what is counted.
        guess: what it is taken to spend where nothing is known of the requests before it.
        least: what it will spend at least.
        limit: what may be spent; None where only a soft budget counts.
    """

    name: str
    guess: float
    least: float
    limit: float | None


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of it.

    Attributes:
        used: by ask, what was spent or held before.
        refused: the index of an ask that does not fit; None where all do, and are held.
    """

    used: Sequence[float]
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a request has spent in the end, in the place of what was held for it.

    Attributes:
        ticket: the request's, whose hold ends; "" where nothing is known to be held.
        spent: by this request.
        total: by all requests of its process on that day, this one included: what the process has counted, however often it is written.
        passed: it was passed on plain; what it took says nothing of the next calibrated request.
    """

    name: str
    day: str
    ticket: str
    spent: float
    total: float
    passed: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """One count as it stands.

    Attributes:
        used: what was spent.
        held: what is held for requests under way.
        largest: what the dearest of the last calibrated requests took, fading; 0 where none is known.
    """

    used: float = 0.0
    held: float = 0.0
    largest: float = 0.0


def today(now: float) -> str:
    """The day of a moment, in UTC."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def fits(ask: Ask, count: Standing) -> bool:
    """Whether a request may go ahead: there is room for it, or it is the first, so that nothing is known of what requests take."""
    if ask.limit is None or count.used + count.held + amount_of(ask, count) <= ask.limit:
        return True
    return count.largest == 0 and count.held <= 0 and count.used + ask.least <= ask.limit


def amount_of(ask: Ask, count: Standing) -> float:
    """What is held for a request: as much as the dearest of the last ones took."""
    return max(ask.least, count.largest or ask.guess)


def take(engine: sa.Engine, ticket: str, asks: Sequence[Ask], day: str) -> Taken:
    """Hold what a request is taken to need, of all counts or of none: as much as the dearest of the last ones, which fades.

    Raises:
        StoreError: the store cannot be written.
    """
    now = time.time()
    with transaction(engine, "write") as connection:
        _wait_for_turn(connection)
        counts = [_standing(connection, ask.name, day, now) for ask in asks]
        used = [count.used + count.held for count in counts]
        refused = next((i for i, ask in enumerate(asks) if not fits(ask, counts[i])), None)
        if refused is not None:
            return Taken(used, refused=refused)
        for ask, count in zip(asks, counts, strict=True):
            _insert(connection, ask.name, day, ticket, now, held=amount_of(ask, count))
        return Taken(used)


def settle(engine: sa.Engine, holder: str, spent: Sequence[Spent]) -> None:
    """Count what requests of one process have spent, in the place of what was held for them. Doing it again changes nothing more.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        _wait_for_turn(connection)
        for one in spent:
            if one.ticket:
                connection.execute(sa.delete(spending).where(_row(one.name, one.day, one.ticket)))
            _count(connection, holder, one, time.time())


def standing(engine: sa.Engine, names: Sequence[str], day: str) -> list[Standing]:
    """How counts stand, in the order of their names.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine, "read") as connection:
        return [_standing(connection, name, day, time.time()) for name in names]


def _standing(connection: sa.Connection, name: str, day: str, now: float) -> Standing:
    s = spending.c
    held = sa.func.sum(sa.case((s.seen_at > now - LEASE_S, s.held), else_=0.0))
    row = connection.execute(
        sa.select(sa.func.sum(s.used), held, sa.func.max(s.largest)).where(s.name == name, s.day == day)
    ).one()
    return Standing(row[0] or 0.0, row[1] or 0.0, row[2] or 0.0)


def _count(connection: sa.Connection, holder: str, one: Spent, now: float) -> None:
    s = spending.c
    largest = sa.case((s.largest * FORGETTING > one.spent, s.largest * FORGETTING), else_=one.spent)
    changed = connection.execute(
        sa.update(spending)
        .where(_row(one.name, one.day, holder))
        .values(
            used=sa.case((s.used > one.total, s.used), else_=one.total),
            largest=s.largest if one.passed or not one.spent else largest,
            seen_at=now,
        )
    )
    if changed.rowcount:
        return
    oldest = today(now - timedelta(days=KEPT_DAYS).total_seconds())
    connection.execute(sa.delete(spending).where(s.day < oldest))
    largest_yet = 0.0 if one.passed else one.spent
    _insert(connection, one.name, one.day, holder, now, used=one.total, largest=largest_yet)


def _row(name: str, day: str, holder: str) -> sa.ColumnElement[bool]:
    s = spending.c
    return (s.name == name) & (s.day == day) & (s.holder == holder)


def _insert(
    connection: sa.Connection,
    name: str,
    day: str,
    holder: str,
    now: float,
    *,
    used: float = 0.0,
    held: float = 0.0,
    largest: float = 0.0,
) -> None:
    row = {"name": name, "day": day, "holder": holder, "used": used, "held": held, "largest": largest}
    connection.execute(sa.insert(spending).values(**row, seen_at=now))


def _wait_for_turn(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
