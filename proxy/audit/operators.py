"""Operators' changes at run time, with author and time, and alarms.

Blocking functions of an engine: the server calls them in worker threads, the command line directly. Each change is one transaction with the
new state and its row in `changes`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from .engine import Connection, transaction
from .tables import alarms, changes, route_states

Engine = sa.Engine
"""The engine type, for code outside this package."""
Setting = Literal["mode", "map"]
MAX_LISTED = 200
"""Maximum number of entries on a page."""
LONGEST_NOTE = 2000
"""Maximum length in characters of the reason for a change."""
_COLUMNS = {"mode": route_states.c.mode, "map": route_states.c.map_id}
_LOCK = 4_207_301
"""PostgreSQL: the advisory lock for writers of states and alarms. (SQLite has one writer anyway.)"""


@dataclass(frozen=True, slots=True)
class RouteState:
    """Operators' settings of a route; None for the configuration's own."""

    mode: str | None
    map_id: str | None
    updated_at: float
    actor: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change by an operator. `before` and `after` are None for the configuration's own value."""

    created_at: float
    actor: str
    what: str
    route: str | None
    before: str | None
    after: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm on a map or a promise. `cleared_at` is None until it is cleared."""

    created_at: float
    route: str
    map_id: str | None
    kind: str
    statistic: float
    threshold: float
    cleared_at: float | None
    actor: str | None


def states(engine: sa.Engine) -> dict[str, RouteState]:
    """Operators' settings by route.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        rows = connection.execute(sa.select(route_states)).mappings()
        return {r["route"]: RouteState(r["mode"], r["map_id"], r["updated_at"], r["actor"]) for r in rows}


@dataclass(frozen=True, slots=True)
class Record:
    """What a process knows of `changes`.

    Attributes:
        erasures: number of erasures of answers.
        last: number and time of the newest change; 0 without one.
    """

    erasures: int = 0
    last: tuple[int, float] = (0, 0.0)


def read_record(engine: sa.Engine) -> Record:
    """What there is to know now.

    Raises:
        StoreError: the store cannot be read.
    """
    newest = sa.select(changes.c.id, changes.c.created_at).order_by(changes.c.id.desc()).limit(1)
    counted = sa.select(sa.func.count()).select_from(changes).where(changes.c.what == "erase")
    with transaction(engine) as connection:
        last = connection.execute(newest).one_or_none()
        return Record(int(connection.execute(counted).scalar_one()), (last.id, last.created_at) if last else (0, 0.0))


def note_if_gone(engine: sa.Engine, known: Record) -> str | None:
    """Record that the newest change that a process knew is not in the store any more; None if it is. Changes are never deleted: the store was set back.

    Raises:
        StoreError: the store cannot be read or written.
    """
    number, moment = known.last
    mine = sa.select(changes.c.id).where(changes.c.id == number, changes.c.created_at == moment)
    with transaction(engine) as connection:
        if not number or connection.execute(mine).first() is not None:
            return None
    when = datetime.fromtimestamp(moment, UTC)
    note = f"change {number} of {when:%Y-%m-%d %H:%M:%S} UTC is gone, and with it keys, modes, maps, certificates and verdicts of that time"
    with transaction(engine, "write") as connection:
        note_change(connection, actor="server", what="changes_gone", before=str(number), note=note)
    return note


def set_state(
    engine: sa.Engine, route: str, what: Setting, value: str | None, *, actor: str, note: str | None = None
) -> Change:
    """Set a route's mode or map; None returns it to the configuration.

    Raises:
        StoreError: the store cannot be written.
    """
    with taking_turns(engine) as connection:
        return _set(connection, route, what, value, actor, what, note)


def roll_back(engine: sa.Engine, route: str, *, actor: str, note: str | None = None) -> Change | None:
    """Return a route to its previous map; None if it has had no other.

    Rolling back twice goes two maps back: a rollback removes the last activation from the history and does not add one.

    Raises:
        StoreError: the store cannot be written.
    """
    with taking_turns(engine) as connection:
        history: list[str | None] = [None]
        wanted = changes.c.what.in_(("map", "rollback")) & (changes.c.route == route)
        for what, after in connection.execute(
            sa.select(changes.c.what, changes.c.after).where(wanted).order_by(changes.c.id)
        ):
            if what == "map":
                history.append(after)
            else:
                history.pop()
        if len(history) == 1:
            return None
        return _set(connection, route, "map", history[-2], actor, "rollback", note)


