"""Whether the proxy's memory stays where it is: resident MB after 1,000 requests, and after many more."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.chaos.faults import SOUND
from benchmarks.chaos.load import asked
from benchmarks.chaos.rules import WAYS
from benchmarks.chaos.serving import Proxy
from benchmarks.chaos.upstream import Upstream
from benchmarks.chaos.wire import say

OFF, CALIBRATED, FIRST = 20_000, 3_000, 1_000
_CLIENTS = 16
_ASK_OFF, _ASK_ON = (next(way for way in WAYS if way.name == name) for name in ("off", "on"))


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident memory in MB."""

    after_first: float
    after_all: float
    off: int
    calibrated: int

    @property
    def growth(self) -> float:
        """How much more it is than after the first requests, as a share of that."""
        return self.after_all / self.after_first - 1.0


async def measure(proxy: Proxy, upstream: Upstream, names: Iterator[str], share: float = 1.0) -> Memory:
    """Requests of both kinds in the proportion of the whole, the first thousand and then the rest."""
    off, calibrated = round(share * OFF), round(share * CALIBRATED)
    calibrated_first = FIRST * calibrated // (off + calibrated)
    await _ask(proxy, upstream, names, FIRST - calibrated_first, calibrated_first)
    first = proxy.rss()
    await _ask(proxy, upstream, names, off - FIRST + calibrated_first, calibrated - calibrated_first)
    return Memory(first, proxy.rss(), off, calibrated)


async def _ask(proxy: Proxy, upstream: Upstream, names: Iterator[str], off: int, calibrated: int) -> None:
    total = off + calibrated
    ways = iter(
        [_ASK_ON if i * calibrated // total != (i + 1) * calibrated // total else _ASK_OFF for i in range(total)]
    )

    async def client() -> None:
        for number, way in enumerate(ways):
            answer = await say(proxy.address, [asked(way, SOUND, next(names))])
            if answer.status != 200:
                raise RuntimeError(f"{way.name}: {answer.status}")
            if number % 100 == 0:
                upstream.forget()

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
