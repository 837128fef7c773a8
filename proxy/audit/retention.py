"""Retention and erasure: expired texts and rows, and the texts of one answer or one user.

Blocking functions of an engine: the server calls them in worker threads, the command line directly. If texts are erased, their rows stay, so
that figures and chains remain complete. Rows are deleted from the beginning of their chain, whose recorded start moves, and
what promises rest on is kept (`outlasting`). Every deletion is recorded in `changes`.
"""

from __future__ import annotations

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from socket import gethostname
from typing import Any

import sqlalchemy as sa

from ..config import Settings
from ..config.sections import known
from .engine import Connection, Engine, transaction
from .hours import drop_sums
from .operators import note_change
from .rows import Head, asker_of, user_hash
from .rows import seal as seal_of
from .tables import (
    alarms,
    answers,
    chains,
    changes,
    claim_verdicts,
    promised_answers,
    promised_verdicts,
    texts,
    verdicts,
)

# Whether the clock can be believed: nothing is deleted by its age after a jump that nobody has confirmed.
#
# The clock is compared with a steady one that nobody can set, and with PostgreSQL's own. A jump beyond minutes is
# recorded in `changes`, where all processes that share the store see it, also after a restart.

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


# What outlasts the deletion of rows: that on which promises watched as "ever at most alpha" rest.
#
# A test that is valid however often one looks is one product over all verdicts since the first. Were those that
# retention deletes forgotten, the bets would begin anew with each span of rows and alpha would bound the false alarms
# of a span, not of all time. So each verdict of a promised answer leaves its outcome, how it was drawn and the groups
# that it counts in, in the transaction that deletes it; and of all promised answers it stays whether they were given, a
# bit each. No text and no user stays.

NOT_GIVEN = ("abstained", "escalated")
"""Statuses of answers that the client did not get."""
ANSWERS_AT_A_TIME = 1000
"""In one row of `promised_answers`."""
_OUTLASTING_LOCK = 0x6F75_746C_6173
"""Any number that nobody else locks: "outlas" in ASCII. Of two purges at once one counts at a time (SQLite: writers do anyway)."""
_OF_VERDICTS = ("created_at", "correct", "kind", "propensity")
_OF_ANSWERS = ("route", "certificate", "promised", "model", "signal", "path", "key", "team", "asker", "question_hash")


def keep_verdicts(connection: Connection, ids: Sequence[str]) -> None:
    """Copy what outlasts the verdicts on some answers, which are about to be deleted."""
    regime = answers.c.story[("place", "regime")].as_integer()
    statement = (
        sa.select(verdicts.c.answer_id, verdicts.c.id, *(verdicts.c[name] for name in _OF_VERDICTS))
        .add_columns(*(answers.c[name] for name in _OF_ANSWERS), regime)
        .join_from(verdicts, answers)
        .where(answers.c.id.in_(ids), answers.c.certificate.is_not(None), answers.c.route.is_not(None))
        .where(verdicts.c.fd.is_not(None))
        .order_by(verdicts.c.id)
    )
    names = ("answer_id", "verdict_id", *_OF_VERDICTS, *_OF_ANSWERS, "regime")
    rows = [dict(zip(names, row, strict=True)) for row in connection.execute(statement)]
    if rows:
        connection.execute(sa.insert(promised_verdicts), rows)


def keep_answers(engine: sa.Engine, route: str, before: float) -> None:
    """Count a route's promised answers from before a moment, each once, so that their rows may go.

    They are taken in the order of the requests over all processes, and no row of `promised_answers` reaches over a moment at which alarms were
    cleared, for the watch goes by such moments. An answer whose row comes later still, because the store was down, is not among them.

    Raises:
        StoreError: the store cannot be written.
    """
    with transaction(engine) as connection:
        start = counted_until(connection, route)
        cleared = sa.select(alarms.c.cleared_at).where(
            alarms.c.route == route, alarms.c.cleared_at.between(start, before)
        )
        ends = sorted({*connection.execute(cleared).scalars(), before})
    for end in ends:
        while start < end:
            start = _keep_some(engine, route, end)


def counted_until(connection: Connection, route: str) -> float:
    """The moment before which `promised_answers` speaks for the answers of a route; seconds since 1970, 0: of none."""
    newest = sa.select(sa.func.max(promised_answers.c.until)).where(promised_answers.c.route == route)
    return float(connection.execute(newest).scalar() or 0.0)


