"""Sums of whole hours give the figures that counting every row gives, whatever happens to the rows, on both databases."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import counts
from hedgerow.proxy.audit.engine import open_engine, transaction
from hedgerow.proxy.audit.hours import HOUR_S, PURPOSES, SETTLED_S, drop_sums, sum_up_next, take_turn
from hedgerow.proxy.audit.queries import Period
from hedgerow.proxy.audit.retention import purge
from hedgerow.proxy.audit.tables import answers, hour_endings, hours
from hedgerow.proxy.config import Audit, Settings
from tests.support.postgres import Cluster
from tests.unit.proxy.audit.conftest import Store, entry

NOW = 1_790_000_000.0 // HOUR_S * HOUR_S + 900.0
"""A quarter past some hour."""
FIRST = NOW - 900.0 - 30 * HOUR_S


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    opened = open_engine(Audit(url=store_url))
    yield opened
    opened.dispose()


def rows(number: int) -> list[dict[str, Any]]:
    """Requests of thirty hours, some without a route, a mode, a confidence or a price."""
    rng = np.random.default_rng(5)
    made = []
    for i in range(number):
        sure = bool(rng.random() < 0.7)
        alpha, beta = float(rng.integers(1, 11)), 0.0001 if rng.random() < 0.1 else float(rng.integers(1, 11))
        made.append(
            {
                "id": f"x{i:05}",
                "created_at": FIRST + 30 * HOUR_S * float(rng.random()),
                "path": "/v1/chat/completions",
                "route": rng.choice(["a", "b", None]),
                "mode": rng.choice(["on", "off", None]),
                "status": str(rng.choice(["hedged", "plain", "abstained", "passed"])),
                "reason": rng.choice(["tool_calls", None]),
                "duration_ms": float(rng.integers(1, 900)),
                **{f"tokens_{name}": int(rng.integers(0, 50)) for name in PURPOSES},
                **dict.fromkeys(("raw_alpha", "alpha"), alpha if sure else None),
                **dict.fromkeys(("raw_beta", "beta"), beta if sure else None),
                "hedge": rng.choice(["likely", "perhaps", None]),
                "cost_answer": 0.25 if rng.random() < 0.5 else None,
                "cost_calibration": 0.5 if rng.random() < 0.8 else None,
            }
        )
    return made


def insert(engine: sa.Engine, made: list[dict[str, Any]]) -> None:
    with engine.begin() as connection:
        connection.execute(sa.insert(answers), made)


def figures(engine: sa.Engine, period: Period, bucket_s: float, route: str | None) -> list[Any]:
    """All that is counted, each figure in a form that can be compared."""
    with transaction(engine, "snapshot") as connection:
        found: Counter[Any] = Counter()
        for t in counts.tallies(connection, period, bucket_s, route):
            summed = {"requests": t.requests, "ms": t.milliseconds, "cost": t.costs[0], "calibration": t.costs[1]}
            summed |= {"unpriced": t.unpriced} | dict(zip(PURPOSES, t.tokens, strict=True))
            for name, value in summed.items():
                found[t.bucket, t.route, t.mode, t.status, t.reason, name] += value  # type: ignore[assignment]
        refused = counts.abstained(connection, period, route)
        return [+found, counts.histogram(connection, period, route), refused]


PERIODS = [
    (Period(FIRST, NOW), 6.0 * HOUR_S),
    (Period(NOW - 900.0 - 24 * HOUR_S, NOW), 3.0 * HOUR_S),
    (Period(NOW - 900.0 - 12 * HOUR_S, NOW), 1.0 * HOUR_S),
    (Period(None, NOW), 1e12),
    (Period(FIRST + 1234.5, NOW - 4321.0), 1e12),
    (Period(FIRST + 100.0, FIRST + 200.0), 1e12),
    (Period(NOW - HOUR_S, NOW), 60.0),
]


def test_figures_from_sums_are_those_from_rows(engine: sa.Engine) -> None:
    """Of any period, of all routes or one, with every hour, some or none summed up; twice as many hours as have rows are known after it."""
    insert(engine, rows(600))
    asked = [(period, bucket, route) for period, bucket in PERIODS for route in (None, "a")]
    counted = [figures(engine, *one) for one in asked]
    assert counted[0][0], "there is something to count"
    summed = 0
    while sum_up_next(engine, NOW) is not None:
        summed += 1
        if summed % 7 == 0:
            with engine.begin() as connection:  # holes between them
                drop_sums(connection, [FIRST + (summed - 3) * HOUR_S])
            assert [figures(engine, *one) for one in asked] == counted
        if summed > 100:
            break
    with engine.begin() as connection:
        known = connection.execute(sa.select(hours.c.hour)).scalars().all()
        assert len(known) == 29, "the last full hour ended a quarter of an hour ago"
        assert connection.execute(sa.select(sa.func.count()).select_from(hour_endings)).scalar_one() > 100
    assert [figures(engine, *one) for one in asked] == counted


def test_summed_hours_are_not_read_again(engine: sa.Engine) -> None:
    """A row that was added behind the writer's back is not seen in them."""
    insert(engine, rows(50))
    while sum_up_next(engine, NOW) is not None:
        pass
    before = figures(engine, PERIODS[2][0], 1e12, None)
    insert(engine, [row | {"id": "y" + row["id"]} for row in rows(50) if row["created_at"] < NOW - 4 * HOUR_S])
    assert figures(engine, PERIODS[2][0], 1e12, None) == before


