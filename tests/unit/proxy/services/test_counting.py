"""Counting use against limits in Redis, while the server is away and after."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from hedgerow.proxy.services.counting import Ask, RedisCounters
from tests.support.waiting import LIMIT_S

PLACES = "hedgerow:count:a:places"


def test_places_that_could_not_be_given_back_are_given_back_later(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the server does not answer it is not asked, and two requests end; their key has its places again when it answers."""
    monkeypatch.setattr("hedgerow.proxy.config.redis.TIMEOUT_S", 0.3)
    ask = [Ask("a", 1, 2, 0)]

    async def run(server: Any) -> None:
        counters = RedisCounters(redis_url)
        for ticket in ("first", "second"):
            assert (await counters.take(ask, ticket)).refused is None
        process = server.info("server")["process_id"]
        os.kill(process, signal.SIGSTOP)
        try:
            await counters.leave("a", "first")
            await counters.leave("a", "second")
        finally:
            os.kill(process, signal.SIGCONT)
        while server.zcard(PLACES):
            await asyncio.sleep(0)
            await counters.take([Ask("a", 0, 2, 0)], "looks")
        await counters.aclose()

    with pytest.importorskip("redis").from_url(redis_url) as server:
        asyncio.run(asyncio.wait_for(run(server), LIMIT_S))
