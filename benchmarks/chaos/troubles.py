"""What a process has to outlive besides: disks that fail in every way, clocks that jump, a Redis that is away, a store that is set back, signals."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from benchmarks.chaos.checks import HANG, STATUS
from benchmarks.chaos.faults import SOUND
from benchmarks.chaos.load import LOST, asked, settled
from benchmarks.chaos.processes import TROUBLE_S, WARM_S, Load, healed, loaded
from benchmarks.chaos.rules import WAYS
from benchmarks.chaos.serving import Proxy
from benchmarks.chaos.wire import request, say
from hedgerow.calibration import MapRegistry
from hedgerow.calibration.fitting import fit_map
from hedgerow.proxy.audit.operators import set_state
from tests.support.keys import new_key, on_store
from tests.support.postgres import Cluster

FAILING, NO_GROWTH, READ_ONLY, SET_BACK, CLOCK, REDIS, SIGNALS = (
    "disk errors at every file operation",
    "no file can grow",
    "store read-only",
    "store set back",
    "clock a month ahead and back",
    "Redis frozen, refusing, emptied",
    "signals at random moments",
)
ERRORS = ("ENOSPC", "EIO", "EROFS", "EACCES", "ENOENT", "EPIPE")
DAY_S = 86_400.0
PER_MINUTE = 20
"""Requests a minute of the key that is limited."""


def with_map(folder: Path) -> None:
    """A map that all routes use, in the folder of a proxy that has not started."""
    rng = np.random.default_rng(0)
    agree = rng.integers(1, 10, 200)
    registry = MapRegistry(folder / "maps")
    registry.add("chaos", fit_map("platt", agree, 10 - agree, rng.random(200) < agree / 10))
    registry.activate("chaos")


async def failing(proxy: Proxy, load: Load, go: Callable[[], None], come: Callable[[], None]) -> None:
    """The store is away, and each error comes of each file operation of spool, maps and log; then all is well."""
    folders = [str(proxy.folder / "spool"), str(proxy.folder / "maps")]
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        for name in ERRORS:
            await asyncio.to_thread(go)
            await asyncio.sleep(2.0)
            proxy.trouble(errno=getattr(errno, name), folders=folders)
            await asyncio.sleep(2.0)
            await asyncio.to_thread(come)
            await asyncio.sleep(1.0)
            proxy.trouble()
            await asyncio.sleep(1.0)
    await healed(proxy, load)
    await load.count_lost(await proxy.metric("hedgerow_audit_rows_lost_total"))


async def no_growth(proxy: Proxy, load: Load, *, of_store: bool) -> None:
    """The kernel lets no file of the process grow: its store's (SQLite), its spool and its log."""
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        before = resource.prlimit(proxy.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        await asyncio.sleep(TROUBLE_S)
        resource.prlimit(proxy.pid, resource.RLIMIT_FSIZE, before)
        await asyncio.sleep(WARM_S)
    await healed(proxy, load)
    if of_store:
        load.count_untroubled()
    await load.count_lost(await proxy.metric("hedgerow_audit_rows_lost_total"))


def read_only(server: Cluster) -> tuple[Callable[[], None], Callable[[], None]]:
    """How PostgreSQL becomes read-only, as a standby or a full managed disk is, and how it can be written again."""

    def become(value: str) -> None:
        server.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        server.execute("SELECT pg_reload_conf()")

    return lambda: become("on"), lambda: become("off")


async def set_back(proxy: Proxy, load: Load, server: Cluster | None) -> None:
    """An older copy of the store takes its place: the rows, keys and modes of the time between are gone, which is told; the rest goes on."""
    url, copy = proxy.settings["audit"]["url"], Path(f"{proxy.folder}/copy.db")
    name = url.partition("?")[0].rpartition("/")[2]
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        if server is None:
            await asyncio.to_thread(_copied, url.removeprefix("sqlite:///"), str(copy))
        else:
            with _alone(server, name):
                server.execute(f"CREATE DATABASE {name}_copy TEMPLATE {name}")
        await asyncio.to_thread(on_store, url, set_state, "shadow", "mode", "on", actor="chaos")
        await settled(lambda: None if '"routes_changed"' in proxy.log.read_text(errors="replace") else True)
        await asyncio.sleep(WARM_S)
        if server is None:
            await asyncio.to_thread(_copied, str(copy), url.removeprefix("sqlite:///"))
        else:
            with _alone(server, name):
                server.execute(f"DROP DATABASE {name}")
                server.execute(f"ALTER DATABASE {name}_copy RENAME TO {name}")
        await asyncio.sleep(WARM_S)
    await healed(proxy, load, "store-set-back")
    with proxy.engine.connect() as connection:
        told = set(connection.execute(sa.text("SELECT what FROM changes")).scalars())
    if missing := {"rows_gone", "changes_gone"} - told:
        load.add(LOST, f"not in the record of changes: {missing}")
    await load.count_lost(await proxy.metric("hedgerow_audit_rows_lost_total"))


def _copied(source: str, target: str) -> None:
    with (
        contextlib.closing(sqlite3.connect(source, timeout=30)) as old,
        contextlib.closing(sqlite3.connect(target, timeout=30)) as new,
    ):
        old.backup(new)


@contextmanager
def _alone(server: Cluster, name: str) -> Iterator[None]:
    """Nobody is connected to a database."""
    server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        yield
    finally:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


async def clock(proxy: Proxy, load: Load) -> None:
    """The clock goes a month ahead where rows are kept for 30 days, and back: nothing is deleted, it is told, and over once it is confirmed."""
    async with loaded(load):
        await asyncio.sleep(WARM_S)
        before = proxy.count()
        proxy.trouble(ahead_s=31 * DAY_S)
        await asyncio.sleep(TROUBLE_S)
        if proxy.count() < before:
            load.add(LOST, f"{before} rows before the clock went ahead, {proxy.count()} then")
        proxy.trouble()
        await asyncio.sleep(TROUBLE_S)
    await healed(proxy, load, "clock")
    done = await proxy.run("audit", "purge", "--yes")
    if done is not None:
        load.add(STATUS, f"audit purge --yes: {done}")
    await healed(proxy, load)
    await load.count_lost()


@asynccontextmanager
async def redis(folder: Path) -> AsyncIterator[tuple[str, Callable[..., str], subprocess.Popen[bytes]]]:
    """A Redis of our own: its address, its command line, its process.

    Raises:
        PermissionError: there is none on this machine.
    """
    if (server := shutil.which("redis-server")) is None or (client := shutil.which("redis-cli")) is None:
        raise PermissionError("there is no redis-server on this machine")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    command = [server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: ASYNC220 # nothing else runs yet

    def tell(*words: str) -> str:
        return subprocess.run([client, "-p", port, *words], check=True, capture_output=True, text=True).stdout

    try:
        async with asyncio.timeout(30):
            while subprocess.run([client, "-p", port, "ping"], capture_output=True).returncode:  # noqa: ASYNC110, ASYNC221
                await asyncio.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0", tell, process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(30)


async def without_redis(proxy: Proxy, load: Load, tell: Callable[..., str], server: subprocess.Popen[bytes]) -> None:
    """The Redis of limits and budgets freezes, refuses a password, and comes back empty: each is told while it lasts, no answer waits for long, limits
    hold again, and what was spent of a budget stays spent.
    """
    secret = await asyncio.to_thread(new_key, proxy.settings["audit"]["url"], "limited", requests_per_minute=PER_MINUTE)

    async def passing(number: int) -> int:
        """How many of these requests in a row pass."""
        passed = 0
        for _ in range(number):
            began = time.monotonic()
            body = json.dumps({"model": SOUND.name, "messages": [{"role": "user", "content": "Who?"}]}).encode()
            sent = request(
                "POST",
                "/v1/chat/completions",
                body,
                x_way="off",
                x_fault=SOUND.name,
                connection="close",
                authorization=f"Bearer {secret}",
            )
            answer = await say(proxy.address, [sent])
            load.count(1)
            passed += answer.status == 200
            if answer.hung or time.monotonic() - began > 8.0:
                load.add(HANG, f"an answer took {time.monotonic() - began:.1f} s")
            elif answer.status not in (200, 429):
                load.add(STATUS, f"{answer.status} {answer.body[-200:]!r}")
        return passed

    async def troubled(what: str, go: Callable[[], object], come: Callable[[], object]) -> None:
        go()
        if await passing(PER_MINUTE + 5) < PER_MINUTE + 5:
            load.add(STATUS, f"{what}: requests were refused")
        problems = json.loads((await proxy.get("/health")).body).get("problems", {})
        if "unchecked-limits" not in problems:
            load.add(STATUS, f"{what}: /health does not say that limits are unchecked: {problems}")
        come()
        await asyncio.sleep(10.0)
        if 60 - time.time() % 60 < 20:
            await asyncio.sleep(60 - time.time() % 60 + 0.1)
        if await passing(PER_MINUTE + 5) > PER_MINUTE:
            load.add(STATUS, f"{what}: limits do not hold again")
        await passing(1)
        await healed(proxy, load)

    proxy.key = await asyncio.to_thread(new_key, proxy.settings["audit"]["url"], "other")
    await asyncio.sleep(2.5)  # the keys are known by then
    await troubled("frozen", lambda: server.send_signal(signal.SIGSTOP), lambda: server.send_signal(signal.SIGCONT))

    def refuse() -> None:
        tell("config", "set", "requirepass", "other")
        tell("-a", "other", "client", "kill", "type", "normal")  # who is connected need not say it

    await troubled("refusing", refuse, lambda: tell("-a", "other", "config", "set", "requirepass", ""))
    spent = _spent(tell)
    tell("flushall")
    await say(proxy.address, [asked(WAYS[3], SOUND, "emptied", proxy.key)])
    await asyncio.sleep(1.0)
    if (now := _spent(tell)) < spent or not spent:
        load.add(LOST, f"of a budget {spent:g} tokens were spent, {now:g} after Redis was emptied")
    await load.count_lost()


def _spent(tell: Callable[..., str]) -> float:
    """Tokens that Redis has counted of budgets."""
    return sum(
        float(used)
        for key in tell("keys", "hedgerow:spent:*").split()
        for name, used in zip(*[iter(tell("hgetall", key).split())] * 2, strict=True)
        if name[0] == "u"
    )
