"""Working off a list with an upstream that costs money: several at a time, at a bounded rate, and no longer than it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.protocols import Call, RawCall, Relay, Upstream
from hedgerow.proxy.types import Json

PATIENCE = 5
"""Items in a row that may fail before the upstream counts as dead."""

Item = TypeVar("Item")


@dataclass(slots=True)
class Outcome:
    """How it ended: items done, items that failed, and whether the upstream was given up before all had their turn."""

    done: int = 0
    failed: int = 0
    dead: bool = False


async def work_off(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[None]],
    *,
    concurrency: int,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[Item, ProxyError], None] = lambda _item, _failure: None,
) -> Outcome:
    """Do every item. One that fails is told and left; after `PATIENCE` failures in a row so are all that are not begun."""
    outcome, waiting, in_a_row = Outcome(), iter(items), 0

    async def worker() -> None:
        nonlocal in_a_row
        for item in waiting:
            try:
                await work(item)
            except ProxyError as failure:
                in_a_row, outcome.failed = in_a_row + 1, outcome.failed + 1
                on_failure(item, failure)
            else:
                in_a_row, outcome.done = 0, outcome.done + 1
            on_done()
            outcome.dead = outcome.dead or in_a_row >= PATIENCE
            if outcome.dead:
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(worker())
    return outcome


class Paced:
    """An upstream that is asked at most so many times a minute, evenly."""

    def __init__(self, upstream: Upstream, per_minute: float) -> None:
        self._upstream = upstream
        self._gap_s = 60.0 / per_minute
        self._next = 0.0

    @property
    def honours_n(self) -> bool:
        """See `Upstream`."""
        return self._upstream.honours_n

    async def complete(self, call: Call) -> Json:
        """See `Upstream`; waits for its turn first."""
        now = asyncio.get_running_loop().time()
        turn, self._next = max(now, self._next), max(now, self._next) + self._gap_s
        await asyncio.sleep(turn - now)
        return await self._upstream.complete(call)

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`."""
        async with self._upstream.relay(call) as answer:
            yield answer

    async def models(self, headers: Mapping[str, str]) -> list[Json]:
        """See `Upstream`."""
        return await self._upstream.models(headers)

    async def aclose(self) -> None:
        """See `Upstream`."""
        await self._upstream.aclose()
