"""What cannot be undone does not go by one clock alone: with clocks of our own, on both databases."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from hedgerow.proxy.audit import store as stores
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.retention import DAY_S, JUMP_S, Clock, Purged, confirm, due, objection, purge
from hedgerow.proxy.audit.store import AuditStore, purge_regularly, watch_clock
from hedgerow.proxy.supervision import Supervisor
from tests.unit.proxy.audit.conftest import Store
from tests.unit.proxy.audit.test_retention import aged, settings


class Hands:
    """A clock whose hands anybody may move, beside a steady one."""

    def __init__(self) -> None:
        self.set_s = 0.0

    def now(self) -> float:
        return time.time() + self.set_s

    def steady(self) -> float:
        return time.monotonic()


def even(store: Store, days: int, rows: int) -> None:
    """Rows of the last days, evenly."""
    store.write(*(aged(f"r{number}", days * (number + 0.5) / rows, user="ada") for number in reversed(range(rows))))


@pytest.mark.parametrize("moved", [31 * DAY_S, -31 * DAY_S, 2 * JUMP_S])
def test_a_jump_is_an_event_until_somebody_confirms_it(store: Store, moved: float) -> None:
    """Seen at the next look, recorded once for all processes, still there after a restart, though the clock was set back; gone once it is confirmed."""
    hands, engine = Hands(), open_engine(store.settings)
    clock = Clock(engine, hands.now, hands.steady)
    assert clock.look() is None
    hands.set_s = JUMP_S / 2
    assert clock.look() is None
    hands.set_s += moved
    said = clock.look()
    assert said is not None
    assert ("ahead" if moved > 0 else "back") in said
    assert clock.look() == said
    assert Clock(engine).look() == said
    assert store.sql("SELECT note FROM changes WHERE what = 'clock_jump'") == [said]
    confirm(engine, "me")
    confirm(engine, "me")
    assert (clock.look(), Clock(engine).look()) == (None, None)
    assert store.sql("SELECT actor FROM changes WHERE what = 'clock_confirmed'") == ["me"]
    hands.set_s = 0.0
    assert (clock.look() is None) == (abs(moved + JUMP_S / 2) <= JUMP_S)
    engine.dispose()


@pytest.mark.parametrize("new_url", ["postgresql"], indirect=True)
def test_a_replica_apart_from_the_database_is_told(store: Store) -> None:
    """From its start on: nobody has to see a jump."""
    hands, engine = Hands(), open_engine(store.settings)
    hands.set_s = 3 * DAY_S
    said = Clock(engine, hands.now, hands.steady).look()
    assert said is not None
    assert "3 days ahead compared with the database's" in said
    engine.dispose()


@pytest.mark.parametrize(
    ("ahead", "taken", "refused"), [(0, 0, False), (5, 5, False), (9, 9, False), (11, 11, True), (31, 30, True)]
)
@pytest.mark.parametrize("kept", ["rows", "texts"])
def test_a_purge_of_more_than_a_third_needs_somebodys_word(
    store: Store, ahead: int, taken: int, refused: bool, kept: str
) -> None:
    """Thirty days are kept, and thirty rows of thirty days are there: a clock ahead takes one more for each day. What is said is what would be done."""
    even(store, days=30, rows=30)
    engine, told = open_engine(store.settings), settings(store, **{f"keep_{kept}_days": 30})
    now = time.time() + ahead * DAY_S
    expected = Purged(**{kept: taken})
    assert due(engine, told, now) == expected
    why = objection(engine, told, now)
    assert (why is not None) == refused
    if why is not None:
        assert f"{taken}" in why
        assert "of 30 in all" in why
    assert purge(engine, told, actor="me", now=now) == expected
    engine.dispose()


def test_a_running_proxy_deletes_nothing_after_a_jump(
    store: Store, monkeypatch: pytest.MonkeyPatch, lines: Any
) -> None:
    """A clock that is set ahead by five days would take a sixth of the rows; an hour later it is right again. Nothing goes until a person says so, and
    `/health` has both sentences meanwhile."""
    even(store, days=30, rows=30)
    monkeypatch.setattr(stores, "LOOK_S", 0.01)
    hands = Hands()

    async def work(opened: AuditStore) -> None:
        opened.clock = Clock(opened.engine, hands.now, hands.steady)
        told = settings(store, purge_every_s=0.01, keep_rows_days=30)
        supervisor: Supervisor = opened.supervisor
        supervisor.keep_running("clock", lambda: watch_clock(opened))
        supervisor.keep_running("purge", lambda: purge_regularly(opened, lambda: told))

        async def until(wanted: set[str]) -> None:
            async with asyncio.timeout(60):
                while set(supervisor.problems) != wanted:  # noqa: ASYNC110 # two loops of their own
                    await asyncio.sleep(0.01)

        await until(set())
        hands.set_s = 5 * DAY_S
        await until({"clock", "purge"})
        assert "5 days ahead" in supervisor.problems["clock"]
        assert "nothing is purged" in supervisor.problems["purge"]
        assert len(store.sql("SELECT id FROM answers")) == 30
        await asyncio.to_thread(confirm, opened.engine, "me")
        await until(set())
        async with asyncio.timeout(60):
            while not lines.of("audit_purged"):  # noqa: ASYNC110 # log lines come without an event
                await asyncio.sleep(0.01)
        await supervisor.aclose()

    store.run(work)
    assert lines.of("audit_purged")[0]["rows"] == 5
