"""What the proxy adds to a request: `python -m benchmarks.performance.overhead [--write]`.

Everything runs on 127.0.0.1: a loopback upstream, the peers of `benchmarks/performance/peers.py`, and the proxy as `hedgerow serve` starts it.
Rounds alternate between all of them, so that a machine that drifts drifts for all; figures are medians over rounds, and what counts are
the ratios within a round. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml
from rich.progress import track

from benchmarks import ROOT
from benchmarks.performance.loopback import Load, measure
from benchmarks.performance.start import table as table_of_starts

DOCUMENT = ROOT / "docs" / "performance.md"
DIRECT, PEER, RIVAL = "direct", "ASGI + aiohttp", "LiteLLM's proxy"
SETTLED_S = 0.3
"""After this time rows and lines of a load are written: they count among its processor time."""


@dataclass(frozen=True)
class Target:
    """A server to load."""

    name: str
    port: int
    process: int
    headers: str = ""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def process(
    *command: str, port: int, cwd: Path | None = None, python: str = sys.executable
) -> Iterator[subprocess.Popen[bytes]]:
    """A server process, up until the end of the block."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    running = subprocess.Popen(
        [python, "-m", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd or ROOT,
        env=environment,
    )
    try:
        wait_for(port, running)
        yield running
    finally:
        running.terminate()  # not by SIGINT: what a shell starts in the background ignores it
        running.wait(timeout=30)


