"""Counting what is spent: exact among simultaneous processes, on both databases, and free again when a process died."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import budgets
from hedgerow.proxy.audit.budgets import Ask, Spent, Standing, settle, standing, take
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.tables import spending
from hedgerow.proxy.config import Audit

DAY = budgets.today(time.time())


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    engine = open_engine(Audit(url=store_url))
    yield engine
    engine.dispose()


def ask(limit: float | None, guess: float = 10.0, least: float = 1.0, name: str = "a") -> Ask:
    return Ask(name, guess, least, limit)


def test_of_many_at_once_as_many_go_ahead_as_there_is_room_for(engine: sa.Engine) -> None:
    """64 at once, of four processes: ten guesses fit."""
    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(lambda i: take(engine, f"process {i % 4}", [ask(100)], DAY), range(64)))
    assert sum(one.refused is None for one in taken) == 10


def test_what_was_spent_takes_the_place_of_the_guess(engine: sa.Engine) -> None:
    """The next request holds what the last one took; the memory of a dear one fades."""
    (held,) = take(engine, "p", [ask(1000, guess=300)], DAY).held
    assert held == 300
    settle(engine, "p", [Spent("a", DAY, held, 40)])
    second = take(engine, "q", [ask(1000, guess=300)], DAY)
    assert (second.used, second.held) == ([40], [40])
    settle(engine, "p", [Spent("a", DAY, 0, 10)])
    settle(engine, "p", [Spent("a", DAY, 0, 10)])
    assert take(engine, "q", [ask(1000, least=60)], DAY).held == [60]
    (count,) = standing(engine, ["a"], DAY)
    assert (count.used, count.held, count.largest) == (60, 40 + 60, pytest.approx(40 * 0.81))


def test_what_is_passed_on_takes_room_and_says_nothing_of_the_next_calibrated_request(engine: sa.Engine) -> None:
    """Ten cheap plain answers do not make a dear request look cheap, nor does a dear one look dearer."""
    (held,) = take(engine, "p", [ask(1000, guess=300)], DAY).held
    settle(engine, "p", [Spent("a", DAY, held, 40)])
    settle(engine, "p", [Spent("a", DAY, 0, 1, passed=True)] * 10)
    settle(engine, "q", [Spent("a", DAY, 0, 400, passed=True)])
    assert standing(engine, ["a", "b"], DAY) == [Standing(450, 0, 40), Standing()]
    assert take(engine, "p", [ask(489)], DAY).refused == 0
    assert take(engine, "p", [ask(490)], DAY).held == [40]


def test_the_first_request_goes_ahead_alone_where_nothing_is_known(engine: sa.Engine) -> None:
    """A guess beyond the limit says little; but what a request takes at least is no guess."""
    assert take(engine, "p", [ask(5, least=6)], DAY).refused == 0
    assert take(engine, "p", [ask(5)], DAY).refused is None
    assert take(engine, "p", [ask(5)], DAY).refused == 0


def test_nothing_is_held_of_one_count_where_another_has_no_room(engine: sa.Engine) -> None:
    """A request goes ahead by all its budgets or by none."""
    take(engine, "p", [ask(10, name="b")], DAY)
    assert take(engine, "p", [ask(100), ask(10, name="b")], DAY).refused == 1
    assert take(engine, "p", [ask(100)], DAY).used == [0]
    assert take(engine, "p", [ask(None, name="b")], DAY).used == [10]


def test_what_a_dead_process_held_is_free_again(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can give it back; what it spent stays spent."""
    take(engine, "dead", [ask(10)], DAY)
    settle(engine, "dead", [Spent("a", DAY, 0, 0)])
    assert take(engine, "other", [ask(10)], DAY).refused == 0
    monkeypatch.setattr(budgets, "LEASE_S", -1.0)
    assert take(engine, "other", [ask(10)], DAY).refused is None


def test_days_long_past_are_deleted(engine: sa.Engine) -> None:
    """When a new day begins."""
    settle(engine, "p", [Spent("a", "2020-01-01", 0, 5)])
    settle(engine, "p", [Spent("a", DAY, 0, 7)])
    with engine.connect() as connection:
        assert connection.execute(sa.select(spending.c.day)).scalars().all() == [DAY]
