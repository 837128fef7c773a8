"""The audit store: what was said, how sure, and, once known, whether it was right.

One writer thread takes rows off a queue and commits all that wait in one transaction, so that many requests share one commit; a caller
that awaits its row goes on when that commit is durable. Rows that nobody waits for are gathered for a moment first: the writer competes
with the event loop for the interpreter, and few large batches cost it least. Reads take connections of their own and see every row that
was handed in before them. The only file that speaks SQL.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import anyio.to_thread
import orjson
import sqlalchemy as sa
import structlog

from proxy.audit.engine import open_engine
from proxy.audit.tables import answers, verdicts
from proxy.config import Audit
from proxy.errors import StoreError
from proxy.values import Json

log = structlog.get_logger(__name__)

MAX_ENTRIES_PER_COMMIT = 512
Row = dict[str, Any]
"""A row of `answers`, by column name."""
_Entry = tuple[list[Row], asyncio.Future[None] | None]
"""Rows with whoever waits for them."""
GATHER_S = 0.1
"""Longest that a row without a waiter stays out of the queue."""


class AuditStore:
    """Rows go in through `write` and `enqueue`; verdicts have a file of their own. Safe to use from one event loop.

    Attributes:
        engine: for reads and for writes that are not of rows; they take connections of their own.
    """

    def __init__(self, engine: sa.Engine, count_lost: Callable[[int], None]) -> None:
        self.engine = engine
        self._count_lost = count_lost
        self._insert = str(sa.insert(answers).compile(dialect=engine.dialect))
        self._gathered: list[Row] = []
        self._queue: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write_all, name="audit-writer", daemon=True)
        self._thread.start()

    async def write(self, row: Row) -> None:
        """Return when the row is durable.

        Raises:
            StoreError: it could not be written.
        """
        await self._hand_over([row])

    def enqueue(self, row: Row) -> None:
        """Write the row soon; a failure is logged and counted. For rows without a confidence, whose answer must not wait."""
        if not self._gathered:
            self._loop.call_later(GATHER_S, self._hand_over_gathered)
        self._gathered.append(row)

    def _hand_over_gathered(self) -> None:
        rows, self._gathered = self._gathered, []
        if rows:
            self._queue.put((rows, None))

    async def _hand_over(self, rows: list[Row]) -> None:
        """Queue rows and wait; everything handed in before them is written by then."""
        self._hand_over_gathered()
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((rows, done))
        await done

    def _write_all(self) -> None:
        """The writer thread: everything that waits, in one commit."""
        while (first := self._queue.get()) is not None:
            batch, last = [first], False
            while len(batch) < MAX_ENTRIES_PER_COMMIT and not self._queue.empty():
                entry = self._queue.get()
                if entry is None:
                    last = True
                    break
                batch.append(entry)
            self._write_batch(batch)
            if last:
                return

    def _write_batch(self, batch: Sequence[_Entry]) -> None:
        """Commit a batch; where that fails, row by row, so that one bad row does not take the others with it."""
        failure = self._commit([row for rows, _ in batch for row in rows])
        if failure is None:
            self._resolve([done for _, done in batch if done is not None], None)
            return
        for rows, done in batch:
            failures = [failure for row in rows if (failure := self._commit([row])) is not None]
            if failures:
                log.error("audit_write_failed", rows=len(failures), error=type(failures[0]).__name__)
                self._count_lost(len(failures))
            self._resolve([done] if done is not None else [], failures[0] if failures else None)

    def _commit(self, rows: Sequence[Row]) -> sa.exc.SQLAlchemyError | None:
        if not rows:
            return None
        try:
            with self.engine.begin() as connection:
                connection.exec_driver_sql(self._insert, [_parameters(row) for row in rows])
        except sa.exc.SQLAlchemyError as error:
            return error
        return None

    def _resolve(self, waiting: Sequence[asyncio.Future[None]], failure: Exception | None) -> None:
        if waiting and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_tell, waiting, failure)

    async def flush(self) -> None:
        """Return when every row that was handed in before is written."""
        await self._hand_over([])

    async def get(self, name: str) -> Json | None:
        """One row with its verdicts, by audit id or by the completion's own id; None where there is none."""
        await self._hand_over([])
        return await anyio.to_thread.run_sync(self._get, name)

    def _get(self, name: str) -> Json | None:
        with self._reading() as connection:
            row = _find(connection, name)
            if row is None:
                return None
            told = connection.execute(
                sa.select(verdicts).where(verdicts.c.answer_id == row["id"]).order_by(verdicts.c.id)
            ).mappings()
            return row | {"verdicts": [dict(verdict) for verdict in told]}

    def _reading(self) -> sa.Connection:
        try:
            return self.engine.connect()
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(f"the audit store cannot be read: {error.__class__.__name__}") from error

    async def aclose(self) -> None:
        """Write what waits, then close."""
        self._hand_over_gathered()
        self._queue.put(None)
        await anyio.to_thread.run_sync(self._thread.join)
        self.engine.dispose()


async def open_store(settings: Audit, count_lost: Callable[[int], None]) -> AuditStore:
    """Open the store and bring its schema up to date.

    Raises:
        StoreError: it cannot be opened.
    """
    engine = await anyio.to_thread.run_sync(open_engine, settings)
    return AuditStore(engine, count_lost)


_EMPTY: Row = {column.name: None for column in answers.columns} | dict.fromkeys(
    ("tokens_answer", "tokens_samples", "tokens_rewrite", "tokens_escalation"), 0
)


def _parameters(row: Row) -> Any:
    """A row as the driver's positional parameters, all columns in order.

    The driver is spoken to directly: SQLAlchemy's own handling of parameters costs five times the insert itself.
    """
    whole = _EMPTY | row
    if whole["story"] is not None:
        whole["story"] = orjson.dumps(whole["story"], option=orjson.OPT_NON_STR_KEYS).decode()
    return tuple(whole.values())


def _find(connection: sa.Connection, name: str) -> Row | None:
    """By audit id first, then by the completion's id (the newest, should an upstream repeat itself)."""
    for column in (answers.c.id, answers.c.response_id):
        statement = sa.select(answers).where(column == name).order_by(answers.c.created_at.desc()).limit(1)
        if (found := connection.execute(statement).mappings().first()) is not None:
            return dict(found)
    return None


def _tell(waiting: Sequence[asyncio.Future[None]], failure: Exception | None) -> None:
    for done in waiting:
        if done.done():  # its request was cancelled
            continue
        if failure is None:
            done.set_result(None)
        else:
            done.set_exception(StoreError(f"the audit store could not be written: {type(failure).__name__}"))
