"""Whether the clock can be believed: nothing is deleted by its age after a jump that nobody has confirmed.

The clock is compared with a steady one that nobody can set, and with PostgreSQL's own. A jump beyond minutes is recorded in `changes`, where all
processes that share the store see it, also after a restart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from socket import gethostname

import sqlalchemy as sa

from .engine import Connection, Engine, transaction
from .operators import note_change
from .tables import changes

JUMP_S = 300.0
"""Seconds by which a clock may move, or be apart from the database's."""
JUMP, CONFIRMED = "clock_jump", "clock_confirmed"
_UNITS = (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0))


def _wall() -> float:
    return time.time()


def _steady() -> float:
    """Seconds since the machine was started, those of its sleep included."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class Clock:
    """The clock of this process.

    Attributes:
        now: gives seconds since 1970.
    """

    def __init__(self, engine: Engine, now: Callable[[], float] = _wall, steady: Callable[[], float] = _steady) -> None:
        self.now = now
        self._engine, self._steady = engine, steady
        self._offset, self._apart = now() - steady(), 0.0

    def look(self) -> str | None:
        """Record a jump since the last look. Returns the last jump, of any process, if nobody has confirmed it.

        Raises:
            StoreError: the store cannot be read or written; the jump is found by the next look.
        """
        offset, apart = self.now() - self._steady(), self._apart_from_database()
        moved, parted = offset - self._offset, apart - self._apart
        if abs(moved) > JUMP_S:
            self._record(f"the clock of {gethostname()} was set {_span(moved)}")
        elif abs(parted) > JUMP_S:
            self._record(f"the clock of {gethostname()} is {_span(apart)} compared with the database's")
        self._offset, self._apart = offset, apart
        with transaction(self._engine) as connection:
            return unconfirmed(connection)

    def _apart_from_database(self) -> float:
        if self._engine.dialect.name != "postgresql":
            return 0.0
        with transaction(self._engine) as connection:
            theirs = connection.execute(sa.text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one()
        return self.now() - float(theirs)

    def _record(self, what: str) -> None:
        with transaction(self._engine, "write") as connection:
            note_change(connection, actor="server", what=JUMP, note=what)


def unconfirmed(connection: Connection) -> str | None:
    """The last jump of a clock, as a clause; None if there was none, or somebody has confirmed the time since."""
    newest = sa.select(changes.c.what, changes.c.note).where(changes.c.what.in_((JUMP, CONFIRMED)))
    row = connection.execute(newest.order_by(changes.c.id.desc()).limit(1)).first()
    return row.note if row is not None and row.what == JUMP else None


def confirm(engine: Engine, actor: str) -> None:
    """Record that the clocks are right as they are.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine, "write") as connection:
        if unconfirmed(connection) is not None:
            note_change(connection, actor=actor, what=CONFIRMED)


def _span(seconds: float) -> str:
    unit, length = next((unit for unit in _UNITS if abs(seconds) >= 2 * unit[1]), _UNITS[-1])
    return f"{abs(seconds) / length:.0f} {unit} {'ahead' if seconds > 0 else 'back'}"
