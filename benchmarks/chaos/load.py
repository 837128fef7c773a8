"""Sending the table of faults through a proxy, and counting what came of it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import TypeVar

import orjson

from benchmarks.chaos.abuse import ABUSES, NEAR, SMUGGLED, Abuse, End
from benchmarks.chaos.checks import HANG, STATUS, defect, says_why
from benchmarks.chaos.faults import FAULTS, SOUND, Fault
from benchmarks.chaos.rules import WAYS, Way
from benchmarks.chaos.serving import ADMIN_KEY, SETTLE_S, Proxy
from benchmarks.chaos.speech import question
from benchmarks.chaos.upstream import Upstream
from benchmarks.chaos.wire import Answer, Step, request, say

T = TypeVar("T")
ABUSE, WHOLE = "abuse by clients", "the whole run"
_SECTION = {way.route: way.name for way in reversed(WAYS)}
"""A row tells its route alone."""
AT_ONCE = 48
LOST, TASKS, DESCRIPTORS, FAULT = "lost row", "leaked task", "leaked descriptor", "fault of ours"
_KEPT = 40
"""Examples of defects that are kept for the reader."""


@dataclass(slots=True)
class Tally:
    """What was counted, by section of the report.

    Attributes:
        requests: how many were made.
        found: defects, by section and kind.
        examples: what they were.
    """

    requests: Counter[str] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, section: str, kind: str, where: str, count: int = 1) -> None:
        """A defect."""
        self.found[(section, kind)] += count
        if len(self.examples) < _KEPT:
            self.examples.append(f"{section}: {kind}: {where}")


def tags() -> Iterator[str]:
    """Words that no two questions share."""
    for letters in itertools.product(ascii_lowercase, repeat=5):
        yield "".join(letters)


SLOW = ("stall", "trickle")
"""How an upstream stops that takes its time."""


def asked(way: Way, fault: Fault, tag: str, key: str = "sk-chaos") -> Step:
    """A request that shows a fault."""
    words = (
        {"input": question(tag)}
        if way.path.endswith("responses")
        else {"messages": [{"role": "user", "content": question(tag)}]}
    )
    body = orjson.dumps({"model": fault.name, **words} | ({"stream": True} if way.stream else {}))
    return request(
        "POST", way.path, body, x_way=way.route, x_fault=fault.name, connection="close", authorization=f"Bearer {key}"
    )


async def run_faults(
    proxy: Proxy,
    upstream: Upstream,
    tally: Tally,
    names: Iterator[str],
    *,
    faults: Iterable[Fault] = FAULTS,
    ways: Iterable[Way] = WAYS,
    every: int = 1,
) -> None:
    """Each fault in each way once, or every so-manieth of these pairs; the slow ones first."""
    pairs = list(itertools.product(faults, ways))[::every]
    work = sorted(pairs, key=lambda pair: pair[0].stop is None or pair[0].stop[1] not in SLOW)
    before, sent, gate = proxy.rows(), Counter[tuple[str, str, int | None]](), asyncio.Semaphore(AT_ONCE)

    async def one(fault: Fault, way: Way) -> tuple[Way, Fault, str, Answer]:
        tag = next(names)
        async with gate:
            answer = await say(proxy.address, [asked(way, fault, tag)])
        sent[(fault.name, way.route, answer.status)] += 1
        return way, fault, tag, answer

    came = await asyncio.gather(*(one(fault, way) for fault, way in work))
    for way, fault, tag, answer in came:  # looked at afterwards: it takes time, of which the upstream would be robbed
        wrong = defect(way, fault, answer, upstream.texts.get(tag, ()), upstream.first.get(tag))
        if wrong is not None:
            tally.add(way.name, wrong[0], f"{fault.name}: {wrong[1]}")
        tally.requests[way.name] += 1
    await _count_lost(proxy, tally, before + sent)
    upstream.forget()


async def run_abuses(proxy: Proxy, upstream: Upstream, tally: Tally, *, times: int = 3) -> None:
    """Each abuse some times at once; kinds that come to the same end together."""
    for end in End:
        kinds = [abuse for abuse in ABUSES if abuse.end is end]
        before = proxy.count()
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(abuse: Abuse, gate: asyncio.Semaphore = gate) -> tuple[Abuse, Answer]:
            async with gate:
                return abuse, await say(proxy.address, abuse.script)

        for abuse, answer in await asyncio.gather(*(one(abuse) for abuse in kinds * times)):
            _look_at_abuse(tally, abuse, answer)
        tally.requests[ABUSE] += times * len(kinds)
        if end.rows is None:
            await asyncio.sleep(1.0)  # its rows are not the next kind's
        else:
            expected = before + end.rows * times * len(kinds)
            if (
                rows := await settled(lambda expected=expected: None if proxy.count() == expected else proxy.count())
            ) is not None:
                tally.add(ABUSE, LOST, f"{end.name.lower()}: {rows - before} rows, {expected - before} expected")
    _look_upstream(upstream, tally)
    upstream.forget()


def _look_at_abuse(tally: Tally, abuse: Abuse, answer: Answer) -> None:
    status = answer.status
    if answer.hung:
        tally.add(ABUSE, HANG, abuse.name)
    elif status not in abuse.end.statuses:
        tally.add(ABUSE, STATUS, f"{abuse.name}: {status} {answer.body[:120]!r}")
    elif status is not None and not answer.whole and abuse.end is not End.LEFT:
        tally.add(ABUSE, STATUS, f"{abuse.name}: {status} and cut off")
    elif status is not None and status >= 400 and abuse.end in (End.REFUSED, End.OWN) and not says_why(answer.body):
        tally.add(ABUSE, STATUS, f"{abuse.name}: {status} without a sentence: {answer.body[:120]!r}")


def _look_upstream(upstream: Upstream, tally: Tally) -> None:
    """Nothing of ours went there."""
    for target, headers in upstream.targets:
        if target in (*NEAR, SMUGGLED) or ADMIN_KEY.encode() in headers or b"hedgerow_session" in headers:
            tally.add(ABUSE, STATUS, f"{target} went upstream")


async def _count_lost(proxy: Proxy, tally: Tally, expected: Counter[tuple[str, str, int | None]]) -> None:
    """Every request has a row, which says what the client got."""
    missing = await settled(lambda: (expected - proxy.rows()) or None)
    for (model, route, status), count in (missing or Counter()).items():
        tally.add(_SECTION[route], LOST, f"{model}, {status}", count)
    for (model, route, status), count in (proxy.rows() - expected).items():
        if model in {fault.name for fault in FAULTS} and not missing:
            tally.add(_SECTION[route], LOST, f"a row too many: {model}, {status}", count)


async def settled(look: Callable[[], T | None]) -> T | None:
    """What `look` still finds when it has had time to find nothing."""
    deadline = time.monotonic() + SETTLE_S
    while (found := look()) is not None and time.monotonic() < deadline:  # noqa: ASYNC110 # another process settles
        await asyncio.sleep(0.2)
    return found


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds while it does nothing."""

    tasks: Counter[str]
    descriptors: int


