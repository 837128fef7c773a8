"""What `--on ray` costs and saves on this machine: `python -m benchmarks.performance.spreading [--write]`. Needs the extra `ray`.

Here and on Ray alternate, round by round; what counts are the ratios. The work is what `hedgerow evaluate` has most of: grouping twenty answers
to one question by the proxy's rules.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

from hedgerow.proxy.clustering.clusterer import RuleClusterer
from hedgerow.proxy.lab.spreading import HERE, Place, nothing, place

MARK = "<!-- measured: ray -->"
PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
ROUNDS = 3
ANSWERS = 20
FREE, PAID = 2000, 300
"""Rows that cost nothing and are handed out in chunks, and calls that are handed out one by one."""


def rows(count: int) -> list[list[str]]:
    """Sets of short answers, as models give them: some equal, some worded otherwise, some different."""
    rng = random.Random(0)
    said = ["Jupiter", "It is Jupiter.", "the planet Jupiter", "Saturn", "I believe it is Saturn.", "Mars", "Neptune"]
    return [[f"{rng.choice(said)} {rng.choice(['', '(gas giant)', 'by far'])}".strip() for _ in range(ANSWERS)] for _ in range(count)]  # fmt: skip


async def _grouped(_: None, answers: Sequence[str]) -> int:
    return len((await RuleClusterer().cluster("Which planet is the largest?", answers)).clusters)


async def _nothing(_: None, item: object = None) -> None:
    return None


async def _time_each(where: Place, function: object, items: Sequence[object]) -> float:
    async with where.workers(nothing) as workers:
        await workers.run(_nothing)
        start = time.perf_counter()
        async for _ in workers.each(function, items):  # type: ignore[arg-type]
            pass
        return time.perf_counter() - start


async def _time_runs(where: Place, count: int) -> float:
    async with where.workers(nothing) as workers:
        await workers.run(_nothing)
        start = time.perf_counter()
        for _ in range(count):
            await workers.run(_nothing)
        return time.perf_counter() - start


def measured(count: int) -> list[str]:
    """The page's block."""
    work = rows(count)
    start = time.perf_counter()
    with place("ray") as cluster:
        anyio.run(_time_runs, cluster, 1)
        up = time.perf_counter() - start
        here, there, each, runs = [], [], [], []
        for _ in range(ROUNDS):
            here.append(anyio.run(_time_each, HERE, _grouped, work))
            there.append(anyio.run(_time_each, cluster, _grouped, work))
            each.append(anyio.run(_time_each, cluster, _nothing, work[:1] * FREE) / FREE)
            runs.append(anyio.run(_time_runs, cluster, PAID) / PAID)
    ratio = statistics.median(a / b for a, b in zip(here, there, strict=True))
    cores = os.cpu_count() or 1
    return [
        f"{cores} cores, load {os.getloadavg()[0]:.1f} before the last round ended, medians of {ROUNDS} rounds; `python -m benchmarks.performance.spreading --write`.",
        "",
        "| | |",
        "|---|---|",
        f"| grouping {count:,} x {ANSWERS} answers, in one process | {statistics.median(here):.2f} s |",
        f"| the same on {cores} workers | {statistics.median(there):.2f} s |",
        f"| ratio, round by round | {ratio:.2f} |",
        f"| added to a row that is handed out in a chunk | {1e6 * statistics.median(each):.0f} us |",
        f"| added to a call that is handed out alone | {1e3 * statistics.median(runs):.2f} ms |",
        f"| a Ray of its own, until the first answer of a worker | {up:.1f} s |",
    ]


def main() -> int:
    """Print the block, or put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="into docs/scale.md")
    given = parser.parse_args()
    block = "\n".join(measured(given.rows))
    if given.write:
        before, _, after = PAGE.read_text(encoding="utf-8").partition(MARK)
        _, end, rest = after.partition("<!-- end -->")
        PAGE.write_text(f"{before}{MARK}\n\n{block}\n\n{end}{rest}", encoding="utf-8")
    print(block)
    return 0


if __name__ == "__main__":
    sys.exit(main())
