"""The writer thread, which takes entries off a queue and commits all waiting ones in one transaction.

While the store is down, rows that may wait go to the spool and are replayed when it is back; other rows are refused. A bad row does not affect
others. This is the only file that writes rows of `answers`.
"""

from __future__ import annotations

import asyncio
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain as in_a_row
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
import structlog

from . import chain
from .chain import GENESIS, Head
from .entry import Entry, Prepared, Row
from .hours import LATE_S, drop_sums
from .rows import prepare, text_parameters
from .spool import Spool, waiting
from .tables import answers, chains, texts

log = structlog.get_logger(__name__)

MAX_ROWS_PER_COMMIT = 512
ROWS_PER_STATEMENT = (64, 8, 1)
"""Numbers of rows in an INSERT: few sizes, so that SQLite's driver keeps the statements prepared."""
IDS_IN_A_LINE = 5
"""Maximum number of ids of lost rows in a log line."""
RETRY_S = 1.0
"""Seconds between two attempts to reach a store that is down."""
_BAD_ROW = (sa.exc.IntegrityError, sa.exc.DataError, OverflowError, UnicodeError, TypeError)
"""Errors caused by a row. All others are errors of the store."""
_WRITE_END = sa.text(
    "INSERT INTO chains (writer, route, start_seq, start_hash, start_seal, last_seq, last_hash, last_seal, updated_at) "
    "VALUES (:writer, :route, 0, :genesis, :start_seal, :seq, :hash, :last_seal, :now) "
    "ON CONFLICT (writer, route) DO UPDATE SET last_seq = excluded.last_seq, last_hash = excluded.last_hash, "
    "last_seal = excluded.last_seal, updated_at = excluded.updated_at"
)
Outcome = Exception | None
"""None if the row is durable; else the error."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries with their waiter.

    Attributes:
        may_spool: whether entries may go to the spool; otherwise they are refused while the store is down.
        waiter: waits until all of them are durable.
    """

    entries: Sequence[Entry]
    may_spool: bool = True
    waiter: asyncio.Future[None] | None = None


Settlement = tuple["asyncio.Future[None]", Outcome]
"""A waiter and the first failure of its entries, if any."""


