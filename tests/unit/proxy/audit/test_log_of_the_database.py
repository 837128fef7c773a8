"""SQLite's log stays small: our own readers hold it for a moment only, its room is given back, and a full disk heals with room; readers of everything
see what one snapshot would have shown.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from hedgerow.proxy.audit import engine as engines
from hedgerow.proxy.audit import queries, verify
from hedgerow.proxy.audit.engine import open_engine, open_existing, transaction
from hedgerow.proxy.audit.labelled import export_claims, export_rows
from hedgerow.proxy.audit.queries import recorded_answers
from hedgerow.proxy.audit.retention import purge
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.cli import app
from hedgerow.proxy.errors import StoreError
from tests.unit.proxy.audit.conftest import Store, entry
from tests.unit.proxy.audit.test_retention import settings

BETAS = {"raw_alpha": 3.0, "raw_beta": 1.0, "alpha": 2.0, "beta": 1.0}
CLAIM = {"raw": [1.0, 1.0], "calibrated": [1.0, 1.0]}


def answer(number: int, **more: Any) -> Any:
    """One of several that were asked for at the same moment."""
    texts = Texts("Who?", "Me.", "Probably me.", None, ("Me.", "You."), ("Me.",))
    return entry(
        f"a{number:03}",
        created_at=float(number // 4),
        texts=texts,
        claims=[CLAIM],
        signal="consistency",
        **BETAS | more,
    )


@pytest.fixture
def opened(store: Store) -> Iterator[sa.Engine]:
    engine = open_engine(store.settings)
    yield engine
    engine.dispose()


READERS: list[Callable[[sa.Engine], Iterator[Any]]] = [export_rows, export_claims, recorded_answers]


@pytest.mark.parametrize("read", READERS)
def test_portions_are_the_whole(store: Store, opened: sa.Engine, monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
    """However many answers of one moment stand at the end of one; between two portions nobody waits for the reader."""
    store.write(*(answer(number, route="r" if number % 3 else "other") for number in range(23)))
    whole = list(read(opened))
    assert len(whole) >= 23
    for at_a_time in (1, 2, 4, 23):
        monkeypatch.setattr(queries, "AT_A_TIME", at_a_time)
        parts = read(opened)
        first = next(parts)
        if opened.dialect.name == "sqlite":
            assert log_can_be_emptied(store)
        assert [first, *parts] == whole


def log_can_be_emptied(store: Store) -> bool:
    """Whether nobody reads from SQLite's log."""
    with sqlite3.connect(store.settings.url.removeprefix("sqlite:///"), timeout=0) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()
    return busy == 0


@pytest.mark.parametrize("at_a_time", [1, 2, 7])
def test_verification_goes_on_while_rows_come_and_go(
    store: Store, opened: sa.Engine, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    """Between each two portions a row is written, and now and then retention takes the beginning: nothing is found."""
    monkeypatch.setattr(verify, "ROWS_AT_A_TIME", at_a_time)
    store.write(*(answer(number) for number in range(20)))
    looks = itertools.count()
    told = settings(store, keep_rows_days=1)

    async def work(running: AuditStore) -> verify.Report:
        for number in range(20, 40):
            await running.write(answer(number))

        @contextmanager
        def look() -> Iterator[sa.Connection]:
            turn = next(looks)
            if turn % 3 == 2:
                purge(opened, told, actor="test", now=86_400.0 + turn // 3)
            if turn < 12:
                running.enqueue(answer(100 + turn))
                running._hand_over_gathered()
            with transaction(opened, "snapshot") as connection:
                yield connection

        return await asyncio.to_thread(verify.examine, look, b"")

    report = store.run(work)
    assert report.findings == []
    assert report.rows >= 20


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
def test_the_room_of_the_log_is_given_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of ten thousand rows' time makes it grow; when it has gone, the next commits make it small again."""
    monkeypatch.setattr(engines, "LARGEST_LOG", 100_000)

    def size() -> int:
        return os.stat(store.settings.url.removeprefix("sqlite:///") + "-wal").st_size

    async def work(running: AuditStore) -> None:
        await running.write(answer(0))
        reader = sqlite3.connect(store.settings.url.removeprefix("sqlite:///"))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM answers").fetchone()
        for number in range(1, 150):
            await running.write(answer(number))
        assert size() > 3_000_000
        reader.close()
        for number in range(150, 152):
            await running.write(answer(number))
        assert size() <= 100_000

    store.run(work)


@pytest.fixture
def unwritable(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store of a few rows on a medium that cannot be written."""
    if not store.settings.url.startswith("sqlite"):
        pytest.skip("a server writes for itself")
    store.write(*(answer(number) for number in range(5)))
    monkeypatch.setattr(os, "access", lambda _path, mode: mode != os.W_OK)
    return store


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
def test_a_store_on_a_read_only_medium_can_be_read(unwritable: Store, tmp_path: Path) -> None:
    """A backup is verified where it lies, and nothing appears beside it; what would change it says that it cannot be written."""
    config = tmp_path / "c.yaml"
    config.write_text(
        "upstreams: { u: { provider: openai, base_url: 'http://127.0.0.1:1/v1' } }\nroutes: [{ name: r, upstream: u }]\n"
        f"audit: {{ url: '{unwritable.settings.url}', keep_rows_days: 1 }}\n"
    )
    file = Path(unwritable.settings.url.removeprefix("sqlite:///"))
    for beside in ("-wal", "-shm"):
        file.with_name(file.name + beside).unlink(missing_ok=True)
    before = file.read_bytes()
    run = CliRunner()
    verified = run.invoke(app, ["audit", "verify", "-c", str(config)])
    assert (verified.exit_code, "every chained row is as it was written" in verified.output) == (0, True)
    for words in (["summary"], ["list"], ["export", str(tmp_path / "out.jsonl")], ["purge", "--dry-run"]):
        done = run.invoke(app, ["audit", *words, "-c", str(config)])
        assert done.exit_code == 0, (words, done.output)
    refused = run.invoke(app, ["audit", "delete", "--id", "a001", "-c", str(config)])
    assert (refused.exit_code, "cannot be written" in refused.stderr) == (2, True)
    assert {path.name for path in file.parent.glob(f"{file.name}*")} == {file.name}
    assert file.read_bytes() == before


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
def test_what_cannot_be_read_there_is_said(unwritable: Store) -> None:
    """A part of it in its log, or an older schema: both need a copy."""
    file = Path(unwritable.settings.url.removeprefix("sqlite:///"))
    log = file.with_name(f"{file.name}-wal")
    log.write_bytes(b"x")
    with pytest.raises(StoreError, match=r"a part of it is in audit\.db-wal\. Copy both"):
        open_existing(unwritable.settings)
    log.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    connection.close()
    with pytest.raises(StoreError, match="is at schema 0000 and cannot be written"):
        open_existing(unwritable.settings)
