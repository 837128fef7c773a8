"""Every error that a disk can give, at every file operation of the audit: nothing hangs, nothing ends, no row is lost without being counted, and with
the disk well again everything is.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import writer
from hedgerow.proxy.audit.rows import Texts
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.errors import StoreError
from tests.unit.proxy.audit.conftest import Store, entry
from tests.unit.proxy.audit.test_chain import verify
from tests.unit.proxy.audit.test_spool import until

ERRORS = ("ENOSPC", "EIO", "EROFS", "EPIPE", "EACCES", "ENOENT")
"""Each is given by each operation, whether a kernel would or not."""
FILE_OPERATIONS: dict[str, tuple[Any, str]] = {
    name: (os, name)
    for name in ("open", "write", "fsync", "ftruncate", "fstat", "dup", "listdir", "mkdir", "unlink", "rename", "close")
} | {"flock": (fcntl, "flock")}
STORE_OPERATIONS = ("checkout", "before_cursor_execute", "commit")
SAID = Texts("Who?", "Me.")


class Fault:
    """A fault that is there or not, for paths and descriptors in one folder."""

    def __init__(self, name: str, folder: Path) -> None:
        self.number = getattr(errno, name)
        self.folder = folder
        self.is_there = False

    def strike(self, what: Any = None) -> None:
        """Fail if the fault is there and it concerns this path or descriptor; None: it does."""
        if not self.is_there:
            return
        try:
            place = os.readlink(f"/proc/self/fd/{what}") if isinstance(what, int) else str(what or self.folder)
        except OSError:
            return
        if place.startswith(str(self.folder)):
            raise OSError(self.number, os.strerror(self.number), place)


@contextmanager
def at(operation: str, fault: Fault, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The fault at one operation of files, or of the store's driver."""
    if operation in STORE_OPERATIONS:

        def strike(*_: Any) -> None:
            fault.strike()

        sa.event.listen(engine, operation, strike)
        yield
        sa.event.remove(engine, operation, strike)
        return
    module, name = FILE_OPERATIONS[operation]
    real = getattr(module, name)

    def call(what: Any, *rest: Any, **more: Any) -> Any:
        if name == "close" and isinstance(what, int):  # as a kernel does: it is closed, and says that it failed
            try:
                return fault.strike(what)
            finally:
                real(what)
        fault.strike(what)
        return real(what, *rest, **more)

    monkeypatch.setattr(module, name, call)
    yield
    monkeypatch.setattr(module, name, real)


async def written(opened: AuditStore, name: str, *, may_spool: bool = True) -> bool:
    """Whether the store says that a row is durable; it says so soon."""
    async with asyncio.timeout(30):
        try:
            await opened.write(entry(name, texts=SAID), may_spool=may_spool)
        except StoreError:
            return False
    return True


@pytest.mark.parametrize("operation", [*FILE_OPERATIONS, *STORE_OPERATIONS])
def test_a_disk_that_fails_costs_no_row_uncounted(
    store: Store, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """At files of the spool while the store is away and when it comes back, and at the store itself."""
    monkeypatch.setattr(writer, "RETRY_S", 0.02)
    promised: list[str] = []
    told = 0

    async def ask(opened: AuditStore, when: str) -> None:
        nonlocal told
        for number in range(3):
            if await written(opened, f"{when}-{number}"):
                promised.append(f"{when}-{number}")
            else:
                told += 1
        if await written(opened, f"{when}-strict", may_spool=False):
            promised.append(f"{when}-strict")

    async def one(opened: AuditStore, error: str) -> None:
        """The store goes away, the disk fails, the store comes back, the disk is well again."""
        fault, away = Fault(error, store.settings.spool), Fault("EIO", store.settings.spool)
        with (
            at(operation, fault, opened.engine, monkeypatch),
            at("before_cursor_execute", away, opened.engine, monkeypatch),
        ):
            await ask(opened, f"{error}-well")
            away.is_there = True
            await ask(opened, f"{error}-away")
            assert opened.down
            fault.is_there = True
            await ask(opened, f"{error}-ill")
            away.is_there = False
            if operation in FILE_OPERATIONS:
                await until(lambda: not opened.down)
            await ask(opened, f"{error}-back")
            fault.is_there = False
            await until(lambda: not opened.down and not opened.writer.spooled and not opened.supervisor.problems)
            await ask(opened, f"{error}-healed")

    async def work(opened: AuditStore) -> None:
        for error in ERRORS:
            await one(opened, error)
        assert opened.supervisor.dead == []

    store.run(work)
    ids = set(store.sql("SELECT id FROM answers"))
    assert set(promised) <= ids
    assert sum(store.lost) == told
    assert sum("-healed-" in name for name in promised) == 4 * len(ERRORS)
    assert verify(store).findings == []