def _keep_some(engine: sa.Engine, route: str, end: float) -> float:
    """Count the next answers before a moment; the moment up to which they are counted now."""
    a = answers.c
    with transaction(engine, "write") as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_OUTLASTING_LOCK)))
        start = counted_until(connection, route)
        ours = (a.route == route, a.certificate.is_not(None), a.created_at >= start)
        last = sa.select(a.created_at).where(*ours, a.created_at < end).order_by(a.created_at)
        moment = connection.execute(last.offset(ANSWERS_AT_A_TIME - 1).limit(1)).scalar()
        until = end if moment is None else math.nextafter(moment, math.inf)  # with all that were asked for then
        these = sa.select(a.certificate, a.status, a.created_at).where(*ours, a.created_at < until)
        by_certificate: dict[str, list[tuple[str, float]]] = {}
        for certificate, status, created_at in connection.execute(these.order_by(a.created_at, a.id)):
            by_certificate.setdefault(certificate, []).append((status, created_at))
        rows = [_row(route, certificate, until, counted) for certificate, counted in by_certificate.items()]
        if rows:
            connection.execute(sa.insert(promised_answers), rows)
    return until


def _row(route: str, certificate: str, until: float, counted: Sequence[tuple[str, float]]) -> dict[str, Any]:
    statuses = [status for status, _ in counted]
    return {
        "route": route,
        "certificate": certificate,
        "first_at": counted[0][1],
        "until": until,
        "statuses": dict(Counter(statuses)),
        "not_given": f"{int(''.join(map(str, not_given(statuses))), 2):x}",
    }


def not_given(statuses: Iterable[str]) -> list[int]:
    """1 for each answer that the client did not get, else 0."""
    return [int(status in NOT_GIVEN) for status in statuses]


def read_kept_answers(
    connection: Connection, *, route: str, certificate: str, since: float
) -> tuple[list[int], Counter[str]]:
    """Of the promised answers that are counted, in their order, 1 where one was not given, else 0; and how many there are by status."""
    c = promised_answers.c
    wanted = (c.route == route, c.certificate == certificate, c.first_at >= since)
    bits, counts = list[int](), Counter[str]()
    for statuses, packed in connection.execute(sa.select(c.statuses, c.not_given).where(*wanted).order_by(c.id)):
        counts.update(statuses)
        bits += map(int, f"{int(packed, 16):b}".zfill(sum(statuses.values())))
    return bits, counts


ROWS_AT_A_TIME = 1000
"""Number of rows in one transaction, which limits how long writers wait."""
DAY_S = 86_400.0
LARGEST_SHARE = 1 / 3
"""Share of all rows that a purge takes on the word of the clock alone, or an erasure on that of one name."""
MANY = 100
"""Rows up to which an erasure is none of many."""


@dataclass(frozen=True, slots=True)
class Purged:
    """Number of rows whose texts were deleted, and number of deleted rows."""

    texts: int = 0
    rows: int = 0


def due(engine: sa.Engine, settings: Settings, now: float) -> Purged:
    """What a purge would delete, at most: a row stays as long as one before it in its chain.

    Raises:
        StoreError: the store cannot be read.
    """
    texts = rows = 0
    for route, texts_days, rows_days in _policies(engine, settings):
        ours = answers.c.route.is_not_distinct_from(route)
        oldest = now - rows_days * DAY_S if rows_days is not None else -math.inf
        with transaction(engine) as connection:
            if rows_days is not None:
                rows += _count(connection, ours, answers.c.created_at < oldest)
            if texts_days is not None:
                texts += _count(connection, _expired(route, now - texts_days * DAY_S), answers.c.created_at >= oldest)
    return Purged(texts, rows)


