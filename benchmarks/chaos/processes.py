"""What machines do to a process while it works: it is killed, its disk fills up, its store goes away, its files are replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import orjson
import yaml

from benchmarks.chaos.checks import HANG, STATUS, TEXT, is_checked, texts
from benchmarks.chaos.faults import SOUND
from benchmarks.chaos.load import LOST, Tally, asked, settled
from benchmarks.chaos.rules import WAYS
from benchmarks.chaos.serving import SETTLE_S, Proxy
from benchmarks.chaos.upstream import Upstream
from benchmarks.chaos.wire import Answer, say
from tests.support.postgres import Cluster

CLIENTS = 12
WARM_S, TROUBLE_S = 1.5, 7.0
SMALL_BYTES = 16 * 1024 * 1024
"""Size of the file system that fills up; a PostgreSQL needs more of its own."""
KILLED, FULL, FULL_ALL, AWAY, REPLACED = (
    "kill -9 under load",
    "disk of the store full",
    "disk of store, spool, log and metrics full",
    "store away and back",
    "configuration and maps replaced",
)
_USED = tuple(way for way in WAYS if way.name in ("off", "on", "on, stream", "append"))


class Load:
    """Clients that go on asking; what they got, by the id of the answer where it has one."""

    def __init__(self, proxy: Proxy, upstream: Upstream, tally: Tally, section: str, names: Iterator[str]) -> None:
        self._proxy, self._upstream, self._tally, self._section, self._names = proxy, upstream, tally, section, names
        self.answered: set[str] = set()
        self.may_fail = False

    def add(self, kind: str, where: str) -> None:
        """A defect that is not an answer's."""
        self._tally.add(self._section, kind, where)

    async def client(self) -> None:
        """One client, for ever."""
        while True:
            for way in _USED:
                tag = next(self._names)
                answer = await say(self._proxy.address, [asked(way, SOUND, tag)])
                self._look(answer, tag, relays=way.relays)
                if answer.status is None:
                    await asyncio.sleep(0.05)

    def _look(self, answer: Answer, tag: str, *, relays: bool) -> None:
        tally, section = self._tally, self._section
        tally.requests[section] += 1
        if answer.hung:
            tally.add(section, HANG, "no end")
        elif (answer.status, answer.ending) != (200, "whole"):
            if not self.may_fail:
                tally.add(section, STATUS, f"{answer.status} {answer.ending} {answer.body[-200:]!r}")
            return
        for text in texts(answer.body):
            if not is_checked(text, self._upstream.texts.get(tag, ())):
                tally.add(section, TEXT, text)
        if not relays:
            self.answered |= {event["hedgerow"]["id"] for event in _events(answer.body) if "hedgerow" in event}

    def count(self, requests: int) -> None:
        """Requests that were made besides the clients'."""
        self._tally.requests[self._section] += requests

    def count_untroubled(self) -> None:
        """A fault of the store that the proxy did not notice was none."""
        if '"audit_store_down"' not in self._proxy.log.read_text():
            self.add(STATUS, "the store was never down: nothing was tried")

    async def count_lost(self, counted: float = 0.0) -> None:
        """Every answer that a client has in whole has its row, but for those that were `counted` as lost."""

        def missing() -> set[str] | None:
            lost = self.answered - self._proxy.ids()
            return lost if len(lost) > counted else None

        if (lost := await settled(missing)) is not None:
            self._tally.add(self._section, LOST, f"{len(lost)} of {len(self.answered)}", len(lost))
        if (fault := await self._proxy.run("audit", "verify")) is not None:
            self.add(LOST, f"the chain does not verify: {fault[:300]}")


def _events(body: bytes) -> Iterator[dict[str, object]]:
    for line in body.splitlines() if body.startswith((b"data", b":")) else [body]:
        with contextlib.suppress(orjson.JSONDecodeError):
            event = orjson.loads(line.removeprefix(b"data:"))
            if isinstance(event, dict):
                yield event


@asynccontextmanager
async def loaded(load: Load) -> AsyncIterator[None]:
    """Clients at work until the end of the block."""
    clients = [asyncio.ensure_future(load.client()) for _ in range(CLIENTS)]
    try:
        yield
    finally:
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)


async def killed(proxy: Proxy, load: Load, times: int = 3) -> None:
    """Killed without warning and started again, some times."""
    for _ in range(times):
        async with loaded(load):
            await asyncio.sleep(WARM_S)
            load.may_fail = True
            await proxy.stop(signal.SIGKILL)
        await proxy.start()
        load.may_fail = False
    await load.count_lost()