def wait_for(port: int, running: subprocess.Popen[bytes]) -> float:
    """Wait until a server answers; seconds it took."""
    start = time.perf_counter()
    while time.perf_counter() - start < 60:
        if running.poll() is not None:
            raise RuntimeError(f"{running.args} ended with {running.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            if connection.recv(16):
                return time.perf_counter() - start
        time.sleep(0.01)
    raise TimeoutError(f"{running.args} does not answer")


def processor_s(process: int) -> float:
    """Seconds of processor that a process has taken, by Linux's clock of it: `clock_getcpuclockid` encodes its number like this."""
    return time.clock_gettime(~process << 3 | 2)


def configuration(folder: Path, upstream: int, port: int, *, audit: bool = True) -> Path:
    """One route, off unless the header says otherwise; with rows in the audit unless it is to have none."""
    settings = {
        "server": {"port": port},
        "upstreams": {"loopback": {"provider": "openai", "base_url": f"http://127.0.0.1:{upstream}/v1"}},
        "routes": [
            {
                "name": "bench",
                "upstream": "loopback",
                "mode": "off",
                "audit": audit,
                "allow_override": True,
                "sampling": {"n": 20},
            }
        ],
        "audit": {"url": f"sqlite:///{folder}/audit-{port}.db"},
    }
    path = folder / f"config-{port}.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def has_litellm_proxy(python: str) -> bool:
    """Whether an interpreter can run LiteLLM's proxy."""
    environment = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    tried = subprocess.run([python, "-c", "import litellm.proxy.proxy_server"], capture_output=True, env=environment)
    return tried.returncode == 0


def configuration_of_litellm(folder: Path, upstream: int) -> Path:
    """LiteLLM's proxy before the same upstream, for every model, and quiet."""
    params = {"model": "openai/*", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "unused"}
    settings = {
        "model_list": [{"model_name": "*", "litellm_params": params}],
        "general_settings": {"dangerously_permit_weak_or_unset_master_key": True},  # keys are not what is measured
    }
    path = folder / "litellm.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def rounds(targets: list[Target], connections: int, requests: int, repeats: int) -> dict[str, list[Load]]:
    """Load all targets in turn, several times."""
    found: dict[str, list[Load]] = {target.name: [] for target in targets}
    for _ in track(range(repeats), description=f"{connections:3} connections"):
        for target in targets:
            before = processor_s(target.process)
            load = asyncio.run(measure(target.port, connections=connections, requests=requests, headers=target.headers))
            time.sleep(SETTLED_S)
            load.processor_s = processor_s(target.process) - before
            if load.failed:
                raise RuntimeError(f"{target.name}: {load.failed} of {requests} requests failed")
            found[target.name].append(load)
    return found


def ratio(found: dict[str, list[Load]], name: str, other: str) -> float:
    """Throughput of one over another, pair by pair."""
    return statistics.median(a.per_second / b.per_second for a, b in zip(found[name], found[other], strict=True))


def table(found: dict[str, list[Load]]) -> list[str]:
    """Markdown rows: requests per second, latency, what is added to direct, ratio to the peer."""
    rows = [
        f"| | requests/s | p50 ms | p99 ms | added ms (p50) | throughput / {PEER} | time added / {PEER} | processor µs a request |",
        "|---|---|---|---|---|---|---|---|",
    ]
    direct = [load.percentile(0.5) for load in found[DIRECT]]
    peer_added = [load.percentile(0.5) - d for load, d in zip(found[PEER], direct, strict=True)]
    for name, loads in found.items():
        added = [load.percentile(0.5) - d for load, d in zip(loads, direct, strict=True)]
        cells = [
            f"{statistics.median(load.per_second for load in loads):,.0f}",
            f"{1e3 * statistics.median(load.percentile(0.5) for load in loads):.2f}",
            f"{1e3 * statistics.median(load.percentile(0.99) for load in loads):.2f}",
            "" if name == DIRECT else f"{1e3 * statistics.median(added):.2f}",
            f"{ratio(found, name, PEER):.2f}",
            "" if name == DIRECT else f"{statistics.median(a / p for a, p in zip(added, peer_added, strict=True)):.2f}",
            f"{1e6 * statistics.median(load.processor_s / len(load.seconds) for load in loads):,.0f}",
        ]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


async def _beside(passing: Target, calibrated: Target | None) -> Load:
    """64 connections that are passed on; beside them, where given, 4 connections whose answers are calibrated all the while."""
    stop = asyncio.Event()

    async def calibrate() -> None:
        while calibrated is not None and not stop.is_set():
            await measure(calibrated.port, connections=4, requests=8, headers=calibrated.headers)

    async with asyncio.TaskGroup() as group:
        group.create_task(calibrate())
        load = await measure(passing.port, connections=64, requests=4000)
        stop.set()
    return load


def not_held_up(passing: Target, calibrated: Target, repeats: int) -> list[str]:
    """What calibrated requests cost those that are only passed on: 99th percentiles, alone and beside them, in turn."""
    alone, beside = [], []
    for _ in track(range(repeats), description="passing beside calibrating"):
        alone.append(asyncio.run(_beside(passing, None)).percentile(0.99))
        beside.append(asyncio.run(_beside(passing, calibrated)).percentile(0.99))
    ratios = [b / a for a, b in zip(alone, beside, strict=True)]
    return [
        "| 64 connections, mode off | p99 ms |",
        "|---|---|",
        f"| alone | {1e3 * statistics.median(alone):.1f} |",
        f"| while 4 connections are calibrated | {1e3 * statistics.median(beside):.1f} |",
        f"| ratio, pair by pair | {statistics.median(ratios):.2f} |",
    ]


def run(repeats: int, litellm: str) -> str:
    """All measurements, as Markdown; with LiteLLM's proxy where the interpreter `litellm` has it."""
    lines = []
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        upstream, asgi, fastapi, proxy, rowless = (free_port() for _ in range(5))

        def start(*command: str, port: int, python: str = sys.executable) -> int:
            return stack.enter_context(process(*command, port=port, python=python)).pid

        of_upstream = start("benchmarks.performance.loopback", str(upstream), port=upstream)
        base, peers = f"http://127.0.0.1:{upstream}", "benchmarks.performance.peers"
        serve = "hedgerow.proxy.cli", "serve", "-c"
        with_rows = start(*serve, str(configuration(folder, upstream, proxy)), port=proxy)
        without = start(*serve, str(configuration(folder, upstream, rowless, audit=False)), port=rowless)
        passing = [
            Target(DIRECT, upstream, of_upstream),
            Target(PEER, asgi, start(peers, "asgi", base, str(asgi), port=asgi)),
            Target("FastAPI + httpx", fastapi, start(peers, "fastapi", base, str(fastapi), port=fastapi)),
            Target("hedgerow, mode off", proxy, with_rows),
            Target("hedgerow, mode off, no row", rowless, without),
        ]
        rounds(passing, 4, 400, 1)  # warm-up
        for connections, requests in ((1, 1000), (16, 4000), (64, 4000)):
            lines += [f"### Passing on, {connections} connection{'s' * (connections > 1)}", ""]
            lines += [*table(rounds(passing, connections, requests, repeats)), ""]
        if has_litellm_proxy(litellm):
            port = free_port()
            settings = str(configuration_of_litellm(folder, upstream))
            serving = start(
                "litellm.proxy.proxy_cli", "--config", settings, "--port", str(port), port=port, python=litellm
            )
            rival = Target(RIVAL, port, serving)
            lines += against(rival, passing[0], passing[1], passing[3], repeats)
        on = Target("hedgerow, mode on", proxy, with_rows, "x-hedgerow-mode: on\r\n")
        lines += ["### Calibrated: 20 samples in one call, rules, template, durable audit row, 1 connection", ""]
        lines += [*table(rounds([*passing[:2], on], 1, 100, repeats)), ""]
        lines += ["### Passing on while others are calibrated", "", *not_held_up(passing[3], on, repeats), ""]
        lines += ["### Start", "", *table_of_starts(5), ""]
    return "\n".join(lines)


def against(rival: Target, direct: Target, peer: Target, ours: Target, repeats: int) -> list[str]:
    """The tables of another proxy: far fewer requests, because it takes so much longer for each."""
    lines = []
    rounds([direct, peer, rival, ours], 4, 40, 1)  # warm-up
    for connections, requests in ((1, 100), (16, 400)):
        found = rounds([direct, peer, rival, ours], connections, requests, repeats)
        lines += [f"### Beside {RIVAL}, {connections} connection{'s' * (connections > 1)}", "", *table(found), ""]
        lines += [f"hedgerow, mode off / {RIVAL}: {ratio(found, ours.name, rival.name):.1f} times the requests.", ""]
    return lines


def main() -> None:
    """Measure, print, and write the document where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    parser.add_argument(
        "--litellm", default=sys.executable, metavar="PYTHON", help="an interpreter that has litellm[proxy]"
    )
    arguments = parser.parse_args()
    text = run(arguments.repeats, arguments.litellm)
    print(text)
    if arguments.write:
        mark = "<!-- measured -->"
        head = DOCUMENT.read_text(encoding="utf-8").split(mark)[0] if DOCUMENT.exists() else "# Performance\n\n"
        machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, medians of {arguments.repeats} rounds."
        DOCUMENT.write_text(f"{head}{mark}\n\n{machine}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