def _set(
    connection: sa.Connection,
    route: str,
    what: Setting,
    value: str | None,
    actor: str,
    named: str,
    note: str | None,
) -> Change:
    column, now = _COLUMNS[what], time.time()
    row = connection.execute(sa.select(column).where(route_states.c.route == route)).first()
    before = row[0] if row is not None else None
    content = {column.name: value, "updated_at": now, "actor": actor}
    if row is None:
        connection.execute(sa.insert(route_states).values(route=route, **content))
    else:
        connection.execute(sa.update(route_states).where(route_states.c.route == route).values(content))
    return note_change(connection, actor=actor, what=named, route=route, before=before, after=value, note=note, now=now)


def note_change(
    connection: sa.Connection,
    *,
    actor: str,
    what: str,
    route: str | None = None,
    before: str | None = None,
    after: str | None = None,
    note: str | None = None,
    now: float | None = None,
) -> Change:
    """Add a row to `changes`."""
    change = Change(now or time.time(), actor, what, route, before, after, note)
    connection.execute(
        sa.insert(changes).values(
            created_at=change.created_at, actor=actor, what=what, route=route, before=before, after=after, note=note
        )
    )
    return change


def read_changes(engine: sa.Engine, *, route: str | None = None, limit: int = 100) -> list[Change]:
    """Changes by operators, newest first."""
    with transaction(engine) as connection:
        return list_changes(connection, route=route, limit=limit)


def list_changes(connection: Connection, *, route: str | None = None, limit: int = MAX_LISTED) -> list[Change]:
    """The same in an open transaction."""
    statement = sa.select(changes).order_by(changes.c.id.desc()).limit(limit)
    if route is not None:
        statement = statement.where(changes.c.route == route)
    return [_value(Change, row) for row in connection.execute(statement).mappings()]


def raise_alarm(
    engine: sa.Engine, *, route: str, map_id: str | None, kind: str, statistic: float, threshold: float
) -> bool:
    """Raise an alarm unless the same one is uncleared; returns whether it was raised. Of several processes one raises it."""
    same = (alarms.c.route == route) & (alarms.c.map_id == map_id) & (alarms.c.kind == kind)
    with taking_turns(engine) as connection:
        if connection.execute(sa.select(alarms.c.id).where(same, alarms.c.cleared_at.is_(None))).first():
            return False
        connection.execute(
            sa.insert(alarms).values(
                created_at=time.time(),
                route=route,
                map_id=map_id,
                kind=kind,
                statistic=statistic,
                threshold=threshold,
            )
        )
        return True


def read_alarms(engine: sa.Engine, *, route: str | None = None, standing: bool = False) -> list[Alarm]:
    """Alarms, newest first."""
    with transaction(engine) as connection:
        return list_alarms(connection, route=route, standing=standing)


def list_alarms(
    connection: Connection, *, route: str | None = None, standing: bool = False, limit: int | None = None
) -> list[Alarm]:
    """The same in an open transaction."""
    statement = sa.select(alarms).order_by(alarms.c.id.desc()).limit(limit)
    if route is not None:
        statement = statement.where(alarms.c.route == route)
    if standing:
        statement = statement.where(alarms.c.cleared_at.is_(None))
    return [_value(Alarm, row) for row in connection.execute(statement).mappings()]


def clear_alarms(engine: sa.Engine, route: str, *, actor: str, note: str | None = None) -> int:
    """Clear a route's alarms; returns their number. The tests restart with later data."""
    with taking_turns(engine) as connection:
        standing = (alarms.c.route == route) & alarms.c.cleared_at.is_(None)
        done = connection.execute(sa.update(alarms).where(standing).values(cleared_at=time.time(), actor=actor))
        if done.rowcount:
            note_change(
                connection,
                actor=actor,
                what="clear",
                route=route,
                before=f"{done.rowcount} alarms",
                after=None,
                note=note,
            )
        return done.rowcount


@contextmanager
def taking_turns(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction under a lock, so that data read first are still valid when it writes."""
    with transaction(engine, "write") as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        yield connection


def _value(kind: Any, row: Any) -> Any:
    return kind(**{name: row[name] for name in kind.__slots__})
