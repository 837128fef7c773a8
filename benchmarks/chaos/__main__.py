"""`make chaos`: `python -m benchmarks.chaos [--rounds 6] [--store sqlite] [--blocks troubles] [--write]`.

A proxy for the tables of faults and abuse, a fresh one for each fault of the process, one more for its memory; on SQLite and on PostgreSQL.
Takes half an hour, and ends with 1 where anything was found.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.chaos.checks import STATUS
from benchmarks.chaos.load import Tally, count_faults, count_leaks, held, run_abuses, run_faults, tags, warm
from benchmarks.chaos.memory import Memory, measure
from benchmarks.chaos.processes import (
    AWAY,
    FULL,
    FULL_ALL,
    KILLED,
    REPLACED,
    Load,
    away,
    full,
    killed,
    leaving,
    replaced,
    small_disk,
)
from benchmarks.chaos.report import kinds, of_memory, of_store, write
from benchmarks.chaos.serving import Proxy, proxy
from benchmarks.chaos.signals import storms
from benchmarks.chaos.traces import collecting
from benchmarks.chaos.troubles import (
    CLOCK,
    FAILING,
    NO_GROWTH,
    READ_ONLY,
    REDIS,
    SET_BACK,
    SIGNALS,
    clock,
    failing,
    no_growth,
    read_only,
    redis,
    set_back,
    with_map,
    without_redis,
)
from benchmarks.chaos.upstream import Upstream, listening
from tests.support.postgres import Cluster, Missing, cluster

STORES = ("SQLite", "PostgreSQL")
POSTGRES_BYTES = 256 * 1024 * 1024
"""A cluster of PostgreSQL takes some 60 MB before it has a row."""
LARGER_BYTES = 48 * 1024 * 1024
"""Two workers reserve 4 MB each for their metrics."""
TABLES_S = 120.0
"""Seconds on each store after which no further round begins: on a busy machine there are fewer."""
BLOCKS = ("faults", "troubles", "signals")
"""Of the page, on each store."""
MOST_GROWTH = 0.05
"""Most that a process may hold more after all requests than after the first thousand."""


class Run:
    """One run of everything on one kind of store."""

    def __init__(self, folder: Path, server: Cluster | None, names: Iterator[str]) -> None:
        self.tally, self.notes = Tally(), list[str]()
        self.spans = 0
        self.began = time.monotonic()
        folder.chmod(0o755)  # PostgreSQL runs as a user of its own
        self._folder, self._server, self._names, self._number = folder, server, names, 0

    @asynccontextmanager
    async def proxy(
        self,
        *,
        store_on: Path | None = None,
        all_on: Path | None = None,
        server: Cluster | None = None,
        **more: Any,
    ) -> AsyncIterator[tuple[Proxy, Upstream]]:
        """A fresh proxy on a fresh store, traced; its store, or all that it writes, on another disk; `more` as for `serving.proxy`."""
        self._number += 1
        folder = (all_on or self._folder) / str(self._number)
        folder.mkdir()
        with_map(folder)
        server = server or self._server
        url = server.database() if server is not None else f"sqlite:///{store_on or folder}/audit.db"
        async with (
            listening(Upstream()) as upstream,
            collecting() as traces,
            proxy(folder, upstream.url, url, traces.url, **more) as running,
        ):
            await warm(running, self._names)
            yield running, upstream
            count_faults(running, self.tally)
            self.spans += traces.received

    def load(self, running: Proxy, upstream: Upstream, section: str) -> Load:
        """Clients for one section of the report."""
        print(f"  {time.strftime('%H:%M:%S')} {section}", flush=True)
        return Load(running, upstream, self.tally, section, self._names)

    async def tables(self, rounds: int) -> None:
        """Faults of the upstream in every way, and abuse by clients."""
        async with self.proxy() as (running, upstream):
            before, began = await held(running), time.monotonic()
            for turn in range(rounds):
                if turn and time.monotonic() - began > TABLES_S:
                    self.notes.append(f"{turn} of {rounds} rounds: there was no time for more.")
                    break
                print(f"  {time.strftime('%H:%M:%S')} round {turn + 1}", flush=True)
                await run_faults(running, upstream, self.tally, self._names)
            await run_abuses(running, upstream, self.tally, times=1)
            await count_leaks(running, self.tally, before)

    async def processes(self) -> None:
        """Faults of the process, of its disk and of its files."""
        async with self.proxy() as (running, upstream):
            await killed(running, self.load(running, upstream, KILLED))
        async with self.proxy() as (running, upstream):
            go, come = leaving(self._server, running.settings["audit"]["url"])
            await away(running, self.load(running, upstream, AWAY), go, come)
        async with self.proxy() as (running, upstream):
            await replaced(running, self.load(running, upstream, REPLACED))
        await self._where_it_can_be(self._full_disks())

    async def troubles(self) -> None:
        """What else a process has to outlive: `troubles`."""
        async with self.proxy() as (running, upstream):
            go, come = leaving(self._server, running.settings["audit"]["url"])
            await failing(running, self.load(running, upstream, FAILING), go, come)
        async with self.proxy() as (running, upstream):
            await no_growth(running, self.load(running, upstream, NO_GROWTH), of_store=self._server is None)
        if self._server is not None:
            async with self.proxy() as (running, upstream):
                await away(running, self.load(running, upstream, READ_ONLY), *read_only(self._server))
        async with self.proxy() as (running, upstream):
            await set_back(running, self.load(running, upstream, SET_BACK), self._server)
        async with self.proxy(audit={"keep_rows_days": 30, "purge_every_s": 1}) as (running, upstream):
            await clock(running, self.load(running, upstream, CLOCK))
        await self._where_it_can_be(self._without_redis())

    async def signals(self, number: int) -> None:
        """Signals at random moments, to one process and to a command with several."""
        async with self.proxy() as (running, _):
            await running.stop()
            print(f"  {time.strftime('%H:%M:%S')} {SIGNALS}", flush=True)
            for storm in await asyncio.to_thread(lambda: list(storms(running.config, seed=37, signals=number))):
                self.tally.requests[SIGNALS] += storm.sent
                for found in storm.found:
                    self.tally.add(SIGNALS, STATUS, found)

    async def _where_it_can_be(self, tried: Coroutine[Any, Any, None]) -> None:
        try:
            await tried
        except PermissionError as error:
            self.notes.append(f"Not tried: {error}.")

    async def _full_disks(self) -> None:
        if self._server is None:
            with small_disk(self._folder / FULL) as disk:
                async with self.proxy(store_on=disk) as (running, upstream):
                    await full(running, self.load(running, upstream, FULL), disk)
            with small_disk(self._folder / FULL_ALL, LARGER_BYTES) as disk:
                async with self.proxy(all_on=disk, workers=2) as (running, upstream):
                    await full(running, self.load(running, upstream, FULL_ALL), disk)
            return
        with small_disk(self._folder / FULL, POSTGRES_BYTES) as disk, cluster(parent=disk) as server:
            async with self.proxy(server=server) as (running, upstream):
                await full(running, self.load(running, upstream, FULL), disk, server.ensure)

    async def _without_redis(self) -> None:
        async with redis(self._folder) as (url, tell, server):
            counting = {"counting": {"store": "redis", "url": url}}
            async with self.proxy(access=counting, budgets=[{"hard": 1e9}]) as (running, upstream):
                await without_redis(running, self.load(running, upstream, REDIS), tell, server)

    async def memory(self) -> Memory:
        """Resident memory over many requests."""
        async with self.proxy() as (running, upstream):
            return await measure(running, upstream, self._names)


async def on_store(store: str, names: Iterator[str], block: Callable[[Run], Awaitable[None]]) -> Run:
    """A block of faults on one kind of store."""
    with tempfile.TemporaryDirectory(prefix="hedgerow-chaos-") as folder, contextlib.ExitStack() as stack:
        run = Run(Path(folder), stack.enter_context(cluster()) if store == "PostgreSQL" else None, names)
        await block(run)
    if not run.spans:
        run.notes.append("No span reached the collector.")
    return run


async def everything(
    stores: list[str], blocks: Mapping[str, Callable[[Run], Awaitable[None]]], *, with_memory: bool
) -> AsyncIterator[tuple[str, str, bool]]:
    """The measured blocks of the page as they come: name, text, and whether anything was found."""
    names = tags()
    yield "kinds", kinds(), False
    for store in stores:
        for name, block in blocks.items():
            print(store, name, flush=True)
            run = await on_store(store, names, block)
            print(*run.tally.examples, sep="\n", flush=True)
            text = of_store(run.tally, run.notes, time.monotonic() - run.began)
            yield f"{store}, {name}", text, bool(run.tally.found)
    if with_memory:
        with tempfile.TemporaryDirectory(prefix="hedgerow-chaos-") as folder:
            memory = await Run(Path(folder), None, names).memory()
        yield "memory", of_memory(memory), memory.growth > MOST_GROWTH


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=6, help="how often each fault is shown in each way, on each store, at most"
    )
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both", "none"], default="both")
    parser.add_argument(
        "--without-memory", action="store_true", help="leave out the 23,000 requests that measure memory"
    )
    parser.add_argument("--blocks", nargs="+", choices=BLOCKS, default=BLOCKS, help="these alone on each store")
    parser.add_argument("--signals", type=int, default=100, help="signals on each store, at least")
    parser.add_argument("--write", action="store_true", help="put what was measured into docs/reliability.md")
    options = parser.parse_args()
    stores = [store for store in STORES if options.store in ("both", store.lower())]

    async def tables(run: Run) -> None:
        await run.tables(options.rounds)
        await run.processes()

    async def signals(run: Run) -> None:
        await run.signals(options.signals)

    every: dict[str, Callable[[Run], Awaitable[None]]] = dict(zip(BLOCKS, (tables, Run.troubles, signals), strict=True))
    blocks = {name: every[name] for name in options.blocks}

    async def count() -> bool:
        """Whether anything was found."""
        wrong = False
        async for block, text, found in everything(stores, blocks, with_memory=not options.without_memory):
            print(text, flush=True)
            wrong = wrong or found
            if options.write:
                write(block, text)
        return wrong

    try:
        return int(asyncio.run(count()))
    except Missing as missing:
        sys.exit(f"{missing}; `--store sqlite` does without")


if __name__ == "__main__":
    sys.exit(main())