def objection(engine: sa.Engine, settings: Settings, now: float) -> str | None:
    """Why a purge needs somebody's word, as a clause: it cannot be undone, and the clock alone may be wrong. None if it needs none.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        jump, total = unconfirmed(connection), _count(connection)
    gone = due(engine, settings, now)
    if jump is not None and gone != Purged():
        return f"{jump}, and nobody has confirmed the time"
    if gone.texts + gone.rows > LARGEST_SHARE * total:
        when = datetime.fromtimestamp(now, UTC).strftime("%d %B %Y %H:%M UTC")
        return f"it would take {gone.rows:,} rows and the texts of {gone.texts:,} others, of {total:,} in all (it is {when})"
    return None


def _count(connection: sa.Connection, *which: sa.ColumnElement[bool]) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(answers).where(*which)).scalar_one()


def purge(
    engine: sa.Engine,
    settings: Settings,
    *,
    actor: str,
    now: float | None = None,
    on_purged: Callable[[int], None] = lambda _: None,
) -> Purged:
    """Delete texts and rows older than the configuration allows; `on_purged` receives the number of each step.

    Raises:
        StoreError: the store cannot be written.
    """
    now = time.time() if now is None else now
    secret = settings.audit.hash_key
    key = known("audit.hash_key", secret.get_secret_value()).encode() if secret else b""
    cleared = rows = 0
    for route, texts_days, rows_days in _policies(engine, settings):
        if rows_days is not None:
            rows += _sum(_purge_rows(engine, route, now - rows_days * DAY_S, key), on_purged)
        if texts_days is not None:
            cleared += _sum(_purge_texts(engine, route, now - texts_days * DAY_S, now), on_purged)
    if cleared or rows:
        with transaction(engine, "write") as connection:
            note_change(connection, actor=actor, what="purge", note=f"texts of {cleared} rows and {rows} rows")
        _overwrite(engine)
    return Purged(cleared, rows)


def objection_to_erasure(engine: sa.Engine, user: str, key: bytes = b"") -> str | None:
    """Why an erasure needs somebody's word, as a clause: many requests name the same user, who may be none. None if it needs none.

    Raises:
        StoreError: the store cannot be read.
    """
    with transaction(engine) as connection:
        theirs, total = _count(connection, _of_user(user, key)), _count(connection)
    return f"{theirs:,} of {total:,} rows are theirs" if theirs > max(MANY, LARGEST_SHARE * total) else None


def _of_user(user: str, key: bytes) -> sa.ColumnElement[bool]:
    return (answers.c.user_hash == user_hash(user, key)) | (answers.c.asker == asker_of("user", user, key))


def erase(
    engine: sa.Engine, *, actor: str, names: Sequence[str] = (), user: str | None = None, key: bytes = b""
) -> int:
    """Drop texts, users' hashes and reviewers' notes of some answers, by audit id or the completion's id, or of all answers to a user.

    Returns:
        Number of matching answers, including those erased before.

    Raises:
        StoreError: the store cannot be written.
    """
    lot = secrets.token_hex(8)  # verdicts on these answers still depend on each other
    concerned: sa.ColumnElement[bool] = answers.c.id.in_(names) | answers.c.response_id.in_(names)
    if user is not None:
        asker, concerned = asker_of("user", user, key), _of_user(user, key)
    with transaction(engine, "write") as connection:
        ids = list(connection.execute(sa.select(answers.c.id).where(concerned)).scalars())
        for start in range(0, len(ids), ROWS_AT_A_TIME):
            _erase(connection, ids[start : start + ROWS_AT_A_TIME], time.time(), f"erased:{lot}")
        if user is not None:
            theirs = sa.update(promised_verdicts).where(promised_verdicts.c.asker == asker)
            connection.execute(theirs.values(asker=f"erased:{lot}", question_hash=None))
        if ids:
            note_change(
                connection,
                actor=actor,
                what="erase",
                note=", ".join(ids) if user is None else f"{len(ids)} rows of one user",
            )
    if ids:
        _overwrite(engine)
    return len(ids)


def _policies(engine: sa.Engine, settings: Settings) -> list[tuple[str | None, float | None, float | None]]:
    """Days for texts and for rows, by route, for all routes in the store."""
    audit = settings.audit
    own = {route.name: (route.keep_texts_days, route.keep_rows_days) for route in settings.routes}
    chained = sa.select(sa.func.nullif(chains.c.route, ""))
    unchained = sa.select(answers.c.route).where(answers.c.writer.is_(None))
    with transaction(engine) as connection:
        routes = connection.execute(sa.union(chained, unchained)).scalars().all()
    policies: list[tuple[str | None, float | None, float | None]] = []
    for route in routes:
        texts_days, rows_days = own.get(route or "", (None, None))
        policies.append((route, texts_days or audit.keep_texts_days, rows_days or audit.keep_rows_days))
    return policies


def _expired(route: str | None, before: float) -> sa.ColumnElement[bool]:
    """The rows of a route from before a moment that have something private."""
    noted = [sa.select(table.c.answer_id).where(table.c.note.is_not(None)) for table in (verdicts, claim_verdicts)]
    with_text = sa.union_all(sa.select(texts.c.answer_id), *noted)
    private = answers.c.digest.is_not(None) | answers.c.id.in_(with_text)
    old = answers.c.created_at < before
    return sa.and_(answers.c.route.is_not_distinct_from(route), old, answers.c.erased_at.is_(None), private)


def _purge_texts(engine: sa.Engine, route: str | None, before: float, now: float) -> Iterator[int]:
    expired = sa.select(answers.c.id, answers.c.created_at).where(_expired(route, before))
    oldest_first = expired.order_by(answers.c.created_at)
    reached = 0.0  # erased rows are not read again
    while True:
        with transaction(engine, "write") as connection:
            next_ones = oldest_first.where(answers.c.created_at >= reached).limit(ROWS_AT_A_TIME)
            rows = connection.execute(next_ones).all()
            _erase(connection, [row.id for row in rows], now)
        if not rows:
            return
        reached = rows[-1].created_at
        yield len(rows)


def _erase(connection: sa.Connection, ids: Sequence[str], now: float, asker: str | None = None) -> None:
    """Erase texts; with a new `asker` also the pseudonyms, which retention leaves until the row goes."""
    erased: dict[str, Any] = {"erased_at": sa.func.coalesce(answers.c.erased_at, now), "user_hash": None, "salt": None}
    erased |= {} if asker is None else {"asker": asker, "question_hash": None}
    connection.execute(sa.update(answers).where(answers.c.id.in_(ids)).values(erased))  # first: verdicts wait for it
    connection.execute(sa.delete(texts).where(texts.c.answer_id.in_(ids)))
    for table in (verdicts, claim_verdicts):
        connection.execute(sa.update(table).where(table.c.answer_id.in_(ids)).values(note=None))


def _purge_rows(engine: sa.Engine, route: str | None, before: float, key: bytes) -> Iterator[int]:
    """Delete the rows of a route in each chain up to the first row that is recent enough."""
    if route is not None:
        keep_answers(engine, route, before)
    with transaction(engine) as connection:
        writers = connection.execute(sa.select(chains.c.writer).where(chains.c.route == (route or ""))).scalars().all()
    for writer in writers:
        while count := _cut(engine, writer, route, before, key):
            yield count
    old = (answers.c.writer.is_(None), answers.c.route.is_not_distinct_from(route), answers.c.created_at < before)
    while True:
        with transaction(engine, "write") as connection:
            ids = connection.execute(sa.select(answers.c.id).where(*old).limit(ROWS_AT_A_TIME)).scalars().all()
            _delete(connection, ids)
        if not ids:
            return
        yield len(ids)


def _cut(engine: sa.Engine, writer: str, route: str | None, before: float, key: bytes) -> int:
    """Delete rows at the beginning of a chain; returns their number."""
    rows = sa.and_(answers.c.writer == writer, answers.c.route.is_not_distinct_from(route))
    place = sa.and_(chains.c.writer == writer, chains.c.route == (route or ""))
    with transaction(engine, "write") as connection:
        end = connection.execute(sa.select(chains).where(place).with_for_update()).one()
        stays = connection.execute(
            sa.select(sa.func.min(answers.c.seq)).where(rows, answers.c.created_at >= before)
        ).scalar()
        last = min((stays or end.last_seq + 1) - 1, end.start_seq + ROWS_AT_A_TIME)
        if last <= end.start_seq:
            return 0
        cut = sa.select(answers.c.id, answers.c.hash).where(rows, answers.c.seq <= last).order_by(answers.c.seq)
        rows_cut = connection.execute(cut).all()
        if not rows_cut:  # rows are missing, and verification must report that
            return 0
        _delete(connection, [row.id for row in rows_cut])
        seal = seal_of(writer, route or "", "start", Head(last, rows_cut[-1].hash), key)
        moved = {"start_seq": last, "start_hash": rows_cut[-1].hash, "start_seal": seal}
        connection.execute(sa.update(chains).where(place).values(moved))
        return len(rows_cut)


def _delete(connection: sa.Connection, ids: Sequence[str]) -> None:
    moments = sa.select(answers.c.created_at).where(answers.c.id.in_(ids))
    drop_sums(connection, connection.execute(moments).scalars())
    keep_verdicts(connection, ids)
    for table in (texts, verdicts, claim_verdicts):
        connection.execute(sa.delete(table).where(table.c.answer_id.in_(ids)))
    connection.execute(sa.delete(answers).where(answers.c.id.in_(ids)))


def _overwrite(engine: sa.Engine) -> None:
    """Overwrite deleted data: SQLite keeps old pages in its log until a checkpoint; PostgreSQL's vacuum does this by itself."""
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


def _sum(steps: Iterator[int], on_purged: Callable[[int], None]) -> int:
    total = 0
    for step in steps:
        total += step
        on_purged(step)
    return total
