"""A quarter of an hour of everything at once: `python -m benchmarks.chaos.soak [--minutes 15] [--write]`.

Clients ask in every way without a pause, and now and then the upstream shows one of its faults. Each minute the requests are let end, and what the
process then holds is noted: resident memory, tasks, open descriptors. Ends with 1 where memory grew, something was kept, or an answer was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.chaos.checks import defect
from benchmarks.chaos.faults import FAULTS, SOUND, Fault
from benchmarks.chaos.load import WHOLE, Tally, asked, count_faults, settled, tags, warm
from benchmarks.chaos.report import write
from benchmarks.chaos.rules import WAYS, Way
from benchmarks.chaos.serving import Proxy, proxy
from benchmarks.chaos.upstream import Upstream, listening
from benchmarks.chaos.wire import say

CLIENTS = 16
EVERY = 50
"""One request in so many meets a fault."""
LET_GO_S = 10.0
"""Connections to the upstream that nobody uses are closed after four seconds."""
MOST_GROWTH = 0.03
"""Most that the process may hold more at the end than after the first minute."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What the process held when all requests of a minute had ended.

    Attributes:
        requests: made until then.
        resident: memory in MB.
        tasks: of the event loop.
        descriptors: open files and connections.
    """

    requests: int
    resident: float
    tasks: int
    descriptors: int


def work(names: Iterator[str]) -> Iterator[tuple[Way, Fault, str]]:
    """Requests without end: every way in turn, every fault in every way before one is shown again."""
    ways, shown = itertools.cycle(WAYS), itertools.cycle(itertools.product(FAULTS, WAYS))
    for number, tag in enumerate(names, start=1):
        if number % EVERY == 0:
            fault, way = next(shown)
            yield way, fault, tag
        else:
            yield next(ways), SOUND, tag


async def minute(
    running: Proxy, upstream: Upstream, tally: Tally, requests: Iterator[tuple[Way, Fault, str]], seconds: float
) -> None:
    """Let the clients ask for so long, and wait for their last answers."""
    end, sent = time.monotonic() + seconds, Counter[tuple[str, str, int | None]]()
    before = running.rows()

    async def client() -> None:
        while time.monotonic() < end:
            way, fault, tag = next(requests)
            answer = await say(running.address, [asked(way, fault, tag)])
            sent[(fault.name, way.route, answer.status)] += 1
            tally.requests[way.name] += 1
            wrong = defect(way, fault, answer, upstream.texts.pop(tag, ()), upstream.first.pop(tag, None))
            if wrong is not None:
                tally.add(way.name, wrong[0], f"{fault.name}: {wrong[1]}")

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    missing = await settled(lambda: (before + sent - running.rows()) or None)
    for (model, route, status), count in (missing or Counter()).items():
        tally.add(WHOLE, "lost row", f"{model} on {route}, {status}", count)
    upstream.forget()


async def at_rest(running: Proxy, done: int, before: Moment | None) -> Moment:
    """What the process holds once it holds no more tasks and descriptors than before, or has had time to let them go."""

    async def held() -> Moment:
        return Moment(done, running.rss(), (await running.tasks()).total(), running.descriptors())

    deadline, now = time.monotonic() + LET_GO_S, await held()
    while (before is None or keeps(now, before)) and time.monotonic() < deadline:
        await asyncio.sleep(0.5)
        now = await held()
    return now


def keeps(now: Moment, before: Moment) -> bool:
    """Whether tasks or descriptors were kept."""
    return now.tasks > before.tasks or now.descriptors > before.descriptors


async def soak(minutes: int, seconds: float = 60.0) -> tuple[list[Moment], Tally]:
    """What the process held after each minute, and what was wrong."""
    names, tally = tags(), Tally()
    requests = work(names)
    bar = Progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with tempfile.TemporaryDirectory(prefix="hedgerow-soak-") as folder, bar:
        async with (
            listening(Upstream()) as upstream,
            proxy(Path(folder), upstream.url, f"sqlite:///{folder}/audit.db") as running,
        ):
            await warm(running, names)
            moments: list[Moment] = []
            shown = bar.add_task("soaking", total=minutes)
            for _ in range(minutes):
                await minute(running, upstream, tally, requests, seconds)
                now = await at_rest(running, tally.requests.total(), moments[0] if moments else None)
                moments.append(now)
                bar.update(shown, advance=1, description=f"{now.requests:,} requests, {now.resident:.0f} MB")
            count_faults(running, tally)
    return moments, tally


def growth(moments: list[Moment]) -> float:
    """How much more the process holds at the end than after the first minute, as a share of that."""
    return moments[-1].resident / moments[0].resident - 1.0


def page(moments: list[Moment], tally: Tally) -> str:
    """The part of docs/reliability.md."""
    rows = [
        [str(number), f"{m.requests:,}", f"{m.resident:.1f}", str(m.tasks), str(m.descriptors)]
        for number, m in enumerate(moments, start=1)
        if number == 1 or number % 3 == 0 or number == len(moments)
    ]
    header = [["minute", "requests", "resident MB", "tasks", "descriptors"], ["---:"] * 5]
    table = [f"| {' | '.join(row)} |" for row in header + rows]
    return "\n".join(
        [
            f"{moments[-1].requests:,} requests of {CLIENTS} clients in {len(moments)} minutes, in {len(WAYS)} ways, one in {EVERY} with a fault of the "
            f"upstream: {tally.found.total()} defects; memory {growth(moments):+.1%} since the first minute (goal: less than +{MOST_GROWTH:.0%}).",
            "",
            *table,
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=15)
    parser.add_argument("--write", action="store_true", help="put what was measured into docs/reliability.md")
    options = parser.parse_args()
    moments, tally = asyncio.run(soak(options.minutes))
    text = page(moments, tally)
    print(text, *tally.examples, sep="\n")
    if options.write:
        write("soak", text)
    return int(bool(tally.found) or keeps(moments[-1], moments[0]) or growth(moments) >= MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