class Writer:
    """Owns one connection, one chain a route, and the spool.

    Attributes:
        id: the name of its chains; sorts by time.
        down: the error of the last attempt to write; None if it succeeded.
    """

    def __init__(
        self,
        engine: sa.Engine,
        folder: Path,
        key: bytes,
        *,
        on_settled: Callable[[Sequence[Settlement]], None],
        count_lost: Callable[[int], None],
    ) -> None:
        self.id = f"{time.time_ns() // 1_000_000:011x}{secrets.token_hex(6)}"
        self.down: Exception | None = None
        self._engine, self._folder, self._key = engine, folder, key
        self._on_settled, self._count_lost = on_settled, count_lost
        self._queue: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._connection: sa.Connection | None = None
        self._heads: dict[str, Head] = {}
        self._spools: list[Spool] = list(waiting(folder))
        self._own: Spool | None = None
        self._next_try = 0.0
        self._thread = threading.Thread(target=self._run, name="audit-writer", daemon=True)
        self._thread.start()

    @property
    def spooled(self) -> int:
        """Number of rows in the spool."""
        return sum(spool.rows for spool in self._spools)

    @property
    def queued(self) -> int:
        """Number of batches waiting for the writer."""
        return self._queue.qsize()

    def put(self, batch: Batch) -> None:
        """Queue a batch."""
        self._queue.put(batch)

    def close(self) -> None:
        """Write waiting batches and end the thread. Blocks: call it in a worker thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        if self._spools:
            self._catch_up()
        going = True
        while going:
            batches, going = self._take()
            if (self.down or self._spools) and time.monotonic() >= self._next_try:
                self._catch_up()
            if batches:
                self._settle(batches)
        if self.down or self._spools:
            self._catch_up()
        for spool in self._spools:
            spool.close()
        self._disconnect()

    def _take(self) -> tuple[list[Batch], bool]:
        """The waiting batches for one commit, and whether more may come."""
        batches: list[Batch] = []
        rows = 0
        with suppress(queue.Empty):
            while rows < MAX_ROWS_PER_COMMIT:
                wait = RETRY_S if self.down or self._spools else None
                batch = self._queue.get(timeout=wait) if not batches else self._queue.get_nowait()
                if batch is None:
                    return batches, False
                batches.append(batch)
                rows += len(batch.entries)
        return batches, True

    def _settle(self, batches: Sequence[Batch]) -> None:
        """Store the entries of some batches and wake their waiters."""
        try:
            outcomes = self._outcomes(batches)
        except Exception as error:  # nobody must wait for a writer thread that has failed
            log.exception("audit_writer_fault")
            outcomes = [[error] * len(batch.entries) for batch in batches]
        ids = [str(entry.row["id"]) for batch in batches for entry in batch.entries]
        self._lose(ids, [outcome for of_batch in outcomes for outcome in of_batch])
        settled = [
            (batch.waiter, next((outcome for outcome in of_batch if outcome is not None), None))
            for batch, of_batch in zip(batches, outcomes, strict=True)
            if batch.waiter is not None
        ]
        if settled:
            self._on_settled(settled)

    def _lose(self, ids: Sequence[str], outcomes: Sequence[Outcome]) -> None:
        """Log and count rows that could not be stored."""
        failed = [(id_, outcome) for id_, outcome in zip(ids, outcomes, strict=True) if outcome is not None]
        if failed:
            first = [id_ for id_, _ in failed[:IDS_IN_A_LINE]]
            log.error("audit_write_failed", rows=len(failed), ids=first, error=type(failed[0][1]).__name__)
            self._count_lost(len(failed))

    def _outcomes(self, batches: Sequence[Batch]) -> list[list[Outcome]]:
        rows = [prepare(entry, self._key) for batch in batches for entry in batch.entries]
        stored = iter(self._store(rows) if self.down is None else [self.down] * len(rows))
        outcomes = [[next(stored) for _ in batch.entries] for batch in batches]
        self._spool(batches, iter(rows), outcomes)
        return outcomes

    def _spool(self, batches: Sequence[Batch], rows: Iterator[Prepared], outcomes: list[list[Outcome]]) -> None:
        """Append the rows that could not be stored to the spool, if they may wait; they then count as durable."""
        places: list[tuple[list[Outcome], int]] = []
        waiting_rows = []
        for batch, of_batch in zip(batches, outcomes, strict=True):
            for i, row in enumerate(islice(rows, len(batch.entries))):
                if of_batch[i] is not None and batch.may_spool and not isinstance(of_batch[i], _BAD_ROW):
                    places.append((of_batch, i))
                    waiting_rows.append(row)
        if not waiting_rows:
            return
        failure: Outcome = None
        try:
            self._own_spool().append(waiting_rows)
        except OSError as error:
            failure = error
        for of_batch, i in places:
            of_batch[i] = failure

    def _own_spool(self) -> Spool:
        if self._own is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._own = Spool.open(self._folder / f"{self.id}.spool")
            if self._own is None:
                raise BlockingIOError(f"{self.id}.spool is held by another process")
            self._spools.append(self._own)
        return self._own

    def _catch_up(self) -> None:
        """Replay the spools; if the store is still down, try again later."""
        self._next_try = time.monotonic() + RETRY_S
        try:
            self._connect()
        except sa.exc.SQLAlchemyError as error:
            return self._go_down(error)
        for spool in list(self._spools):
            if not self._replayed(spool):
                return None
            spool.remove()
            self._spools.remove(spool)
        self._own = None
        if self.down is not None:
            log.info("audit_store_back")
            self.down = None
        return None

    def _replayed(self, spool: Spool) -> bool:
        """Store the rows of a spool that are not in the store yet; False if the store failed."""
        rows, count = spool.read(), 0
        while chunk := list(islice(rows, MAX_ROWS_PER_COMMIT)):
            unknown: Sequence[Prepared] = ()
            try:
                unknown = self._unknown(chunk)
                outcomes = self._store(unknown)
            except sa.exc.SQLAlchemyError as error:
                outcomes = [error]
                self._go_down(error)
            failed = [outcome for outcome in outcomes if outcome is not None]
            if not all(isinstance(outcome, _BAD_ROW) for outcome in failed):
                return False
            self._lose([row.id for row in unknown], outcomes)
            count += len(chunk)
        log.info("audit_spool_replayed", rows=count)
        return True

    def _unknown(self, rows: Sequence[Prepared]) -> list[Prepared]:
        """The rows that are not in the store: a commit may have succeeded although its connection broke."""
        statement = sa.select(answers.c.id).where(answers.c.id.in_([row.id for row in rows]))
        known = set(self._connect().execute(statement).scalars())
        self._connect().commit()
        return [row for row in rows if row.id not in known]

    def _store(self, rows: Sequence[Prepared], *, again: bool = True) -> list[Outcome]:
        """Commit rows; returns the outcome of each."""
        try:
            self._commit(rows)
        except _BAD_ROW as error:
            return [error] if len(rows) == 1 else [self._store([row])[0] for row in rows]
        except sa.exc.SQLAlchemyError as error:
            self._disconnect()
            if again and isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated:
                return self._store_again(rows)
            self._go_down(error)
            return [error] * len(rows)
        return [None] * len(rows)

    def _store_again(self, rows: Sequence[Prepared]) -> list[Outcome]:
        """Try again on a new connection, because only the old one may have been broken."""
        try:
            missing = {row.id: row for row in self._unknown(rows)}
        except sa.exc.SQLAlchemyError as error:
            self._go_down(error)
            return [error] * len(rows)
        outcomes = dict(zip(missing, self._store(list(missing.values()), again=False), strict=True))
        return [outcomes.get(row.id) for row in rows]

    def _commit(self, rows: Sequence[Prepared]) -> None:
        if not rows:
            return
        connection, heads = self._connect(), dict(self._heads)
        chained = []
        for prepared in rows:
            route = prepared.row.get("route") or ""
            row, heads[route] = chain.placed(prepared.row, self.id, heads.get(route, Head()), self._key)
            chained.append(row)
        rows_of_texts = [text_parameters(prepared.texts) for prepared in rows if prepared.texts is not None]
        summed_up = time.time() - LATE_S
        late = [row["created_at"] for row in chained if row["created_at"] < summed_up]
        with connection.begin():
            drop_sums(connection, late)
            _insert(connection, answers, chained)
            _insert(connection, texts, rows_of_texts)
            self._write_ends(
                connection, {route: heads[route] for route in heads if heads[route] != self._heads.get(route)}
            )
        self._heads = heads

    def _write_ends(self, connection: sa.Connection, ends: dict[str, Head]) -> None:
        """Write the new ends of the chains; for a new chain also its start."""
        now = time.time()
        connection.execute(
            _WRITE_END,
            [
                {
                    "writer": self.id,
                    "route": route,
                    "genesis": GENESIS,
                    "start_seal": chain.seal(self.id, route, "start", Head(), self._key),
                    "seq": head.seq,
                    "hash": head.hash,
                    "last_seal": chain.seal(self.id, route, "last", head, self._key),
                    "now": now,
                }
                for route, head in ends.items()
            ],
        )

    def _connect(self) -> sa.Connection:
        """Open the writer's own connection, and read the ends of its chains from the store."""
        if self._connection is None:
            connection = self._engine.connect()
            ends = connection.execute(sa.select(chains).where(chains.c.writer == self.id)).all()
            self._heads = {end.route: Head(end.last_seq, end.last_hash) for end in ends}
            connection.commit()
            self._connection = connection
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sa.exc.SQLAlchemyError):
                self._connection.close()
            self._connection = None

    def _go_down(self, error: Exception) -> None:
        self._disconnect()
        self._next_try = time.monotonic() + RETRY_S
        if self.down is None:
            log.error("audit_store_down", error=type(error).__name__)
        self.down = error


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Row]) -> None:
    """Insert rows, those with the same columns together.

    The driver is called directly, because SQLAlchemy's handling of parameters costs five times the insert itself. SQLite's driver releases
    the interpreter lock at every statement and must take it back from the event loop, so one statement inserts many rows; PostgreSQL's sends
    many statements at once. An omitted column costs nothing.
    """
    dialect: Any = type(connection.dialect)
    alike: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        alike.setdefault(tuple(row), []).append(row)
    for names, same in alike.items():
        for size in ROWS_PER_STATEMENT if dialect.name == "sqlite" else (1,):
            whole = len(same) // size * size
            statement, values = _insertion(table, names, size, dialect)
            starts = range(0, whole, size)
            if whole:
                parameters = [tuple(in_a_row.from_iterable(map(values, same[i : i + size]))) for i in starts]
                connection.exec_driver_sql(statement, cast(Any, parameters))
            same = same[whole:]


@lru_cache(maxsize=256)
def _insertion(
    table: sa.Table, names: tuple[str, ...], size: int, dialect: Any
) -> tuple[str, Callable[[Row], tuple[Any, ...]]]:
    """The statement that inserts `size` rows with these columns, and a function that reads a row's values in that order."""
    style = "qmark" if dialect.name == "sqlite" else "format"
    compiled = sa.insert(table).compile(dialect=dialect(paramstyle=style), column_keys=names)
    head, _, values = str(compiled).partition(" VALUES ")
    return f"{head} VALUES {', '.join([values] * size)}", itemgetter(*compiled.positiontup or ())