async def held(proxy: Proxy) -> Held:
    """What the process holds now."""
    return Held(await proxy.tasks(), proxy.descriptors())


async def count_leaks(proxy: Proxy, tally: Tally, before: Held) -> None:
    """What the process holds more than before, once it has had time to let go."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        now = await held(proxy)
        more, open_more = now.tasks - before.tasks, now.descriptors - before.descriptors
        if (not more and open_more <= 0) or time.monotonic() > deadline:
            break
        await asyncio.sleep(0.5)
    for name, count in more.items():
        tally.add(WHOLE, TASKS, name, count)
    if open_more > 0:
        tally.add(WHOLE, DESCRIPTORS, f"{before.descriptors} before, {now.descriptors} now", open_more)


def count_faults(proxy: Proxy, tally: Tally) -> None:
    """Whatever the log calls a fault of ours."""
    for line in proxy.errors():
        tally.add(WHOLE, FAULT, line[:600])


async def warm(proxy: Proxy, names: Iterator[str]) -> None:
    """Let everything load that loads late: a request in each way, and the pages."""
    for way in WAYS:
        answer: Answer = await say(proxy.address, [asked(way, SOUND, next(names))])
        assert answer.status == 200, (way.name, answer)
    for target in ("/health", "/metrics", "/dashboard"):
        await proxy.get(target)
