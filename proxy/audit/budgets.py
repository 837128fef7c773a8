"""Spending of a day, counted in the audit's database for all processes that share it.

Each process has a row with the total of its requests, and each request in flight has a row with its reservation. Both can be written twice with
the same effect, so that a write with an unknown result is repeated. A reservation that is never released expires after `LEASE_S`: its process
died, or did not learn about it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from .engine import transaction
from .tables import spending

LEASE_S = 900.0
"""Seconds after which a reservation expires."""
FORGETTING = 0.9
"""Factor by which the largest known cost falls with each cheaper request."""
KEPT_DAYS = 40
_LOCK = 4_207_302
"""PostgreSQL: the advisory lock for writers of counters. (SQLite has one writer anyway.)"""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a request needs of one counter.

    Attributes:
        name: name of the counter.
        guess: estimated cost without data on earlier requests.
        least: lower bound of its cost.
        limit: maximum of the counter; None if it has a soft budget only.
    """

    name: str
    guess: float
    least: float
    limit: float | None


@dataclass(frozen=True, slots=True)
class Taken:
    """The result of `take`.

    Attributes:
        used: for each counter, the amount spent or reserved before.
        held: for each counter, the amount that is reserved; empty if it was refused.
        refused: index of a counter without room; None if all have room and the amounts are reserved.
    """

    used: Sequence[float]
    held: Sequence[float] = ()
    refused: int | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """The actual cost of a request, which replaces its reservation.

    Attributes:
        ticket: the request whose reservation ends; "" without one.
        spent: by this request.
        total: spent by all requests of its process on that day, including this one; writing it twice changes nothing.
        passed: whether it was passed through, or is not known; then its cost does not predict that of calibrated requests.
    """

    name: str
    day: str
    ticket: str
    spent: float
    total: float
    passed: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one counter.

    Attributes:
        used: the amount spent.
        held: the amount reserved for requests in flight.
        largest: cost of the most expensive recent calibrated request, decreasing over time; 0 if unknown.
    """

    used: float = 0.0
    held: float = 0.0
    largest: float = 0.0


def today(now: float) -> str:
    """The day of a time, in UTC."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def fits(ask: Ask, count: Standing) -> bool:
    """Whether there is room for a request, or it is the first one, so that the cost of requests is unknown."""
    if ask.limit is None or count.used + count.held + amount_of(ask, count) <= ask.limit:
        return True
    return count.largest == 0 and count.held <= 0 and count.used + ask.least <= ask.limit


def amount_of(ask: Ask, count: Standing) -> float:
    """The reservation of a request: the cost of the most expensive recent one."""
    return max(ask.least, count.largest or ask.guess)


def take(engine: sa.Engine, ticket: str, asks: Sequence[Ask], day: str) -> Taken:
    """Reserve the estimated cost of a request in all counters, or in none.

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
        amounts = [amount_of(ask, count) for ask, count in zip(asks, counts, strict=True)]
        for ask, amount in zip(asks, amounts, strict=True):
            _insert(connection, ask.name, day, ticket, now, held=amount)
        return Taken(used, amounts)


def settle(engine: sa.Engine, holder: str, spent: Sequence[Spent]) -> None:
    """Replace reservations by the actual costs, for requests of one process. Repeating the call changes nothing.

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
    """The state of counters, in the order of their names.

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
