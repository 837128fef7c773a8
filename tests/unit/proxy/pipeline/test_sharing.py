"""Equal requests at several processes, which have a Redis in common."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.pipeline.sampling import cache
from hedgerow.proxy.pipeline.sampling.cache import RedisCache
from hedgerow.proxy.pipeline.sampling.sharing import Arrived, Sharing
from hedgerow.proxy.types import Completion, Json
from tests.support.waiting import LIMIT_S

LOCK = "hedgerow:drawing:2:k"


class Process:
    """One of those that share a Redis. It draws one answer as soon as it may."""

    def __init__(self, url: str) -> None:
        self.sharing = Sharing(RedisCache(url, 60.0))
        self.may, self.drew, self.error = asyncio.Event(), 0, None

    async def draw(self) -> tuple[str, list[Json]]:
        """Who drew, and what."""
        arrived = list[Json]()

        async def work(spread: Arrived) -> None:
            self.drew += 1
            await self.may.wait()
            if self.error is not None:
                raise self.error
            spread(Completion({"answer": 42}))

        return await asyncio.wait_for(self.sharing.draw("k", work, arrived.append), LIMIT_S), arrived


@pytest.fixture
def server(redis_url: str) -> Any:
    """The server as an operator sees it."""
    with pytest.importorskip("redis").from_url(redis_url) as client:
        yield client


async def until(holds: Any) -> None:
    """Let others work until a condition holds."""
    async with asyncio.timeout(LIMIT_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.02)


async def two(url: str, server: Any) -> tuple[Process, Process, Any, Any]:
    """One that draws, and one that waits for it."""
    first, second = Process(url), Process(url)
    drawing = asyncio.ensure_future(first.draw())
    await until(lambda: first.drew)
    waiting = asyncio.ensure_future(second.draw())
    second.may.set()
    looked = server.info("commandstats")["cmdstat_mget"]["calls"]
    await until(lambda: server.info("commandstats")["cmdstat_mget"]["calls"] > looked + 2)
    return first, second, drawing, waiting


def test_one_draws_as_long_as_it_takes(redis_url: str, server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawing that takes longer than the silence of a dead process is still waited for."""
    monkeypatch.setattr(cache, "DRAWING_S", 3.0)

    async def run() -> None:
        first, second, drawing, waiting = await two(redis_url, server)
        renewals = "cmdstat_pexpire"
        await until(lambda: server.info("commandstats").get(renewals, {"calls": 0})["calls"] >= 2)
        first.may.set()
        assert await drawing == ("upstream", [{"answer": 42}])
        assert await waiting == ("shared", [{"answer": 42}])
        assert second.drew == 0
        assert not server.exists(LOCK)
        await asyncio.gather(first.sharing.aclose(), second.sharing.aclose())

    asyncio.run(run())


def test_where_the_one_that_draws_fails_the_other_draws(redis_url: str, server: Any) -> None:
    """Its error is its own."""

    async def run() -> None:
        first, second, drawing, waiting = await two(redis_url, server)
        first.error = ProxyError("no")
        first.may.set()
        with pytest.raises(ProxyError):
            await drawing
        assert await waiting == ("upstream", [{"answer": 42}])
        await asyncio.gather(first.sharing.aclose(), second.sharing.aclose())

    asyncio.run(run())


def test_a_dead_one_is_waited_for_no_longer_than_it_may_be_silent(redis_url: str, server: Any) -> None:
    """What it left in Redis ends by itself."""

    async def run() -> None:
        server.set(LOCK, b"", px=300)
        other = Process(redis_url)
        other.may.set()
        assert await other.draw() == ("upstream", [{"answer": 42}])
        assert not server.exists(LOCK)
        await other.sharing.aclose()

    asyncio.run(run())


def test_the_lock_of_one_that_dies_has_an_end(redis_url: str, server: Any) -> None:
    """From its first moment."""

    async def run() -> None:
        process = Process(redis_url)
        drawing = asyncio.ensure_future(process.draw())
        await until(lambda: process.drew)
        assert 0 < server.pttl(LOCK) <= 1000 * cache.DRAWING_S
        process.may.set()
        await drawing
        await process.sharing.aclose()

    asyncio.run(run())
