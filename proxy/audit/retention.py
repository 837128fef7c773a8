"""Retention and erasure: expired texts and rows, and the texts of one answer or one user.

Blocking functions of an engine: the server calls them in worker threads, the command line directly. If texts are erased, their rows stay, so
that figures and chains remain complete. Rows are deleted from the beginning of their chain, whose recorded start moves, and
what promises rest on is kept (`outlasting`). Every deletion is recorded in `changes`.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from ..config import Settings
from ..config.sections import known
from . import chain
from .chain import Head
from .clock import unconfirmed
from .engine import transaction
from .hours import drop_sums
from .operators import note_change
from .outlasting import keep_answers, keep_verdicts
from .rows import asker_of, user_hash
from .tables import answers, chains, claim_verdicts, promised_verdicts, texts, verdicts

ROWS_AT_A_TIME = 1000
"""Number of rows in one transaction, which limits how long writers wait."""
DAY_S = 86_400.0
LARGEST_SHARE = 1 / 3
"""Share of all rows that a purge takes on the word of the clock alone."""


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
        asker = asker_of("user", user, key)
        concerned = (answers.c.user_hash == user_hash(user, key)) | (answers.c.asker == asker)
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
        seal = chain.seal(writer, route or "", "start", Head(last, rows_cut[-1].hash), key)
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
