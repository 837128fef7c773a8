"""The writer thread, which takes entries off a queue and commits all waiting ones in one transaction.

While the store is down, rows that may wait go to the spool and are replayed when it is back; other rows are refused. A bad row does not affect
others. This is the only file that writes rows of `answers`.
"""

from __future__ import annotations

import asyncio
import os
import queue
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import sqlalchemy as sa
import structlog

from ..supervision import Supervisor
from . import rows as chain
from .engine import empty_log, said_by_driver
from .hours import drop_sums
from .operators import note_change
from .rows import GENESIS, Entry, Head, Prepared, insert, prepare, text_parameters
from .spool import Spool, Spools
from .tables import answers, chains, texts

log = structlog.get_logger(__name__)

NAME, SPOOL = "audit-writer", "spool"
"""The thread's name, and that of its problem with files of the spool."""
MAX_ROWS_PER_COMMIT = 512
IDS_IN_A_LINE = 5
"""Maximum number of ids of lost rows in a log line."""
RETRY_S = 1.0
"""Seconds between two attempts to reach a store that is down."""
STUCK_S = 5.0
"""Seconds after which a statement is broken off: the database's machine or disk stands still, which no timeout of the network sees."""
MOST_WAITING = 20_000
"""Rows that wait for the writer; further ones are refused."""
_BEGIN_CHAIN = sa.text(
    "INSERT INTO chains (writer, route, start_seq, start_hash, start_seal, last_seq, last_hash, last_seal, updated_at) "
    "VALUES (:writer, :route, 0, :genesis, :start_seal, :seq, :hash, :last_seal, :now)"
)
_MOVE_END = sa.text(
    "UPDATE chains SET last_seq = :seq, last_hash = :hash, last_seal = :last_seal, updated_at = :now "
    "WHERE writer = :writer AND route = :route AND last_hash = :before"
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

    @property
    def is_withdrawn(self) -> bool:
        """Whether its caller has given up, and writes another row in place of these."""
        return not self.may_spool and self.waiter is not None and self.waiter.cancelled()


class _SetBack(Exception):
    """The store has another end of a chain than the one that was committed."""


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
        supervisor: Supervisor,
        *,
        on_settled: Callable[[Sequence[Settlement]], None],
        count_lost: Callable[[int], None],
    ) -> None:
        self.id = f"{time.time_ns() // 1_000_000:011x}{secrets.token_hex(6)}"
        self.down: Exception | None = None
        self._engine, self._key, self._supervisor = engine, key, supervisor
        self._on_settled, self._count_lost = on_settled, count_lost
        self._queue: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._given = self._taken = self._gone = 0
        self._at_work: Sequence[Batch] = ()
        self._ended = False
        self._asked_at: float | None = None
        self._connection: sa.Connection | None = None
        self._heads: dict[str, Head] = {}
        self._told: dict[str, Head] = {}
        self._next_try = 0.0
        self._spools = Spools(folder, self.id)
        self._spools.look()
        self._thread = supervisor.thread(NAME, self._turn, self._fail_waiting)

    @property
    def spooled(self) -> int:
        """Number of rows in the spool."""
        return sum(spool.rows for spool in self._spools.held)

    @property
    def queued(self) -> int:
        """Number of batches waiting for the writer."""
        return self._queue.qsize()

    def put(self, batch: Batch) -> None:
        """Queue a batch, from one thread. It is refused at once if too many rows wait, or nobody is there to write it."""
        if self._given - self._taken + len(batch.entries) > MOST_WAITING:
            return self._fail([batch], queue.Full())
        self._given += len(batch.entries)
        self._queue.put(batch)
        if self._ended:
            self._fail_waiting()
        return None

    def close(self) -> None:
        """Write waiting batches and end the thread. Blocks: call it in a worker thread."""
        self._queue.put(None)
        self._thread.join()

    def release(self) -> None:
        """Break off a statement that takes longer than `STUCK_S`; called from another thread. Its rows go to the spool."""
        since = self._asked_at
        if since is None or time.monotonic() < since + STUCK_S:
            return
        with suppress(Exception):  # the writer may be done with it
            waits_for = self._connection.connection.dbapi_connection.pgconn.socket  # type: ignore[union-attr]
            with socket.socket(fileno=os.dup(waits_for)) as shared:
                shared.shutdown(socket.SHUT_RDWR)

    def tell_ends(self) -> None:
        """Log the ends of this process's chains that have moved: what is outside the store cannot be cut off with a chain."""
        heads = self._heads
        for route, head in heads.items():
            if head != self._told.get(route):
                log.info(chain.END, writer=self.id, route=route, seq=head.seq, hash=head.hash)
        self._told = heads

    def _turn(self) -> bool:
        """Write what waits, and take up a store or a spool that was in trouble; False after the last turn."""
        self._asked_at = None
        self._at_work, going = self._take()
        if self._at_work:
            self._settle(self._at_work)
        self._at_work = ()
        if self._troubled and (time.monotonic() >= self._next_try or not going):
            self._catch_up()
        if not going:
            self.tell_ends()
            for spool in self._spools.held:
                spool.close()
        return going

    @property
    def _troubled(self) -> bool:
        return bool(self.down or self._spools.held or self._spools.unread)

    def _take(self) -> tuple[list[Batch], bool]:
        """The waiting batches for one commit, and whether more may come."""
        batches: list[Batch] = []
        rows = 0
        with suppress(queue.Empty):
            while rows < MAX_ROWS_PER_COMMIT:
                wait = max(0.0, self._next_try - time.monotonic()) if self._troubled else None
                batch = self._queue.get(timeout=wait) if not batches else self._queue.get_nowait()
                if batch is None:
                    return batches, False
                batches.append(batch)
                rows += len(batch.entries)
                self._taken += len(batch.entries)
        return batches, True

    def _fail_waiting(self) -> None:
        """Nobody writes any more: fail what waits, instead of letting each waiter wait for ever."""
        self._ended = True
        self._disconnect()
        waiting, self._at_work = list(self._at_work), ()
        with suppress(queue.Empty):
            while True:
                if (batch := self._queue.get_nowait()) is not None:
                    waiting.append(batch)
        if waiting:
            self._fail(waiting, RuntimeError())

    def _settle(self, batches: Sequence[Batch]) -> None:
        """Store the entries of some batches and wake their waiters."""
        batches = [batch for batch in batches if not batch.is_withdrawn]
        try:
            outcomes = self._outcomes(batches)
        except Exception as error:  # noqa: BLE001 # nobody must wait for a writer that has failed
            self._supervisor.failed(NAME, error)
            return self._fail(batches, error)
        return self._conclude(batches, outcomes)

    def _fail(self, batches: Sequence[Batch], error: Exception) -> None:
        self._conclude(batches, [[error] * len(batch.entries) for batch in batches])

    def _conclude(self, batches: Sequence[Batch], outcomes: Sequence[Sequence[Outcome]]) -> None:
        """Count rows that are lost, and wake the waiters. A row that may not wait is not lost: its caller writes one that says so."""
        ended = [(batch, of_batch) for batch, of_batch in zip(batches, outcomes, strict=True) if batch.may_spool]
        ids = [str(entry.row["id"]) for batch, _ in ended for entry in batch.entries]
        self._lose(ids, [outcome for _, of_batch in ended for outcome in of_batch])
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
                if _of_store(of_batch[i]) and batch.may_spool:
                    places.append((of_batch, i))
                    waiting_rows.append(row)
        if not waiting_rows:
            return
        failure: Outcome = None
        try:
            self._spools.append(waiting_rows)
        except Exception as error:  # noqa: BLE001 # these rows are lost; others of the same commit are not
            failure = error
        for of_batch, i in places:
            of_batch[i] = failure

    def _catch_up(self) -> None:
        """Replay the spools. What fails, the store or a file, is tried again later."""
        self._next_try = time.monotonic() + RETRY_S
        try:
            self._try_to_write(self._connect())
            self._spools.look()
            self._replay()
        except Exception as error:  # noqa: BLE001 # whatever it is, rows that come meanwhile are written or spooled
            if _of_store(error):
                self._go_down(error)
            else:
                self._supervisor.failed(NAME, error)

    def _try_to_write(self, connection: sa.Connection) -> None:
        """Make room where SQLite's log has taken it, and write something small: a full disk can still be read."""
        with suppress(sa.exc.SQLAlchemyError):
            empty_log(connection)
        connection.execute(sa.update(chains).where(chains.c.writer == self.id).values(updated_at=time.time()))
        connection.commit()

    def _replay(self) -> None:
        """Store what waits; of a file that cannot be read `/health` says that its rows wait. Raises what the store raised."""
        for spool in list(self._spools.held):
            if self._replayed(spool):
                self._spools.remove(spool)
        self._supervisor.tell(SPOOL, self._spools.unread)
        if self.down is not None:
            log.info("audit_store_back")
            self.down = None

    def _replayed(self, spool: Spool) -> bool:
        """Store the rows of a spool that are not in the store yet; False if they cannot be read."""
        rows, count = spool.read(), 0
        while True:
            try:
                chunk = list(islice(rows, MAX_ROWS_PER_COMMIT))
            except OSError as error:
                self._spools.keep_unread(spool.path, error)
                return False
            if not chunk:
                break
            unknown = self._unknown(chunk)
            outcomes = self._store(unknown)
            for failed in filter(_of_store, outcomes):
                raise cast(Exception, failed)
            self._lose([row.id for row in unknown], outcomes)
            count += len(chunk)
        if count:
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
        except Exception as error:  # noqa: BLE001 # of the store, or of one row, which takes no other with it
            if not _of_store(error):
                return [error] if len(rows) == 1 else [self._store([row])[0] for row in rows]
            self._disconnect()
            if again and (isinstance(error, _SetBack) or getattr(error, "connection_invalidated", False)):
                return self._store_again(rows)
            self._go_down(error)
            return [error] * len(rows)
        return [None] * len(rows)

    def _store_again(self, rows: Sequence[Prepared]) -> list[Outcome]:
        """Try again on a new connection, because only the old one may have been broken."""
        try:
            missing = {row.id: row for row in self._unknown(rows)}
        except (sa.exc.SQLAlchemyError, OSError) as error:
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
        with connection.begin():
            self._write_ends(
                connection, {route: heads[route] for route in heads if heads[route] != self._heads.get(route)}
            )
            drop_sums(connection, [row["created_at"] for row in chained])
            insert(connection, answers, chained)
            insert(connection, texts, rows_of_texts)
        self._heads = heads

    def _write_ends(self, connection: sa.Connection, ends: dict[str, Head]) -> None:
        """Write the new ends of the chains; for a new chain also its start.

        Raises:
            _SetBack: an end is not where this process left it.
        """
        now = time.time()
        for route, head in ends.items():
            before = self._heads.get(route)
            written = connection.execute(
                _BEGIN_CHAIN if before is None else _MOVE_END,
                {
                    "writer": self.id,
                    "route": route,
                    "before": before and before.hash,
                    "genesis": GENESIS,
                    "start_seal": chain.seal(self.id, route, "start", Head(), self._key),
                    "seq": head.seq,
                    "hash": head.hash,
                    "last_seal": chain.seal(self.id, route, "last", head, self._key),
                    "now": now,
                },
            )
            if written.rowcount != 1:
                raise _SetBack

    def _connect(self) -> sa.Connection:
        """The writer's own connection, opened if need be."""
        if self._connection is None:
            self._connection = self._engine.connect()
            for event in ("before_cursor_execute", "commit"):
                sa.event.listen(self._connection, event, self._begin_to_wait)
            try:
                self._read_ends(self._connection)
            except BaseException:
                self._disconnect()
                raise
        return self._connection

    def _begin_to_wait(self, *_: object) -> None:
        """Of each statement alone: to replay many takes long, and is well."""
        self._asked_at = time.monotonic()

    def _read_ends(self, connection: sa.Connection) -> None:
        """Read the ends of the chains. Where one is behind the end that this process committed, the store was set back, as by a failover to a
        standby that had not yet all: what is gone is recorded, logged and counted.
        """
        ends = connection.execute(sa.select(chains).where(chains.c.writer == self.id)).all()
        heads = {end.route: Head(end.last_seq, end.last_hash) for end in ends}
        left = {route: heads.get(route, Head()).seq for route in self._heads}
        gone = [(route, left[route], head.seq) for route, head in self._heads.items() if left[route] < head.seq]
        for route, last, known in gone:
            note = f"rows {last + 1} to {known} of chain {self.id} were committed, and the store has them no longer"
            change: dict[str, Any] = {"route": route or None, "before": str(known), "after": str(last), "note": note}
            note_change(connection, actor="server", what="rows_gone", **change)
        connection.commit()
        self._heads = heads
        for route, last, known in gone:
            log.error("audit_rows_gone", writer=self.id, route=route or None, first=last + 1, last=known)
            self._count_lost(known - last)
            self._gone += known - last
        if gone:
            told = f"{self._gone:,} rows that were committed are gone: the store was set back; the record of changes names them"
            self._supervisor.problems["store-set-back"] = told

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sa.exc.SQLAlchemyError, OSError):
                self._connection.close()
            self._connection = None

    def _go_down(self, error: Exception) -> None:
        self._disconnect()
        self._next_try = time.monotonic() + RETRY_S
        if self.down is None:
            reason = said_by_driver(error) or getattr(error, "strerror", None)
            log.error("audit_store_down", error=type(error).__name__, reason=reason)
        self.down = error


def _of_store(error: Outcome) -> bool:
    """Whether an error is the store's or the disk's: the row may wait. Any other is the row's own."""
    of_row = isinstance(error, sa.exc.IntegrityError | sa.exc.DataError)
    return isinstance(error, sa.exc.SQLAlchemyError | OSError | _SetBack) and not of_row
