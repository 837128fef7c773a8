"""Work that one process does for all that share a store: whose turn it is, and what that one found.

A process holds a duty for some seconds and renews it with each turn. Where it dies another takes over when the time has run out. The times
are of the processes' own clocks: where these differ by more than a lease lasts, two may do the same work, which costs time and nothing else.
"""

from __future__ import annotations

import time
from typing import Literal

import sqlalchemy as sa

from hedgerow.proxy.audit.engine import transaction
from hedgerow.proxy.audit.operators import taking_turns
from hedgerow.proxy.audit.tables import leases

Duty = Literal["drift", "purge", "sums"]


def take(engine: sa.Engine, duty: Duty, holder: str, seconds: float) -> bool:
    """Take a duty that nobody holds, or keep one's own, for so many seconds from now; False where another process holds it.

    A turn that ends later than any could that was taken about now is over: the clock was set back, and its holder may be gone.

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
    """Leave what was found for the processes whose turn it is not. A duty that was never taken has no report.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        connection.execute(sa.update(leases).where(leases.c.duty == duty).values(report=report))


def published(engine: sa.Engine, duty: Duty) -> str | None:
    """The last report of a duty; None where there is none.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        report: str | None = connection.execute(sa.select(leases.c.report).where(leases.c.duty == duty)).scalar()
        return report


def give_up(engine: sa.Engine, holder: str) -> None:
    """Free what a process holds, so that its successor need not wait.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        connection.execute(sa.update(leases).where(leases.c.holder == holder).values(until=0.0))
