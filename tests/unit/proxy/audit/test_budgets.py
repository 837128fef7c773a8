"""Counting what is spent: exact among simultaneous processes, on both databases, and free again when a process died."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import budgets
from hedgerow.proxy.audit.budgets import Ask, Spent, Standing, Taken, settle, standing
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.tables import spending
from hedgerow.proxy.config import Audit

DAY = budgets.today(time.time())
_numbers = count()


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    engine = open_engine(Audit(url=store_url))
    yield engine
    engine.dispose()


def ask(limit: float | None, guess: float = 10.0, least: float = 1.0, name: str = "a") -> Ask:
    return Ask(name, guess, least, limit)


def take(engine: sa.Engine, *asks: Ask, ticket: str | None = None) -> Taken:
    """A new request asks, unless it is told which."""
    return budgets.take(engine, ticket or f"request {next(_numbers)}", asks, DAY)


def count_of(engine: sa.Engine, name: str = "a") -> Standing:
    (count,) = standing(engine, [name], DAY)
    return count


def spent(amount: float, total: float, ticket: str = "", **more: Any) -> Spent:
    return Spent("a", DAY, ticket, amount, total, **more)


def test_of_many_at_once_as_many_go_ahead_as_there_is_room_for(engine: sa.Engine) -> None:
    """64 at once: ten guesses fit."""
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda _: take(engine, ask(100)), range(64)))
    assert sum(one.refused is None for one in taken) == 10


def test_what_was_spent_takes_the_place_of_the_guess(engine: sa.Engine) -> None:
    """The next request holds what the last one took; the memory of a dear one fades."""
    take(engine, ask(1000, guess=300), ticket="first")
    assert count_of(engine).held == 300
    settle(engine, "p", [spent(40, 40, "first")])
    assert take(engine, ask(1000, guess=300), ticket="second").used == [40]
    assert count_of(engine) == Standing(40, 40, 40)
    settle(engine, "p", [spent(10, 50), spent(10, 60)])
    take(engine, ask(1000, least=60))
    assert count_of(engine) == Standing(60, 40 + 60, pytest.approx(40 * 0.81))


def test_what_is_written_twice_counts_once(engine: sa.Engine) -> None:
    """A process that does not know whether its count was written writes it again; an old one that is late changes nothing."""
    take(engine, ask(1000), ticket="first")
    first, second = spent(40, 40, "first"), spent(5, 45, passed=True)
    for batch in ([first], [first, second], [second], [first]):
        settle(engine, "p", batch)
    settle(engine, "q", [spent(7, 7)])
    assert (count_of(engine).used, count_of(engine).held) == (45 + 7, 0)


def test_what_is_passed_on_takes_room_and_says_nothing_of_the_next_calibrated_request(engine: sa.Engine) -> None:
    """Ten cheap plain answers do not make a dear request look cheap, nor does a dear one look dearer."""
    take(engine, ask(1000, guess=300), ticket="first")
    settle(engine, "p", [spent(40, 40, "first")])
    settle(engine, "p", [spent(1, 41 + i, passed=True) for i in range(10)])
    settle(engine, "q", [spent(400, 400, passed=True)])
    assert standing(engine, ["a", "b"], DAY) == [Standing(450, 0, 40), Standing()]
    assert take(engine, ask(489)).refused == 0
    assert take(engine, ask(490)).refused is None
    assert count_of(engine).held == 40


def test_the_first_request_goes_ahead_alone_where_nothing_is_known(engine: sa.Engine) -> None:
    """A guess beyond the limit says little; but what a request takes at least is certain."""
    assert take(engine, ask(5, least=6)).refused == 0
    assert take(engine, ask(5)).refused is None
    assert take(engine, ask(5)).refused == 0


def test_nothing_is_held_of_one_count_where_another_has_no_room(engine: sa.Engine) -> None:
    """A request goes ahead by all its budgets or by none."""
    take(engine, ask(10, name="b"))
    assert take(engine, ask(100), ask(10, name="b")).refused == 1
    assert take(engine, ask(100)).used == [0]
    assert take(engine, ask(None, name="b")).used == [10]


def test_what_nobody_gives_back_is_free_again(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of a request died, or never learnt that something was held; what it spent stays spent, and others that it counts change nothing."""
    take(engine, ask(12), ticket="lost")
    settle(engine, "p", [spent(2, 2)])
    assert take(engine, ask(12)).refused == 0
    monkeypatch.setattr(budgets, "LEASE_S", -1.0)
    assert take(engine, ask(12)).used == [2]


def test_days_long_past_are_deleted(engine: sa.Engine) -> None:
    """When a new day begins."""
    settle(engine, "p", [Spent("a", "2020-01-01", "", 5, 5)])
    settle(engine, "p", [spent(7, 7)])
    with engine.connect() as connection:
        assert connection.execute(sa.select(spending.c.day)).scalars().all() == [DAY]