async def healed(proxy: Proxy, load: Load, *expected: str) -> None:
    """Everything goes on by itself: no thread has ended, no problem is left but those `expected`, no row waits, maps are read, and the log is written."""

    async def wrong() -> str | None:
        health = json.loads((await proxy.get("/health")).body)
        ready = json.loads((await proxy.get("/health/ready")).body)
        left = {name: said for name, said in health.get("problems", {}).items() if not name.startswith(expected or "-")}
        missing = [name for name in expected if name not in health.get("problems", {})]
        waiting = await proxy.metric("hedgerow_audit_spooled_rows")
        bad = {name: health[name] for name in ("dead", "store", "maps", "problem") if name in health}
        said = left or missing or bad or (waiting and f"{waiting:g} rows wait") or ready["store"] != "ok"
        return str(said) if said else None

    deadline = time.monotonic() + SETTLE_S
    while (left := await wrong()) is not None and time.monotonic() < deadline:  # noqa: ASYNC110 # another process heals
        await asyncio.sleep(0.2)
    if left is not None:
        load.add(STATUS, f"not healed: {left}")
    answer = await say(proxy.address, [asked(WAYS[3], SOUND, "healed", proxy.key)])
    mark = answer.headers.get("x-hedgerow-audit-id", "no id")
    if await settled(lambda: None if mark in proxy.log.read_text(errors="replace") else mark):
        load.add(STATUS, f"the log does not go on: {answer.status}")


@contextmanager
def small_disk(folder: Path, size: int = SMALL_BYTES) -> Iterator[Path]:
    """A file system of its own in memory.

    Raises:
        PermissionError: none can be mounted here.
    """
    folder.mkdir(parents=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", str(folder)], capture_output=True
    )
    if done.returncode:
        raise PermissionError("no file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Take all the room of a disk; the file that has it."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"\0" * 65_536):
            continue
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while file.write(b"\0"):
            continue
    return filler


async def full(proxy: Proxy, load: Load, disk: Path, recover: Callable[[], None] = lambda: None) -> None:
    """The disk fills up under load, and has room again: answers go on, and every row is there afterwards or was counted as lost."""
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        filler = await asyncio.to_thread(fill, disk)
        await asyncio.sleep(TROUBLE_S)
        filler.unlink()
        await asyncio.to_thread(recover)
        await asyncio.sleep(TROUBLE_S)
    load.count_untroubled()
    await healed(proxy, load)
    await load.count_lost(await proxy.metric("hedgerow_audit_rows_lost_total"))


async def away(proxy: Proxy, load: Load, go: Callable[[], None], come: Callable[[], None]) -> None:
    """The store cannot be written for a while."""
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        await asyncio.to_thread(go)
        await asyncio.sleep(TROUBLE_S)
        await asyncio.to_thread(come)
        await asyncio.sleep(WARM_S)
    load.count_untroubled()
    await healed(proxy, load)
    await load.count_lost()


class Lock:
    """Another process that holds a SQLite file."""

    def __init__(self, url: str) -> None:
        self._path = url.removeprefix("sqlite:///")
        self._held: sqlite3.Connection | None = None

    def take(self) -> None:
        """Hold it."""
        self._held = sqlite3.connect(self._path, timeout=30, isolation_level=None, check_same_thread=False)
        self._held.execute("BEGIN EXCLUSIVE")

    def give(self) -> None:
        """Let go."""
        if self._held is not None:
            self._held.close()


def leaving(cluster: Cluster | None, url: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """How a store goes away, and how it comes back."""
    if cluster is not None:
        return lambda: cluster.stop(signal.SIGQUIT), cluster.start
    lock = Lock(url)
    return lock.take, lock.give


async def replaced(proxy: Proxy, load: Load, times: int = 12) -> None:
    """The configuration and the folder of maps are replaced under load, by good ones, broken ones and nothing."""
    good, maps = proxy.config.read_text(), proxy.folder / "maps"
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        for turn in range(times):
            content = yaml.safe_load(good)
            content["routes"][-1]["sampling"] = {"n": 8 + turn % 3}
            proxy.config.write_text([yaml.safe_dump(content), good[: len(good) // 2], "[" * 5_000, ""][turn % 4])
            _replace_maps(maps, turn)
            proxy.process.send_signal(signal.SIGHUP)  # type: ignore[union-attr]
            await asyncio.sleep(0.4)
        proxy.write()
        await asyncio.sleep(WARM_S)
    await healed(proxy, load)
    await load.count_lost()


def _replace_maps(folder: Path, turn: int) -> None:
    for path in (folder / "active.json", folder / "maps" / "odd.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(["{}", "[" * 200_000, "null", ""][turn % 4])
