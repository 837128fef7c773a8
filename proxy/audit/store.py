"""The audit store: answers, their confidence, and verdicts on them.

A writer thread (`writer.py`) commits all waiting rows in one transaction, so that many requests share one commit; a caller that awaits its row
continues when the commit is durable. Rows that nobody awaits are collected for a moment first: the writer competes with the event loop for the
interpreter, and few large batches cost least. Reads use their own connections and see every row handed in before them. SQL stays in this folder.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import anyio.to_thread
import sqlalchemy as sa
import structlog

from ..config import Audit, Settings
from ..config.sections import known
from ..errors import StoreError
from ..supervision import Supervisor
from ..types import Json
from . import leases
from .engine import open_engine, transaction
from .hours import sum_up_next
from .leases import Announced, announce, any_under_way, forget
from .retention import Clock, Purged, erase, objection, purge
from .rows import Entry
from .tables import answers, claim_verdicts, texts, verdicts
from .verdicts import MAX_VERDICTS, Verdict, VerdictResult, write_verdicts
from .writer import Batch, Settlement, Writer

log = structlog.get_logger(__name__)

# Group commit: items that arrive during a write are written together with the next one.

T = TypeVar("T")
R = TypeVar("R")


class Gathering(Generic[T, R]):
    """One write at a time; callers that arrive in the meantime share the next one. If nothing is being written, nothing waits.

    Parameters
    ----------
    write: writes items and returns one result an item, in order; writing twice must have the effect of writing once.
    most: maximum number of items in one write of several callers.
    """

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[list[R]]], most: int) -> None:
        self._write = write
        self._most = most
        self._writing = asyncio.Lock()
        self._waiting: list[tuple[Sequence[T], asyncio.Future[list[R]]]] = []

    async def add(self, items: Sequence[T]) -> list[R]:
        """Write the items; returns their results.

        Raises:
            StoreError: they, and the items written with them, could not be written.
        """
        done: asyncio.Future[list[R]] = asyncio.get_running_loop().create_future()
        call = items, done
        self._waiting.append(call)
        try:
            async with self._writing:
                while not done.done():
                    await self._write_next()
        finally:
            if call in self._waiting:  # cancelled before its turn
                self._waiting.remove(call)
        return done.result()

    async def _write_next(self) -> None:
        calls = self._next()
        try:
            results = await self._write([item for items, _ in calls for item in items])
            for items, done in calls:
                done.set_result(results[: len(items)])
                results = results[len(items) :]
        except StoreError as error:
            for _, done in calls:
                done.set_exception(error)
        finally:  # the caller that wrote for all was cancelled: the others write themselves
            self._waiting = [call for call in calls if not call[1].done()] + self._waiting

    def _next(self) -> list[tuple[Sequence[T], asyncio.Future[list[R]]]]:
        """The waiting calls in order, up to the maximum number of items of one write; at least one call."""
        items = count = 0
        for asked, _ in self._waiting:
            if count and items + len(asked) > self._most:
                break
            items, count = items + len(asked), count + 1
        calls, self._waiting = self._waiting[:count], self._waiting[count:]
        return calls


GATHER_S = 0.1
"""Seconds for which rows without a waiter are collected."""
SUM_UP_EVERY_S = 300.0
"""Seconds between two checks whether an hour can be summed up."""
SUM_UP_PAUSE_S = 0.5
"""Seconds between two hours to sum up, if an old store has many: writers come first."""
ENDS_EVERY_S = 3600.0
"""Seconds between two times at which the ends of chains are logged."""
LOOK_S = 10.0
"""Seconds between two looks at the clock."""
LATE_ROW_S = 1.0
"""Seconds until every process sees the row of a served answer, or sees that it is being written."""
LOOK_AGAIN_S = (0.05, 1.0)
"""First and longest pause in seconds between checks for a late row; each pause is twice the previous one."""


class AuditStore:
    """The audit store. Rows are added by `write` and `enqueue`. For use from one event loop.

    Attributes:
        engine: for reads, and for writes other than rows; they use their own connections.
        key: the key of the hashes; empty if none is configured.
        clock: by which retention goes.
        writer: the thread that writes rows.
        supervisor: what went wrong in the process.
    """

    def __init__(
        self, engine: sa.Engine, settings: Audit, count_lost: Callable[[int], None], supervisor: Supervisor
    ) -> None:
        self.engine, self.supervisor = engine, supervisor
        self.key = hash_key(settings)
        self.clock = Clock(engine)
        self._loop = asyncio.get_running_loop()
        self._gathered: list[Entry] = []
        self._verdicts = Gathering(self._write_verdicts, MAX_VERDICTS)
        self._announced = Gathering(self._write_announced, MAX_VERDICTS)
        self.writer = Writer(
            engine, settings.spool, self.key, supervisor, on_settled=self._wake_waiters, count_lost=count_lost
        )

    @property
    def down(self) -> bool:
        """Whether the last attempt to write failed; it is repeated every second."""
        return self.writer.down is not None

    async def write(self, entry: Entry, *, may_spool: bool = True) -> None:
        """Write a row; returns when it is durable, in the store or, if it may wait, in the spool.

        Raises:
            StoreError: it could not be written.
        """
        await self._hand_over([entry], may_spool)

    def enqueue(self, entry: Entry) -> None:
        """Write a row soon; a failure is logged and counted. For rows without a confidence, whose answers must not wait."""
        if not self._gathered:
            self._loop.call_later(GATHER_S, self._hand_over_gathered)
        self._gathered.append(entry)

    async def flush(self) -> None:
        """Wait until every row handed in before is written."""
        await self._hand_over([], may_spool=True)

    def _hand_over_gathered(self) -> None:
        entries, self._gathered = self._gathered, []
        if entries:
            self.writer.put(Batch(entries))

    async def _hand_over(self, entries: list[Entry], may_spool: bool) -> None:
        """Queue entries and wait; everything handed in before them is written by then."""
        self._hand_over_gathered()
        done: asyncio.Future[None] = self._loop.create_future()
        self.writer.put(Batch(entries, may_spool, done))
        await done

    def _wake_waiters(self, settled: Sequence[Settlement]) -> None:
        """Wake the waiters of a commit; called from the writer's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_wake, settled)

    async def get(self, name: str) -> Json | None:
        """One row with its texts and verdicts, by audit id or the completion's own id; None if there is none.

        Raises:
            StoreError: the store cannot be read.
        """
        if "\0" in name:  # no id contains NUL, and PostgreSQL refuses to search for it
            return None
        return await self.read(partial(read_answer, name=name))

    async def read(self, query: Callable[[sa.Connection], T]) -> T:
        """Run a query in one snapshot in a worker thread; it sees every row handed in before.

        Raises:
            StoreError: the store cannot be read.
        """
        await self.flush()
        return await anyio.to_thread.run_sync(self._read, query)

    def _read(self, query: Callable[[sa.Connection], T]) -> T:
        with transaction(self.engine, "snapshot") as connection:
            return query(connection)

    async def add_verdicts(self, added: Sequence[Verdict]) -> list[VerdictResult | None]:
        """Write at most `MAX_VERDICTS` verdicts, together with those of other waiting callers; None in place of a verdict whose answer or claim does
        not exist.

        Raises:
            StoreError: the store cannot be written.
        """
        return await self._verdicts.add(added)

    async def announce(self, response_id: str, seconds: float) -> None:
        """Announce to all processes that the row of a served answer will be written within `seconds`.

        Raises:
            StoreError: the store cannot be written.
        """
        await self._announced.add([(response_id, time.time() + seconds)])

    async def _write_announced(self, announced: Sequence[Announced]) -> list[None]:
        return await anyio.to_thread.run_sync(announce, self.engine, announced)

    async def add_verdicts_in_time(self, added: Sequence[Verdict]) -> list[VerdictResult | None]:
        """As `add_verdicts`, but a verdict that arrives before its row waits for it, also if another process writes it.

        Raises:
            StoreError: the store cannot be read or written.
        """
        results = await self.add_verdicts(added)
        patience, (pause, longest) = time.monotonic() + LATE_ROW_S, LOOK_AGAIN_S
        may_come = True
        while may_come and (missing := [i for i, result in enumerate(results) if result is None]):
            await asyncio.sleep(pause)
            pause = min(2 * pause, longest)
            names = {added[i].name for i in missing}
            may_come = time.monotonic() < patience or await anyio.to_thread.run_sync(any_under_way, self.engine, names)
            for i, result in zip(missing, await self.add_verdicts([added[i] for i in missing]), strict=True):
                results[i] = result
        return results

    async def _write_verdicts(self, added: Sequence[Verdict]) -> list[VerdictResult | None]:
        await self.flush()
        return await anyio.to_thread.run_sync(write_verdicts, self.engine, added)

    async def erase(self, name: str, *, actor: str) -> int:
        """Erase the texts of an answer, by audit id or the completion's own id; returns the number of answers.

        Raises:
            StoreError: the store cannot be written.
        """
        if "\0" in name:
            return 0
        await self.flush()
        return await anyio.to_thread.run_sync(partial(erase, self.engine, actor=actor, names=(name,)))

    async def aclose(self) -> None:
        """Write waiting rows, then close."""
        self._hand_over_gathered()
        await anyio.to_thread.run_sync(self.writer.close)
        self.engine.dispose()


