"""One process does what one is enough for: who holds a duty, until when, and what the others read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from hedgerow.proxy.audit import leases
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.config import Audit


def test_a_duty_has_one_holder_until_its_time_has_run_out(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = open_engine(Audit(url=store_url))
    now = 1000.0
    monkeypatch.setattr(leases.time, "time", lambda: now)
    assert leases.take(engine, "drift", "a", 10)
    assert not leases.take(engine, "drift", "b", 10)
    assert leases.take(engine, "purge", "b", 10), "each duty has its own holder"
    now = 1009.0
    assert leases.take(engine, "drift", "a", 10), "its holder keeps it"
    now = 1018.0
    assert not leases.take(engine, "drift", "b", 10)
    now = 1019.0
    assert leases.take(engine, "drift", "b", 10)
    assert not leases.take(engine, "drift", "a", 10)
    leases.give_up(engine, "b")
    assert leases.take(engine, "drift", "a", 10)
    engine.dispose()


def test_a_clock_that_is_set_back_leaves_no_duty_undone(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder died before; clocks that differ a little change nothing."""
    engine = open_engine(Audit(url=store_url))
    now = 100_000.0
    monkeypatch.setattr(leases.time, "time", lambda: now)
    assert leases.take(engine, "drift", "a", 10)
    now = 99_995.0
    assert not leases.take(engine, "drift", "b", 10)
    now = 96_400.0
    assert leases.take(engine, "drift", "b", 10)
    engine.dispose()


def test_of_many_that_ask_at_once_one_gets_it(store_url: str) -> None:
    engine = open_engine(Audit(url=store_url))
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda name: leases.take(engine, "drift", f"process {name}", 60), range(8)))
    assert sum(won) == 1
    engine.dispose()


def test_the_report_is_there_for_the_others(store_url: str) -> None:
    engine = open_engine(Audit(url=store_url))
    assert leases.published(engine, "drift") is None
    leases.take(engine, "drift", "a", 60)
    assert leases.published(engine, "drift") is None
    leases.publish(engine, "drift", "{}")
    assert leases.published(engine, "drift") == "{}"
    engine.dispose()