def test_a_row_that_comes_late_is_counted(store: Store) -> None:
    """One from the spool, say: the sums of its hour are dropped with it, the others stay."""
    now = time.time()
    hour = (now - SETTLED_S) // HOUR_S * HOUR_S - HOUR_S
    store.write(entry("a", created_at=hour + 1.0), entry("b", created_at=hour - HOUR_S + 1.0))

    engine = open_engine(store.settings)

    def requests() -> int:
        with transaction(engine, "snapshot") as connection:
            return sum(t.requests for t in counts.tallies(connection, Period(None, now), 1e12))

    assert [sum_up_next(engine, now) for _ in range(3)] == [hour, hour - HOUR_S, None]
    assert requests() == 2
    store.write(entry("c", created_at=hour + 2.0), entry("d", created_at=now))
    assert requests() == 4
    assert store.sql("SELECT hour FROM hours") == [hour - HOUR_S]
    assert sum_up_next(engine, now) == hour
    assert requests() == 4
    engine.dispose()


def test_what_retention_deletes_is_not_counted(engine: sa.Engine) -> None:
    """Hours of rows that are gone lose their sums."""
    insert(engine, rows(300))
    while sum_up_next(engine, NOW) is not None:
        pass
    days = (NOW - FIRST) / 86_400.0 / 2
    upstreams = {"u": {"provider": "openai", "base_url": "http://127.0.0.1:1/v1"}}
    routes = [{"name": "a", "upstream": "u", "model": "m"}]
    settings = Settings(upstreams=upstreams, routes=routes, audit={"keep_rows_days": days})
    purge(engine, settings, actor="test", now=NOW)
    left = [row for row in rows(300) if row["created_at"] >= NOW - days * 86_400.0]
    found = figures(engine, Period(None, NOW), 1e12, None)[0]
    assert sum(number for key, number in found.items() if key[-1] == "requests") == len(left) < 300


def test_sums_of_a_clock_that_was_ahead_hide_nothing(store: Store) -> None:
    """Hours of the present and the future are summed up, then the clock is right again: each row that comes is counted, whoever wrote the sums."""
    now = time.time()
    hour = now // HOUR_S * HOUR_S
    store.write(*(entry(f"a{number}", created_at=now) for number in range(20)))
    store.write(entry("future", created_at=now + 2 * HOUR_S))
    engine = open_engine(store.settings)
    while sum_up_next(engine, now + 5 * HOUR_S) is not None:
        pass
    assert hour in store.sql("SELECT hour FROM hours")
    store.write(*(entry(f"b{number}", created_at=now + number) for number in range(50)))
    store.write(entry("then", created_at=now + 2 * HOUR_S))
    for period in (Period(now - 3 * HOUR_S, now + 3 * HOUR_S), Period(None, now + 48 * HOUR_S)):
        with transaction(engine, "snapshot") as connection:
            assert sum(t.requests for t in counts.tallies(connection, period, 1e12)) == 72
    engine.dispose()


@pytest.mark.parametrize("first_one", ["sum", "row"])
def test_a_row_and_the_sums_of_its_hour_wait_for_each_other(postgres: Cluster, first_one: str) -> None:
    """Between counting an hour and committing its sums no row of it is added that nobody would count, and the other way round. Rows of other hours
    wait for nobody, and neither do two rows of one hour. SQLite has one writer anyway."""
    engine = open_engine(Audit(url=postgres.database()))
    insert(engine, rows(20))
    hour = int(FIRST)
    done = threading.Event()

    def sum_up(connection: sa.Connection) -> None:
        take_turn(connection, [hour], "sum")

    def add(connection: sa.Connection, moment: float = FIRST + 1.0) -> None:
        drop_sums(connection, [moment])
        connection.execute(sa.insert(answers), [rows(1)[0] | {"id": f"late{moment}", "created_at": moment}])

    first, second = (sum_up, add) if first_one == "sum" else (add, sum_up)

    def later() -> None:
        with engine.begin() as connection:
            second(connection)
        done.set()

    with engine.begin() as connection:
        first(connection)
        with engine.begin() as beside:
            add(beside, FIRST + 5.0 if first_one == "row" else FIRST + 5 * HOUR_S)
        thread = threading.Thread(target=later)
        thread.start()
        assert not done.wait(0.3)
    assert done.wait(10.0)
    thread.join()
    engine.dispose()