async def open_store(
    settings: Audit, count_lost: Callable[[int], None], supervisor: Supervisor | None = None
) -> AuditStore:
    """Open the store, migrate its schema, and replay the spools of earlier processes.

    Raises:
        StoreError: it cannot be opened.
    """
    engine = await anyio.to_thread.run_sync(open_engine, settings)
    return AuditStore(engine, settings, count_lost, supervisor or Supervisor())


async def purge_regularly(store: AuditStore, settings: Callable[[], Settings]) -> None:
    """Wait `audit.purge_every_s` seconds and purge the store, unless another process has this duty, or it needs somebody's word: then `/health` says
    so, and nothing is deleted.
    """

    def turn(settings: Settings) -> Purged:
        if not leases.take(store.engine, "purge", store.writer.id, settings.audit.purge_every_s):
            return Purged()
        forget(store.engine)
        store.clock.look()
        why = objection(store.engine, settings, store.clock.now())
        refused = f"nothing is purged: {why}; `hedgerow audit purge --yes` confirms it" if why is not None else None
        store.supervisor.tell("purge", refused)
        return Purged() if refused else purge(store.engine, settings, actor="server", now=store.clock.now())

    await asyncio.sleep(settings().audit.purge_every_s)
    purged = await anyio.to_thread.run_sync(turn, settings())
    if purged.texts or purged.rows:
        log.info("audit_purged", texts=purged.texts, rows=purged.rows)


