"""Counting what is spent in Redis: as in the database, and exact where an answer of the server is late."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hedgerow.proxy.audit import budgets as database
from hedgerow.proxy.audit.budgets import Ask, Spent, today
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.config import Audit, Budget
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.spending import counting
from hedgerow.proxy.spending.budgets import Budgets
from hedgerow.proxy.spending.counting import RedisSpending
from tests.support.waiting import LIMIT_S, until

DAY = today(time.time())
TOKENS = {"tokens": 30.0}

AMOUNT = st.integers(0, 50)
STEP = st.one_of(
    st.tuples(st.just("take"), AMOUNT, st.one_of(st.none(), st.integers(0, 300))),
    st.tuples(st.just("settle"), AMOUNT, st.integers(0, 5)),
    st.tuples(st.just("passed"), AMOUNT),
    st.tuples(st.just("again"), st.integers(0, 5)),
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db"))
    yield engine
    engine.dispose()


@pytest.fixture
def server(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The server as an operator sees it. The proxy is less patient with it than usual."""
    monkeypatch.setattr("hedgerow.proxy.config.redis.TIMEOUT_S", 0.3)
    with pytest.importorskip("redis").from_url(redis_url) as client:
        yield client


@contextmanager
def stopped(server: Any) -> Iterator[None]:
    """The server stands still. What was sent to it meanwhile it does when it goes on, though nobody waits for the answer."""
    process = server.info("server")["process_id"]
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@asynccontextmanager
async def counting_in(url: str) -> AsyncIterator[RedisSpending]:
    """The connection is open and the server knows the scripts: the next one is done as soon as it is sent."""
    redis = RedisSpending(url)
    await redis.take("warm", [Ask("warm", 1, 1, None)], DAY)
    await redis.settle([Spent("warm", DAY, "warm", 0, 0)])
    try:
        yield redis
    finally:
        await redis.aclose()


def kept(server: Any, kind: str) -> list[float]:
    """What the server has of a kind, in the one count of a test."""
    fields = {name: value for key in server.keys("hedgerow:spent:[^w]*") for name, value in server.hgetall(key).items()}
    return [float(value) for name, value in fields.items() if name.startswith(kind.encode())]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEP, max_size=25))
def test_redis_counts_as_the_database_does(redis_url: str, engine: sa.Engine, steps: list[Any]) -> None:
    """Whatever is held, counted, or written a second time: both stand the same after each step, and in the end what was spent is what was counted."""
    name, under_way, batches = uuid4().hex, list[str](), list[list[Spent]]()
    total = 0.0

    async def run() -> None:
        nonlocal total
        redis = RedisSpending(redis_url)
        for number, (what, *how) in enumerate(steps):
            if what == "take":
                ticket, asks = f"{name[:20]}-{number}", [Ask(name, *map(float, (how[0], how[0] // 2)), how[1])]
                taken = await redis.take(ticket, asks, DAY)
                other = database.take(engine, ticket, asks, DAY)
                assert (taken.refused, taken.used, taken.held) == (
                    other.refused, pytest.approx(other.used), pytest.approx(other.held)
                )  # fmt: skip
                under_way.extend([ticket] if taken.refused is None else [])
            elif what in ("settle", "passed"):
                total += how[0]
                ticket = under_way.pop(how[1] % len(under_way)) if what == "settle" and under_way else ""
                batches.append([Spent(name, DAY, ticket, float(how[0]), total, what == "passed")])
            if what != "take" and batches:
                batch = batches[-1 - how[0] % len(batches) if what == "again" else -1]
                await redis.settle(batch)
                database.settle(engine, name[:30], batch)
            (in_redis,), (in_database,) = await redis.standing([name], DAY), database.standing(engine, [name], DAY)
            assert (in_redis.used, in_redis.held) == pytest.approx((in_database.used, in_database.held))
            assert in_redis.largest == pytest.approx(in_database.largest)
            assert in_redis.used == total
            assert under_way or in_redis.held == 0
        await redis.aclose()

    asyncio.run(run())


def test_what_a_late_answer_held_is_free_again_while_the_process_goes_on(
    redis_url: str, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server stood still: it held something for a request that had given up by then, and that nobody will settle."""
    monkeypatch.setattr(counting, "LEASE_S", 2.0)

    async def run() -> None:
        async with counting_in(redis_url) as redis:
            with stopped(server), pytest.raises(StoreError):
                await redis.take("lost", [Ask("a", 10, 1, 1000)], DAY)
            until(lambda: kept(server, "h"))
            numbers = count()

            async def held_after_one_more() -> float:
                ticket = f"next {next(numbers)}"
                await redis.take(ticket, [Ask("a", 10, 1, 1000)], DAY)
                await redis.settle([Spent("a", DAY, ticket, 0, 0)])
                (standing,) = await redis.standing(["a"], DAY)
                return standing.held

            while await held_after_one_more():
                pass

    asyncio.run(asyncio.wait_for(run(), LIMIT_S))


def test_what_was_counted_late_is_counted_once(redis_url: str, server: Any) -> None:
    """The counting is done again with the next request, and changes nothing where it had been done."""
    budget = [Budget(hard=1000)]

    async def run() -> None:
        async with counting_in(redis_url) as redis:
            spending = Budgets(redis, Metrics())
            await spending.ask(budget, "r", "", "first", TOKENS, TOKENS)
            with stopped(server):
                await spending.settle("first", TOKENS)
                await spending.count_passed(budget, "r", "", {"tokens": 3.0})  # on a new connection, which fails too
            until(lambda: kept(server, "u") == [30])
            await spending.count_passed(budget, "r", "", {"tokens": 4.0})
            (standing,) = await spending.standing(budget, ["r"], [""])
            assert standing.used == 37
            assert kept(server, "h") == []

    asyncio.run(run())


def test_what_was_spent_while_nothing_could_be_looked_up_is_counted_later(redis_url: str, server: Any) -> None:
    """A soft budget draws fewer answers meanwhile; they cost something too."""
    budget = [Budget(soft=1000)]

    async def run() -> None:
        async with counting_in(redis_url) as redis:
            spending = Budgets(redis, Metrics())
            with stopped(server):
                allowed = await spending.ask(budget, "r", "", "first", TOKENS, TOKENS)
                assert (allowed.reason, allowed.samples) == (None, 0)
                await spending.settle("first", TOKENS)
            await spending.count_passed(budget, "r", "", {"tokens": 4.0})
            (standing,) = await spending.standing(budget, ["r"], [""])
            assert standing.used == 34

    asyncio.run(run())
