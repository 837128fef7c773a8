"""What operators set: who, when, back again; an alarm is raised once, whoever looks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.operators import (
    clear_alarms,
    raise_alarm,
    read_alarms,
    read_changes,
    roll_back,
    set_state,
    states,
)
from hedgerow.proxy.config import Audit
from hedgerow.proxy.errors import StoreError


@pytest.fixture
def engine(store_url: str) -> Iterator[sa.Engine]:
    opened = open_engine(Audit(url=store_url))
    yield opened
    opened.dispose()


def test_a_state_is_set_and_given_back_with_its_history(engine: sa.Engine) -> None:
    """Mode and map side by side; every change says what was before."""
    assert states(engine) == {}
    set_state(engine, "support", "mode", "on", actor="ada")
    set_state(engine, "support", "map", "one", actor="bob", note="fits")
    state = states(engine)["support"]
    assert (state.mode, state.map_id, state.actor) == ("on", "one", "bob")
    set_state(engine, "support", "mode", None, actor="ada")
    assert states(engine)["support"].mode is None
    assert [(c.actor, c.what, c.before, c.after, c.note) for c in read_changes(engine, route="support")] == [
        ("ada", "mode", "on", None, None),
        ("bob", "map", None, "one", "fits"),
        ("ada", "mode", None, "on", None),
    ]
    assert read_changes(engine, route="other") == []


def test_rolling_back_walks_the_history_of_maps(engine: sa.Engine) -> None:
    """Twice back from three is the first; a new activation after a roll back is rolled back to where that led."""
    for version in ("one", "two", "three"):
        set_state(engine, "r", "map", version, actor="ada")
    set_state(engine, "r", "mode", "on", actor="ada")  # no map, no step
    changes = [roll_back(engine, "r", actor="bob") for _ in range(2)]
    assert [change.after for change in changes if change] == ["two", "one"]
    set_state(engine, "r", "map", "four", actor="ada")
    for expected in ("one", None):
        change = roll_back(engine, "r", actor="bob")
        assert change is not None
        assert change.after == expected
    assert roll_back(engine, "r", actor="bob") is None
    assert states(engine)["r"].mode == "on"


def test_of_many_watchers_one_raises_the_alarm(engine: sa.Engine) -> None:
    """And again only after it was cleared."""

    def watch(_: int) -> bool:
        return raise_alarm(engine, route="r", map_id="m", kind="outcomes", statistic=5.0, threshold=4.6)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(watch, range(8))) == 1
    assert clear_alarms(engine, "r", actor="ada") == 1
    assert clear_alarms(engine, "r", actor="ada") == 0
    assert watch(0)
    assert [(alarm.actor, alarm.cleared_at is None) for alarm in read_alarms(engine)] == [(None, True), ("ada", False)]
    assert len(read_alarms(engine, route="r", standing=True)) == 1


def test_a_store_that_is_gone_is_one_clear_error(tmp_path: object) -> None:
    """Not the library's own."""
    engine = sa.create_engine("sqlite:////proc/nowhere/a.db")
    with pytest.raises(StoreError, match="cannot be read"):
        states(engine)