async def watch_clock(store: AuditStore) -> None:
    """Compare the clock with others, tell a jump that nobody has confirmed, and wait."""
    jump = await anyio.to_thread.run_sync(store.clock.look)
    told = (
        f"{jump}; nothing is purged until `hedgerow audit purge --yes` confirms the time" if jump is not None else None
    )
    store.supervisor.tell("clock", told)
    await asyncio.sleep(LOOK_S)


async def watch_writer(store: AuditStore) -> None:
    """Look whether the writer waits for a database that stands still, and wait."""
    store.writer.release()
    await asyncio.sleep(1.0)


async def tell_ends_regularly(store: AuditStore) -> None:
    """Log the ends of this process's chains, and wait."""
    store.writer.tell_ends()
    await asyncio.sleep(ENDS_EVERY_S)


async def sum_up_regularly(store: AuditStore) -> None:
    """Sum up the next hour that has ended, unless another process has this duty, and wait until it may be time for another."""

    def turn() -> int | None:
        if not leases.take(store.engine, "sums", store.writer.id, 2 * SUM_UP_EVERY_S):
            return None
        return sum_up_next(store.engine, time.time())

    summed = await anyio.to_thread.run_sync(turn)
    await asyncio.sleep(SUM_UP_EVERY_S if summed is None else SUM_UP_PAUSE_S)


def hash_key(settings: Audit) -> bytes:
    """The key of the audit's hashes; empty if none is configured."""
    return known("audit.hash_key", settings.hash_key.get_secret_value()).encode() if settings.hash_key else b""


def read_answer(connection: sa.Connection, name: str) -> Json | None:
    """One row with its texts and verdicts (oldest first), by audit id first, then by the completion's id.

    If an upstream repeats its ids, the newest row counts.
    """
    for column in (answers.c.id, answers.c.response_id):
        statement = sa.select(answers).where(column == name).order_by(answers.c.created_at.desc()).limit(1)
        row = connection.execute(statement).mappings().first()
        if row is not None:
            break
    else:
        return None
    stored = connection.execute(sa.select(texts).where(texts.c.answer_id == row["id"])).mappings().first()

    def on_answer(table: sa.Table) -> list[Json]:
        of_answer = sa.select(table).where(table.c.answer_id == row["id"]).order_by(table.c.id)
        return [dict(verdict) for verdict in connection.execute(of_answer).mappings()]

    return dict(row) | {
        "texts": {name: text for name, text in stored.items() if name != "answer_id"} if stored else None,
        "verdicts": on_answer(verdicts),
        "claim_verdicts": on_answer(claim_verdicts),
    }


def _wake(settled: Sequence[Settlement]) -> None:
    for waiter, outcome in settled:
        if waiter.done():  # its request was cancelled
            continue
        if outcome is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(StoreError(f"the audit store could not be written: {type(outcome).__name__}"))
