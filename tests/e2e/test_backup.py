"""A backup as docs/operations.md describes it, taken while a real process serves, and restored after the store is gone."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from benchmarks.chaos.load import Tally, tags
from benchmarks.chaos.processes import Load, loaded
from benchmarks.chaos.serving import proxy
from benchmarks.chaos.upstream import Upstream, listening
from tests.support.postgres import Cluster
from tests.support.waiting import until


class File:
    """SQLite: `.backup` of the running database, and the file put back."""

    def __init__(self, folder: Path) -> None:
        self._file, self._backup = folder / "audit.db", folder / "backup.db"
        self.url = f"sqlite:///{self._file}"

    def back_up(self) -> None:
        with sqlite3.connect(self._file) as store, sqlite3.connect(self._backup) as copy:
            store.backup(copy)

    def lose(self) -> None:
        for path in self._file.parent.glob("audit.db*"):
            path.unlink()

    def restore(self) -> None:
        self._backup.rename(self._file)


class Database:
    """PostgreSQL: `pg_dump` and `pg_restore`."""

    def __init__(self, folder: Path, server: Cluster) -> None:
        self._dump, self._server = folder / "hedgerow.dump", server
        self.url = server.database()
        self._name = f"d{server.made}"

    def _run(self, program: str, *arguments: str) -> bytes:
        place = ["-h", str(self._server.folder), "-U", "postgres"]
        return subprocess.run(
            [self._server.bin / program, *place, *arguments], check=True, capture_output=True, env=os.environ
        ).stdout

    def back_up(self) -> None:
        self._dump.write_bytes(self._run("pg_dump", "--format=custom", self._name))

    def lose(self) -> None:
        self._server.execute(f"DROP DATABASE {self._name} WITH (FORCE)")

    def restore(self) -> None:
        self._server.execute(f"CREATE DATABASE {self._name}")
        self._run("pg_restore", f"--dbname={self._name}", str(self._dump))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_is_restored(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every answer from before the backup has its row, the chain verifies, and goes on with new ones."""
    store = File(tmp_path) if kind == "sqlite" else Database(tmp_path, request.getfixturevalue("postgres"))

    async def run() -> None:
        tally, names = Tally(), tags()
        async with listening(Upstream()) as upstream, proxy(tmp_path, upstream.url, store.url) as running:
            load = Load(running, upstream, tally, "", names)
            async with loaded(load):
                await asyncio.sleep(1)
                await asyncio.to_thread(until, lambda: load.answered)
                before = set(load.answered)
                await asyncio.to_thread(store.back_up)
                await asyncio.sleep(1)
            assert await running.stop() == 0
            store.lose()
            store.restore()
            assert await running.run("audit", "verify") is None
            assert before <= running.ids()
            await running.start()
            load.answered.clear()
            async with loaded(load):
                await asyncio.to_thread(until, lambda: load.answered)
            await load.count_lost()
        assert not tally.found, tally.examples

    asyncio.run(run())
