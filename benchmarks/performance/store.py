"""What the audit store costs: `python -m benchmarks.performance.store [--write]`.

Rows like those of a calibrated request (ten samples, texts kept) are written to SQLite and, where a server can be started, to PostgreSQL:
at once for the rows a second, and by 64 connections in turn for the time that one waits for its row to be durable. A commit costs what the
disk takes to make it durable; the bare disk is measured beside it. `--write` puts the figures into docs/audit.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import random
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks import ROOT
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.rows import Entry, Texts
from hedgerow.proxy.audit.store import AuditStore, open_store
from hedgerow.proxy.audit.verify import verify
from hedgerow.proxy.config import Audit
from hedgerow.proxy.pipeline.job import new_id
from tests.support.postgres import Missing, cluster

DOCUMENT = ROOT / "docs" / "audit.md"
MARK = "<!-- measured -->"
SAID = Texts("What is the capital of Australia?", "Canberra.", "It is probably Canberra.", None, ("Canberra.",) * 10)
STORY = {
    "clusters": [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]],
    "timings_ms": {"sample": 12.3, "cluster": 0.4, "rewrite": 3.1},
}
FIGURES = {
    "raw_alpha": 6.0,
    "raw_beta": 4.0,
    "alpha": 5.5,
    "beta": 4.5,
    "fd_if_right": 0.25,
    "fd_if_wrong": 0.31,
    "samples": 10,
}


def entry() -> Entry:
    """One calibrated answer."""
    row = {"id": new_id(), "created_at": time.time(), "route": "bench", "path": "/v1/chat/completions", "mode": "on"}
    return Entry(row | FIGURES | {"status": "hedged", "duration_ms": 31.0, "story": STORY}, SAID, "ada", "full")


async def at_once(store: AuditStore, rows: int) -> tuple[float, float]:
    """Rows a second, all handed in together; and rows a second of processor time, which other work on the machine does not slow."""
    start, busy = time.perf_counter(), time.process_time()
    await asyncio.gather(*(store.write(entry()) for _ in range(rows)))
    return rows / (time.perf_counter() - start), rows / (time.process_time() - busy)


async def in_turn(store: AuditStore, connections: int, rows: int) -> list[float]:
    """Milliseconds that each row took, with as many under way as there are connections."""
    took: list[float] = []

    async def connection() -> None:
        for _ in range(rows // connections):
            await asyncio.sleep(random.uniform(0.05, 0.15))  # the rest of a request; clients do not march in step
            start = time.perf_counter()
            await store.write(entry())
            took.append(1e3 * (time.perf_counter() - start))

    await asyncio.gather(*(connection() for _ in range(connections)))
    return took


def bare_disk(folder: Path) -> float:
    """Median milliseconds of a 4 KB write and fsync."""
    took = []
    with (folder / "bare").open("wb", buffering=0) as file:
        for _ in range(100):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            took.append(1e3 * (time.perf_counter() - start))
    return statistics.median(took)


async def measure(settings: Audit, repeats: int) -> tuple[float, float, float, float]:
    """Rows a second, the same of processor time, and the median and 99th percentile of the wait at 64 connections, milliseconds; medians over rounds."""
    store = await open_store(settings, lambda _: None)
    try:
        await at_once(store, 500)
        speeds, waits = [], []
        for _ in range(repeats):
            speeds.append(await at_once(store, 4000))
            waits.append(sorted(await in_turn(store, 64, 2560)))
        middle = statistics.median(wait[len(wait) // 2] for wait in waits)
        by_clock, by_processor = (statistics.median(kind) for kind in zip(*speeds, strict=True))
        return by_clock, by_processor, middle, statistics.median(wait[int(len(wait) * 0.99)] for wait in waits)
    finally:
        await store.aclose()


def line(name: str, settings: Audit, repeats: int) -> str:
    """One row of the table."""
    speed, busy, middle, tail = asyncio.run(measure(settings, repeats))
    engine = open_engine(settings)
    start = time.perf_counter()
    report = verify(engine, b"")
    verified = report.rows / (time.perf_counter() - start)
    engine.dispose()
    if report.findings:
        raise RuntimeError(f"{name}: {report.findings[0]}")
    return f"| {name} | {speed:,.0f} | {busy:,.0f} | {middle:.2f} | {tail:.2f} | {verified:,.0f} |"


def run(repeats: int) -> str:
    """All measurements, as Markdown."""
    lines = [
        "| store | rows/s | rows per processor second | wait p50 ms, 64 connections | p99 ms | verified rows/s |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        disk = bare_disk(folder)
        for synchronous in ("full", "normal"):
            settings = Audit(
                url=f"sqlite:///{folder}/{synchronous}.db", synchronous=synchronous, spool=folder / "spool"
            )
            lines.append(line(f"SQLite, synchronous {synchronous}", settings, repeats))
        try:
            with cluster(durable=True) as server:
                settings = Audit(url=server.database(), spool=folder / "spool")
                lines.append(line("PostgreSQL, over a socket", settings, repeats))
        except Missing as missing:
            lines.append(f"| PostgreSQL: {missing} | | | | | |")
    machine = f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, medians of {repeats} rounds."
    return "\n".join([f"{machine} A bare write of 4 KB with fsync takes {disk:.2f} ms here.", "", *lines, ""])


def main() -> None:
    """Measure, print, and write the document where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the table into docs/audit.md")
    arguments = parser.parse_args()
    text = run(arguments.repeats)
    print(text)
    if arguments.write:
        head = DOCUMENT.read_text(encoding="utf-8").split(MARK)[0]
        DOCUMENT.write_text(f"{head}{MARK}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
