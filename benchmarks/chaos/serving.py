"""The proxy in a process of its own, as `hedgerow serve` starts it: its configuration, what it holds, what it wrote."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml

from benchmarks import ROOT
from benchmarks.chaos.probed import HELD_FILE, PATIENCE_S, TASKS_FILE, TROUBLE_FILE
from benchmarks.chaos.wire import Answer, request, say

START_S = 120.0
SETTLE_S = 60.0
"""Longest wait for rows to be written and connections to be closed."""
CLIENT_PATIENCE_S = 3.0
"""How long the proxy waits for a client that owes bytes; 30 and 60 s outside of this test."""
UPSTREAM_TIMEOUT_S = 5.0
"""Long enough for an upstream that shares two cores with everything else."""
KEEP_ALIVE_S = 1.0
MAX_ANSWER_BYTES = 4 * 1024 * 1024
MAX_BODY_BYTES = 1024 * 1024
ADMIN_KEY = "chaos-admin-key-1"
_ROUTES: Mapping[str, Mapping[str, Any]] = {
    "off": {"mode": "off"},
    "shadow": {"mode": "shadow"},
    "append": {"mode": "on", "stream": "append"},
    "strict": {"mode": "on", "on_failure": "error"},
    "on": {"mode": "on"},
}


def configuration(folder: Path, upstream: str, store: str, traces: str | None = None) -> dict[str, Any]:
    """A route for each way, chosen by the header `x-way`; the last takes the rest."""
    routes = [
        {"name": name, "match": {"headers": {"x-way": name}}, "upstream": "chaos", "deadline_s": 20.0} | dict(route)
        for name, route in _ROUTES.items()
    ]
    del routes[-1]["match"]
    return {
        "server": {
            "port": 0,
            "keep_alive_s": KEEP_ALIVE_S,
            "max_body_bytes": MAX_BODY_BYTES,
            "admin_key": ADMIN_KEY,
        },
        "upstreams": {
            "chaos": {
                "provider": "openai",
                "base_url": upstream,
                "timeout_s": UPSTREAM_TIMEOUT_S,
                "retries": 1,
                "max_answer_bytes": MAX_ANSWER_BYTES,
                "max_sampling_calls": 256,
            }
        },
        "routes": routes,
        "audit": {"url": store, "spool": str(folder / "spool")},
        "maps": {"folder": str(folder / "maps")},
        "log": {"format": "json"},
    } | ({"tracing": {"endpoint": traces}} if traces else {})


@dataclass
class Proxy:
    """A serving process.

    Attributes:
        settings: as in its file; change them and `write` them.
        workers: processes; several keep their metrics in its folder.
        key: with which it is asked.
    """

    folder: Path
    settings: dict[str, Any]
    process: subprocess.Popen[bytes] | None = None
    address: tuple[str, int] = ("", 0)
    starts: int = 0
    workers: int = 1
    key: str = "sk-chaos"
    engine: sa.Engine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = sa.create_engine(self.settings["audit"]["url"], poolclass=sa.NullPool)

    @property
    def log(self) -> Path:
        """The log of the newest start."""
        return self.folder / f"log-{self.starts}"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "config.yaml"

    @property
    def pid(self) -> int:
        """The process."""
        assert self.process is not None
        return self.process.pid

    def write(self) -> None:
        """Write the configuration file."""
        new = self.config.with_suffix(".new")
        new.write_text(yaml.safe_dump(self.settings))
        new.replace(self.config)

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        self.write()
        self.starts += 1
        files = {name: str(self.folder / name) for name in (TASKS_FILE, HELD_FILE, TROUBLE_FILE)}
        files |= {PATIENCE_S: str(CLIENT_PATIENCE_S), "TMPDIR": str(self.folder)}
        workers = ["--workers", str(self.workers)] if self.workers > 1 else []
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(  # noqa: ASYNC220 # nothing else runs yet
                [sys.executable, "-m", "benchmarks.chaos.probed", "serve", "--config", str(self.config), *workers],
                cwd=self.folder,
                env=os.environ | files | {"PYTHONPATH": str(ROOT)},
                stdout=out,
                stderr=out,
            )
        async with asyncio.timeout(START_S):
            while not (found := re.search(r'"address":"http://([^:"]+):(\d+)"', self.log.read_text())):
                if self.process.poll() is not None:
                    raise RuntimeError(self.log.read_text())
                await asyncio.sleep(0.05)
        self.address = (found[1], int(found[2]))

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; its exit status."""
        assert self.process is not None
        self.process.send_signal(how)
        return await asyncio.to_thread(self.process.wait, 90)

    def ids(self) -> set[str]:
        """The ids of all rows."""
        with self.engine.connect() as connection:
            return set(connection.execute(sa.text("SELECT id FROM answers")).scalars())

    def trouble(self, **told: Any) -> None:
        """Let something be wrong for the process, as `probed.Trouble` takes it; without arguments all is well."""
        new = self.folder / "trouble.new"
        new.write_text(json.dumps(told))
        new.replace(self.folder / TROUBLE_FILE)

    async def run(self, *words: str) -> str | None:
        """What a command says that fails, with the configuration of this proxy; None where it does what it should."""
        command = [sys.executable, "-m", "hedgerow.proxy.cli", *words, "--config", str(self.config)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, env=environment, cwd=self.folder
        )
        return None if done.returncode == 0 else done.stdout + done.stderr

    async def get(self, target: str) -> Answer:
        """Ask it for one of its own pages."""
        return await say(
            self.address, [request("GET", target, authorization=f"Bearer {ADMIN_KEY}", connection="close")]
        )

    async def metric(self, name: str) -> float:
        """The sum of a metric's series."""
        values = re.findall(rf"(?m)^{name}(?:{{[^}}]*}})? (\S+)$", (await self.get("/metrics")).body.decode())
        return sum(map(float, values))

    async def tasks(self) -> Counter[str]:
        """The tasks of its event loop, by name without numbers."""
        place = self.folder / TASKS_FILE
        place.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR2)
        async with asyncio.timeout(30):
            while not place.exists():  # noqa: ASYNC110 # another process writes it
                await asyncio.sleep(0.02)
        return Counter(re.sub(r"\d+", "", name) for name in place.read_text().splitlines())

    def descriptors(self) -> int:
        """Its open file descriptors."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def rss(self) -> float:
        """Its resident memory, in MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def rows(self) -> Counter[tuple[str, str, int | None]]:
        """How many rows the store has, by model, route and the status that the client got."""
        with self.engine.connect() as connection:
            rows = connection.execute(sa.text("SELECT model, route, http_status FROM answers"))
            return Counter((row[0] or "", row[1] or "", row[2]) for row in rows)

    def count(self) -> int:
        """How many rows the store has."""
        with self.engine.connect() as connection:
            return int(connection.execute(sa.text("SELECT count(*) FROM answers")).scalar_one())

    def errors(self) -> list[str]:
        """Lines of the log that speak of a fault of ours."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [
            line
            for line in lines
            if re.search(r'"event":"(request_fault|step_failed|audit_writer_fault)"|Traceback', line)
        ]


@dataclass(slots=True)
class Watch:
    """How well a proxy answered.

    Attributes:
        worst_s: the longest time, in seconds, that `/health` took.
        held_s: the most seconds of processor time during which the event loop looked at nothing.
    """

    worst_s: float = 0.0
    held_s: float = 0.0

    def __str__(self) -> str:
        return (
            f"{1e3 * self.worst_s:.0f} ms, of which the event loop was held up for {1e3 * self.held_s:.0f} ms at most"
        )


@asynccontextmanager
async def watched(running: Proxy) -> AsyncIterator[Watch]:
    """Ask for `/health` again and again until the end of the block."""
    watch, held = Watch(), running.folder / HELD_FILE
    held.unlink(missing_ok=True)

    async def look() -> None:
        while True:
            answer = await running.get("/health")
            watch.worst_s = max(watch.worst_s, answer.seconds)
            await asyncio.sleep(0.02)

    looking = asyncio.ensure_future(look())
    try:
        yield watch
    finally:
        looking.cancel()
        await asyncio.wait({looking})
        watch.held_s = float(held.read_text() or 0)


@asynccontextmanager
async def proxy(
    folder: Path, upstream: str, store: str, traces: str | None = None, *, workers: int = 1, **more: Any
) -> AsyncIterator[Proxy]:
    """A proxy, up until the end of the block; `more` goes into the sections of its configuration."""
    settings = configuration(folder, upstream, store, traces)
    for section, content in more.items():
        settings[section] = settings[section] | content if isinstance(settings.get(section), dict) else content
    async with started(Proxy(folder, settings, workers=workers)) as running:
        yield running


@asynccontextmanager
async def started(running: Proxy) -> AsyncIterator[Proxy]:
    """A proxy, started, up until the end of the block."""
    await running.start()
    try:
        yield running
    finally:
        if running.process is not None and running.process.poll() is None:
            running.process.kill()
            running.process.wait(30)
