"""Duties that one process has for all that share a store, and its reports.

A process holds a duty for some seconds and renews it. If it dies, another takes over when the lease expires. Times are from the processes' own
clocks: if these differ by more than a lease, two processes may do the same work, which only costs time.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Literal

import sqlalchemy as sa

from .engine import transaction
from .operators import taking_turns
from .tables import answers, leases, under_way

Duty = Literal["drift", "purge", "sums"]


def take(engine: sa.Engine, duty: Duty, holder: str, seconds: float) -> bool:
    """Take a free duty, or renew one's own, for `seconds` from now; False if another process holds it.

    A lease with an end too far in the future is treated as expired: the clock was set back, and its holder may be gone.

    Raises:
        StoreError: the store cannot be written.
    """
    now = time.time()
    lease = {"holder": holder, "until": now + seconds}
    with taking_turns(engine) as connection:
        held = connection.execute(sa.select(leases).where(leases.c.duty == duty)).one_or_none()
        if held is None:
            connection.execute(sa.insert(leases).values(duty=duty, **lease))
        elif held.holder == holder or held.until <= now or held.until > now + 2 * seconds:
            connection.execute(sa.update(leases).where(leases.c.duty == duty).values(lease))
        else:
            return False
    return True


def publish(engine: sa.Engine, duty: Duty, report: str) -> None:
    """Store a report for the other processes. A duty that was never taken has no report.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        connection.execute(sa.update(leases).where(leases.c.duty == duty).values(report=report))


def published(engine: sa.Engine, duty: Duty) -> str | None:
    """The last report of a duty; None if there is none.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        report: str | None = connection.execute(sa.select(leases.c.report).where(leases.c.duty == duty)).scalar()
        return report


def give_up(engine: sa.Engine, holder: str) -> None:
    """Release the duties of a process, so that another need not wait.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        connection.execute(sa.update(leases).where(leases.c.holder == holder).values(until=0.0))


# Served answers whose rows are still being written, for all processes that share the store: a verdict on one waits for
# its row.

Announced = tuple[str, float]
"""A completion's own id, and the time by which its row is written (seconds since 1970)."""
_ANNOUNCE = sa.text(
    "INSERT INTO under_way (response_id, until) VALUES (:response_id, :until) "
    "ON CONFLICT (response_id) DO UPDATE SET until = excluded.until"
)


def announce(engine: sa.Engine, announced: Sequence[Announced]) -> list[None]:
    """Announce rows that are being written; returns one None for each. Sorted, so that two processes with the same ids cannot deadlock.

    Raises:
        StoreError: the store cannot be written.
    """
    rows = [{"response_id": name, "until": until} for name, until in sorted(dict(announced).items())]
    with transaction(engine, "write") as connection:
        connection.execute(_ANNOUNCE, rows)
    return [None] * len(announced)


def any_under_way(engine: sa.Engine, names: Collection[str]) -> bool:
    """Whether one of these completions' ids has an announced row that is not written yet.

    Raises:
        StoreError: the store cannot be read.
    """
    row = sa.exists().where(answers.c.response_id == under_way.c.response_id)
    awaited = sa.select(under_way.c.until).where(
        under_way.c.response_id.in_(names), under_way.c.until > time.time(), ~row
    )
    with transaction(engine) as connection:
        return connection.execute(awaited.limit(1)).first() is not None


def forget(engine: sa.Engine) -> None:
    """Delete expired announcements.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        connection.execute(sa.delete(under_way).where(under_way.c.until < time.time()))
