"""What calibrating an answer costs the proxy itself: `python -m benchmarks.performance.calibrated [--profile]`.

The application runs in this process and is called without sockets on its side; a loopback upstream in another process answers at once with 20
short answers. Rules, template, durable audit row. Processor time is that of all threads of this process; the steps' times are the ones that the
audit keeps. `--profile` lists where the processor time of the event loop's thread goes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import pstats
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import uvloop

from benchmarks.performance.loopback import REQUEST
from benchmarks.performance.overhead import free_port, process
from hedgerow.proxy.app import application
from hedgerow.proxy.config import Log, Settings
from hedgerow.proxy.monitoring.logs import set_up_logging

STREAMED = json.dumps(json.loads(REQUEST) | {"stream": True}).encode()
LOOK_S = 0.001
"""How often the loop is asked whether it still turns."""


def settings(folder: Path, upstream: int) -> Settings:
    """One calibrating route with a committed audit."""
    return Settings(
        upstreams={"loopback": {"provider": "openai", "base_url": f"http://127.0.0.1:{upstream}/v1"}},
        routes=[{"name": "bench", "upstream": "loopback", "mode": "on", "sampling": {"n": 20}}],
        audit={"url": f"sqlite:///{folder}/audit.db", "spool": folder / "spool"},
    )


@asynccontextmanager
async def living(app: Any) -> AsyncIterator[dict[str, Any]]:
    """The application between its start and its end; the state that its lifespan gives to requests."""
    state: dict[str, Any] = {}
    came, started, ended = asyncio.Queue[dict[str, str]](), asyncio.Event(), asyncio.Event()

    async def send(message: dict[str, str]) -> None:
        (started if message["type"].startswith("lifespan.startup") else ended).set()

    async with asyncio.TaskGroup() as group:
        group.create_task(app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": state}, came.get, send))
        came.put_nowait({"type": "lifespan.startup"})
        await started.wait()
        yield state
        came.put_nowait({"type": "lifespan.shutdown"})
        await ended.wait()


async def ask(app: Any, state: dict[str, Any], body: bytes = REQUEST) -> float:
    """Ask once; seconds until the answer was complete."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http", "path": "/v1/chat/completions",
        "raw_path": b"/v1/chat/completions", "query_string": b"", "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "headers": [(b"content-type", b"application/json"), (b"authorization", b"Bearer sk-bench"), (b"content-length", b"%d" % len(body))],
        "state": dict(state), "extensions": {},
    }  # fmt: skip
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    done, statuses = asyncio.Event(), []

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        statuses.append(message.get("status"))
        if message["type"] == "http.response.body" and not message.get("more_body"):
            done.set()

    start = time.perf_counter()
    await app(scope, receive, send)
    if statuses[0] != 200:
        raise RuntimeError(f"status {statuses[0]}")
    return time.perf_counter() - start


async def load(app: Any, state: dict[str, Any], clients: int, requests: int, body: bytes = REQUEST) -> list[float]:
    """Processor time of this process for each of so many rounds of one request by each client, in seconds a request."""
    times = []
    for _ in range(requests // clients):
        start = time.process_time()
        await asyncio.gather(*(ask(app, state, body) for _ in range(clients)))
        times.append((time.process_time() - start) / clients)
    return times


async def longest_stall(app: Any, state: dict[str, Any], streams: int) -> tuple[float, float]:
    """Seconds of the loop's longest pause while so many streams are answered, and the processor time of the loop's thread meanwhile in it.

    The second does not count what other processes took of the machine.
    """
    longest = busy = 0.0
    stop = False

    async def look() -> None:
        nonlocal longest, busy
        while not stop:
            clock, own = time.perf_counter(), time.thread_time()
            await asyncio.sleep(LOOK_S)
            longest = max(longest, time.perf_counter() - clock - LOOK_S)
            busy = max(busy, time.thread_time() - own)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        answered = []
        for _ in range(streams):
            answered.append(group.create_task(ask(app, state, STREAMED)))
            await asyncio.sleep(0)  # as from the network, not all in one round of the loop
        await asyncio.gather(*answered)
        stop = True
    return longest, busy


def steps(database: Path, last: int) -> dict[str, float]:
    """Mean milliseconds of each step of the last answers, by what the audit keeps."""
    engine = sa.create_engine(f"sqlite:///{database}")
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT story FROM answers ORDER BY id DESC LIMIT :n"), {"n": last})
        stories = [json.loads(row[0]) for row in rows]
    found: dict[str, list[float]] = {}
    for story in stories:
        for name, ms in story["timings_ms"].items():
            found.setdefault(name, []).append(ms)
    return {name: statistics.mean(times) for name, times in found.items()}


def percentile(values: Sequence[float], share: float) -> float:
    """By rank."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def measure(folder: Path, upstream: int, profile: bool) -> None:
    """Print everything."""
    app = application(settings(folder, upstream), address="benchmark")
    async with living(app) as state:
        await load(app, state, 1, 50)
        if profile:
            with cProfile.Profile() as profiler:
                await load(app, state, 1, 300)
            pstats.Stats(profiler).sort_stats("tottime").print_stats(45)
            pstats.Stats(profiler).print_callers(
                "language_of|perceive$|\\(perceive|search|replace$|\\(replace|usage_of|learn|_prose|shape\\.py.*shape|machine_read"
            )
            return
        for clients, requests in ((1, 400), (16, 800)):
            times = await load(app, state, clients, requests)
            print(
                f"{clients:3} clients: processor p50 {1e3 * percentile(times, 0.5):.2f} ms, p99 {1e3 * percentile(times, 0.99):.2f} ms a request"
            )
            await asyncio.sleep(0.5)
            print("     steps, mean ms: ", {k: round(v, 2) for k, v in steps(folder / "audit.db", requests).items()})
        clock, busy = await longest_stall(app, state, 200)
        print(
            f"200 streams: longest stall {1e3 * clock:.0f} ms, of which the loop's own work at most {1e3 * busy:.0f} ms"
        )


def main() -> None:
    """Start the upstream and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    set_up_logging(Log(level="error"))
    with tempfile.TemporaryDirectory() as folder:
        port = free_port()
        with process("benchmarks.performance.loopback", str(port), port=port):
            uvloop.run(measure(Path(folder), port, arguments.profile))


if __name__ == "__main__":
    main()
