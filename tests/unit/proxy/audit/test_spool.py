"""The spool, and the store that goes down and comes back: what was promised is there in the end, once, in whole chains."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import spool as spools
from hedgerow.proxy.audit import writer
from hedgerow.proxy.audit.rows import Prepared, Texts, prepare
from hedgerow.proxy.audit.spool import Spool
from hedgerow.proxy.audit.store import AuditStore, watch_writer
from hedgerow.proxy.audit.writer import Writer
from hedgerow.proxy.errors import StoreError
from tests.support.postgres import Cluster
from tests.unit.proxy.audit.conftest import Store, entry
from tests.unit.proxy.audit.test_chain import verify

SAID = Texts("Who?", "Me.", "Probably me.", None, ("Me.",))


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "RETRY_S", 0.05)


async def until(condition: Callable[[], Any]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def waiting(folder: Path) -> Iterator[Spool]:
    """Files that no living process holds; all of them can be read."""

    def fail(path: Path, error: OSError) -> None:
        raise AssertionError(path) from error

    return spools.waiting(folder, fail)


def row(name: str) -> Prepared:
    """A row as it stands in the spool."""
    return Prepared(entry(name).row, {"answer_id": name, "question": "Wer?"})


def test_rows_come_back_as_they_went_in(tmp_path: Path) -> None:
    """In order, also those of a later append, to another process once this one has let go."""
    spool = Spool.open(tmp_path / "a.spool")
    assert spool is not None
    spool.append([row("a"), row("b")])
    spool.append([row("c")])
    assert list(waiting(tmp_path)) == []
    spool.close()
    (found,) = waiting(tmp_path)
    assert found.rows == 3
    assert list(found.read()) == [row("a"), row("b"), row("c")]
    found.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_a_database_that_was_read_only_is_written_again(store: Store, postgres: Cluster) -> None:
    """Sessions that began meanwhile stay read-only: they are left for new ones."""
    name = store.settings.url.partition("?")[0].rpartition("/")[2]

    async def work(opened: AuditStore) -> None:
        await opened.write(entry("a"))
        postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        await opened.write(entry("b"))
        assert opened.writer.spooled
        postgres.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        await until(lambda: not opened.down)
        await opened.write(entry("c"), may_spool=False)

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == ["a", "b", "c"]


@contextmanager
def standing_still(server: Cluster) -> Iterator[None]:
    """A database whose machine is frozen: connections stay, and nothing answers."""
    assert server.running is not None
    pid = server.running.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    everyone = [pid, *map(int, children)]
    for one in everyone:
        os.kill(one, signal.SIGSTOP)
    try:
        yield
    finally:
        for one in everyone:
            os.kill(one, signal.SIGCONT)


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_a_database_that_stands_still_is_left(store: Store, postgres: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The statement is broken off, the row waits in the spool, and comes back with the database."""
    monkeypatch.setattr(writer, "STUCK_S", 0.1)

    async def work(opened: AuditStore) -> None:
        await opened.write(entry("a"))
        opened.supervisor.keep_running("stuck", lambda: watch_writer(opened))
        with standing_still(postgres):
            await opened.write(entry("b"))
            assert opened.writer.spooled == 1
        await until(lambda: not opened.down)
        await opened.supervisor.aclose()

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == ["a", "b"]
    assert store.lost == []


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_a_long_replay_of_short_statements_is_not_broken_off(
    store: Store, monkeypatch: pytest.MonkeyPatch, lines: Any
) -> None:
    """By a clock on which each commit takes a second."""
    now, commit = 0.0, Writer._commit

    def slowly(self: Writer, rows: Any) -> None:
        nonlocal now
        commit(self, rows)
        now += 1.0
        self.release()

    monkeypatch.setattr(writer, "MAX_ROWS_PER_COMMIT", 1)
    monkeypatch.setattr(writer, "time", SimpleNamespace(time=time.time, time_ns=time.time_ns, monotonic=lambda: now))
    monkeypatch.setattr(Writer, "_commit", slowly)
    store.settings.spool.mkdir()
    spool = Spool.open(store.settings.spool / "a.spool")
    assert spool is not None
    names = [f"w{number:02}" for number in range(20)]
    spool.append([prepare(entry(name), b"key") for name in names])
    spool.close()

    async def work(opened: AuditStore) -> None:
        await until(lambda: lines.of("audit_spool_replayed"))

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == names
    assert lines.of("audit_store_down") == []


def test_a_torn_last_line_was_never_promised(tmp_path: Path, lines: Any) -> None:
    """Cut anywhere, what stands before it is read."""
    spool = Spool.open(tmp_path / "a.spool")
    assert spool is not None
    spool.append([row("a"), row("b")])
    spool.close()
    whole = spool.path.read_bytes()
    first = whole.index(b"\n") + 1
    for cut in range(first, len(whole)):
        spool.path.write_bytes(whole[:cut])
        (found,) = waiting(tmp_path)
        assert list(found.read()) == [row("a")]
        found.close()
    assert len(lines.of("audit_spool_torn")) == len(whole) - first - 1


def test_a_damaged_line_is_told_and_the_file_kept(tmp_path: Path, lines: Any) -> None:
    """The rows around it are read."""
    spool = Spool.open(tmp_path / "a.spool")
    assert spool is not None
    spool.append([row("a"), row("b"), row("c")])
    spool.close()
    spool.path.write_bytes(spool.path.read_bytes().replace(b'"b"', b'"x"', 1))
    (found,) = waiting(tmp_path)
    assert [one.id for one in found.read()] == ["a", "c"]
    assert [line["line"] for line in lines.of("audit_spool_damaged")] == [2]
    found.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["a.damaged"]


def test_an_append_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """A disk that fills up in the middle of a line; what comes later is whole."""
    import resource
    import signal

    spool = Spool.open(tmp_path / "a.spool")
    assert spool is not None
    spool.append([row("a")])
    size = spool.path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, before[1]))
        with pytest.raises(OSError, match="File too large"):
            spool.append([row("b")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    spool.append([row("c")])
    assert [one.id for one in spool.read()] == ["a", "c"]
    spool.close()


@pytest.fixture
def breakable(
    store: Store, request: pytest.FixtureRequest
) -> Iterator[tuple[Store, Callable[[], None], Callable[[], None]]]:
    """A store, what takes it down, and what brings it back: the server stopped, or SQLite told that its disk is full."""
    if store.settings.url.startswith("postgresql"):
        server: Cluster = request.getfixturevalue("postgres")
        yield store, server.stop, server.start
        if server.running is None:
            server.start()
        return
    full = False

    def limit(raw: Any, _record: Any, _proxy: Any = None) -> None:
        raw.execute(f"PRAGMA max_page_count = {1 if full else 2**30}")  # never less than there are: no page is free

    def fill() -> None:
        nonlocal full
        full = True

    def empty() -> None:
        nonlocal full
        full = False

    sa.event.listen(sa.Engine, "checkout", limit)
    yield store, fill, empty
    sa.event.remove(sa.Engine, "checkout", limit)


Breakable = tuple[Store, Callable[[], None], Callable[[], None]]
LARGE = Texts(question="x" * 20_000)
"""A row that finds no room in the pages that are there."""


async def _while_down(opened: AuditStore, take_down: Callable[[], None], work: Callable[[], Awaitable[Any]]) -> Any:
    """Work while the store is down; SQLite's writer looks at its disk when it connects."""
    await asyncio.to_thread(take_down)
    if opened.engine.dialect.name == "sqlite":
        connection = opened.writer._connection
        connection and connection.connection.execute("PRAGMA max_page_count = 1")  # without beginning a transaction
    return await work()


def test_rows_wait_in_the_spool_and_are_replayed(breakable: Breakable, lines: Any) -> None:
    """Answered while the store was down, in the store when it is back; each once, in whole chains."""
    store, take_down, bring_back = breakable

    async def work(opened: AuditStore) -> None:
        await opened.write(entry("before"))

        async def down() -> None:
            await asyncio.gather(*(opened.write(entry(f"w{i}", texts=LARGE)) for i in range(20)))
            opened.enqueue(entry("passed", texts=LARGE))
            await until(lambda: opened.writer.spooled == 21)
            assert opened.down

        await _while_down(opened, take_down, down)
        await asyncio.to_thread(bring_back)
        await until(lambda: not opened.down)
        await opened.write(entry("after"))

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == sorted(
        ["before", "after", "passed", *(f"w{i}" for i in range(20))]
    )
    assert store.sql("SELECT count(*) FROM texts") == [21]
    assert verify(store).findings == []
    assert store.lost == []
    assert list(store.settings.spool.iterdir()) == []
    assert (len(lines.of("audit_store_down")), len(lines.of("audit_store_back"))) == (1, 1)
    assert lines.of("audit_store_down")[0]["reason"]


def test_a_row_that_may_not_wait_is_refused(breakable: Breakable) -> None:
    """And stands nowhere; one that may is kept beside it."""
    store, take_down, bring_back = breakable

    async def work(opened: AuditStore) -> list[Any]:
        await opened.write(entry("before"))

        async def down() -> list[Any]:
            return await asyncio.gather(
                opened.write(entry("no", texts=LARGE), may_spool=False),
                opened.write(entry("yes", texts=LARGE)),
                return_exceptions=True,
            )

        rows: list[Any] = await _while_down(opened, take_down, down)
        await asyncio.to_thread(bring_back)
        await until(lambda: not opened.down)
        return rows

    refused, kept = store.run(work)
    assert isinstance(refused, StoreError)
    assert kept is None
    assert sorted(store.sql("SELECT id FROM answers")) == ["before", "yes"]
    assert store.lost == []  # its caller writes a row that says so


def test_what_a_dead_process_left_is_replayed_at_the_next_start(store: Store) -> None:
    """Rows that reached the store before it died are not written twice."""
    store.write(entry("a"))
    store.settings.spool.mkdir()
    spool = Spool.open(store.settings.spool / "dead.spool")
    assert spool is not None
    spool.append([prepare(entry(name), b"") for name in ("a", "b")])
    with spool.path.open("ab") as torn:
        torn.write(b"0123")
    spool.close()
    store.write(entry("c"))
    assert sorted(store.sql("SELECT id FROM answers")) == ["a", "b", "c"]
    assert verify(store).findings == []
    assert list(store.settings.spool.iterdir()) == []


def test_where_neither_store_nor_spool_can_be_written_the_row_is_lost_and_counted(breakable: Breakable) -> None:
    """The caller is told, and nothing hangs."""
    store, take_down, bring_back = breakable
    store.settings.spool.write_text("a file where a folder should be")

    async def work(opened: AuditStore) -> None:
        await opened.write(entry("before"))

        async def down() -> None:
            with pytest.raises(StoreError):
                await opened.write(entry("lost", texts=LARGE))

        await _while_down(opened, take_down, down)
        await asyncio.to_thread(bring_back)

    store.run(work)
    assert store.lost == [1]
    assert store.sql("SELECT id FROM answers") == ["before"]


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_a_server_that_restarts_between_two_rows_costs_nothing(store: Store, postgres: Cluster) -> None:
    """A broken connection is replaced before anybody is refused."""

    async def work(opened: AuditStore) -> None:
        await opened.write(entry("a"))
        await asyncio.to_thread(postgres.stop)
        await asyncio.to_thread(postgres.start)
        await opened.write(entry("b"), may_spool=False)

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == ["a", "b"]
    assert verify(store).findings == []


def _gone(path: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()


def _replaced(path: Path, _monkeypatch: pytest.MonkeyPatch) -> None:
    path.unlink()
    path.mkdir()


def _not_removable(_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "unlink", refuse)


@pytest.mark.parametrize("trouble", [_gone, _replaced, _not_removable])
def test_a_file_that_is_gone_or_stays_costs_no_row(
    breakable: Breakable, monkeypatch: pytest.MonkeyPatch, trouble: Any
) -> None:
    """While the store is away somebody removes the file of the spool, or it cannot be removed afterwards: every row comes back, and the writer lives."""
    store, take_down, bring_back = breakable

    async def work(opened: AuditStore) -> None:
        await opened.write(entry("before"))

        async def down() -> None:
            await opened.write(entry("held", texts=LARGE))
            (file,) = store.settings.spool.iterdir()
            trouble(file, monkeypatch)
            await opened.write(entry("later", texts=LARGE))

        await _while_down(opened, take_down, down)
        await asyncio.to_thread(bring_back)
        await until(lambda: not opened.down)
        await opened.write(entry("after"))

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == ["after", "before", "held", "later"]
    assert verify(store).findings == []
    assert store.lost == []


def test_a_file_of_a_dead_process_that_cannot_be_read_waits_until_it_can(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process starts without it, says so, and stores its rows once the disk is well again."""
    store.settings.spool.mkdir()
    spool = Spool.open(store.settings.spool / "dead.spool")
    assert spool is not None
    spool.append([prepare(entry("a"), b"")])
    spool.close()
    real, ill = os.open, True

    def failing(path: Any, *rest: Any, **more: Any) -> int:
        if ill and str(path).endswith("dead.spool"):
            raise OSError(5, "Input/output error", str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", failing)

    async def work(opened: AuditStore) -> None:
        nonlocal ill
        await opened.write(entry("b"))
        assert "Input/output error" in opened.supervisor.problems["spool"]
        ill = False
        await until(lambda: not opened.supervisor.problems)

    store.run(work)
    assert sorted(store.sql("SELECT id FROM answers")) == ["a", "b"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_writer_that_is_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits when it ends and what comes later is refused at once; what might have waited is counted as lost."""

    async def work(opened: AuditStore) -> list[Any]:
        await opened.write(entry("before"))

        def killed(*_: Any) -> None:
            raise SystemExit

        monkeypatch.setattr(opened.writer, "_settle", killed)
        async with asyncio.timeout(5):
            first = await asyncio.gather(opened.write(entry("a")), return_exceptions=True)
            later = [opened.write(entry("b")), opened.write(entry("c"), may_spool=False), opened.flush()]
            first += await asyncio.gather(*later, return_exceptions=True)
        opened.enqueue(entry("d"))
        await until(lambda: len(store.lost) == 3)
        assert opened.supervisor.dead == ["audit-writer"]
        return first

    assert [type(outcome) for outcome in store.run(work)] == [StoreError, StoreError, StoreError, type(None)]
    assert store.lost == [1, 1, 1]
    assert store.sql("SELECT id FROM answers") == ["before"]


def test_the_queue_is_bounded_and_what_it_refuses_is_counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the writer is busy; the rows that it took are written, and one that its caller has withdrawn is not."""
    monkeypatch.setattr(writer, "MOST_WAITING", 5)

    async def work(opened: AuditStore) -> list[Any]:
        busy, free, settle = threading.Event(), threading.Event(), opened.writer._settle

        def slow(batches: Any) -> None:
            busy.set()
            free.wait(20)
            settle(batches)

        monkeypatch.setattr(opened.writer, "_settle", slow)
        writing = [asyncio.ensure_future(opened.write(entry("w0")))]
        await asyncio.to_thread(busy.wait, 20)
        withdrawn = asyncio.ensure_future(opened.write(entry("withdrawn"), may_spool=False))
        writing += [asyncio.ensure_future(opened.write(entry(f"w{i}"))) for i in range(1, 9)]
        await until(lambda: sum(store.lost) == 4)
        withdrawn.cancel()
        await asyncio.sleep(0)
        free.set()
        return await asyncio.gather(*writing, withdrawn, return_exceptions=True)

    outcomes = store.run(work)
    assert [type(outcome) for outcome in outcomes[:9]] == [type(None)] * 5 + [StoreError] * 4
    assert sorted(store.sql("SELECT id FROM answers")) == ["w0", "w1", "w2", "w3", "w4"]
    assert sum(store.lost) == 4
