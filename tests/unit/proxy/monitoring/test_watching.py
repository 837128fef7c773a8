"""The drift watcher on an audit with a known truth: green while the map is right, yellow with a reason when it is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap
from hedgerow.calibration.fitting import fit_map
from hedgerow.calibration.maps.local import LocalMap, packed
from hedgerow.proxy.audit.engine import open_engine, transaction
from hedgerow.proxy.audit.leases import take
from hedgerow.proxy.audit.operators import clear_alarms, read_alarms, read_changes, states
from hedgerow.proxy.audit.store import open_store
from hedgerow.proxy.audit.tables import answers
from hedgerow.proxy.config import Settings
from hedgerow.proxy.monitoring.drift import Inputs, RouteHealth, examine
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.monitoring.watching import examine as examine_all
from hedgerow.proxy.monitoring.watching import reported
from hedgerow.proxy.services.active_map import stored_maps
from tests.support.audit import SAMPLES, agreement, fill, right


def settings_of(tmp_path: Path, **drift: Any) -> Settings:
    return Settings(
        upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},  # type: ignore[dict-item]
        routes=[{"name": "test", "upstream": "u", "mode": "on"}],  # type: ignore[arg-type]
        audit={"url": f"sqlite:///{tmp_path}/a.db", "spool": tmp_path / "spool", "synchronous": "normal"},  # type: ignore[arg-type]
        maps={"folder": tmp_path / "maps"},  # type: ignore[arg-type]
        drift=drift,  # type: ignore[arg-type]
    )


def a_map(tmp_path: Path, *, days_ago: float = 0.0) -> FittedMap:
    """A map learned on 1,000 answers of the good model, active for the route."""
    rng = np.random.default_rng(1)
    agree = agreement(rng, 1000)
    now = fit_map("platt", agree, SAMPLES - agree, right(rng, agree), signal="semantic", folds=0)
    then = datetime.now(UTC) - timedelta(days=days_ago)
    fitted = replace(now, provenance=replace(now.provenance, fitted_at=then))
    registry = MapRegistry(tmp_path / "maps")
    registry.add("one", fitted)
    registry.activate("one", route="test")
    return fitted


def seen(settings: Settings, *phases: tuple[Any, Any], fitted: FittedMap | None) -> RouteHealth:
    """Fill the audit with phases of (agreement, outcomes) under the map, and look at it."""

    async def work() -> None:
        store = await open_store(settings.audit, lambda _: None)
        try:
            for i, (agree, correct) in enumerate(phases):
                named = {"map": fitted.map, "map_id": "one"} if fitted else {}
                await fill(store, agree, correct, start=(i + 1) << 20, **named)  # type: ignore[arg-type]
        finally:
            await store.aclose()

    asyncio.run(work())
    return look(settings)


def look(settings: Settings) -> RouteHealth:
    health: RouteHealth = with_engine(
        settings, lambda engine: examine(engine, settings, active(engine, settings)).health["test"]
    )
    return health


def active(engine: Any, settings: Settings) -> dict[str, Any]:
    maps = stored_maps(settings, engine)
    return {route.name: maps.of_route(route) for route in settings.routes}


def watched(settings: Settings) -> tuple[RouteHealth, Inputs]:
    """A turn of the watcher: the health of the route, and the inputs that it leaves behind for its next turn."""

    def turn(engine: Any) -> tuple[RouteHealth, Inputs]:
        assert take(engine, "drift", "watcher", 60)
        examine_all(engine, settings, active(engine, settings), {})
        report = reported(engine)
        assert report is not None
        return report.health["test"], report.inputs["test"]["one"]

    found: tuple[RouteHealth, Inputs] = with_engine(settings, turn)
    return found


def with_engine(settings: Settings, work: Callable[[Any], Any]) -> Any:
    engine = open_engine(settings.audit)
    try:
        return work(engine)
    finally:
        engine.dispose()


def phase(seed: int, n: int, shift: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    agree = agreement(rng, n)
    return agree, right(rng, agree, shift=shift)


def test_a_right_map_is_green_with_its_figures(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    agree, correct = phase(2, 800)
    health = seen(settings, (agree, correct), fitted=a_map(tmp_path))
    assert (health.status, health.reasons, health.alarms, health.map_id) == ("green", (), (), "one")
    assert (health.n_verdicts, health.accuracy) == (800, pytest.approx(correct.mean()))
    assert health.smooth_ece is not None
    assert health.smooth_ece_low <= health.smooth_ece <= health.smooth_ece_high  # type: ignore[operator]
    assert health.input_shift is not None
    assert health.input_shift < 0.05


def test_a_model_that_got_worse_turns_the_route_yellow_once(tmp_path: Path, lines: Any) -> None:
    """One alarm however often one looks; cleared, it needs new evidence; `on_alarm: nothing` leaves the mode alone."""
    settings = settings_of(tmp_path)
    health = seen(settings, phase(2, 400), phase(3, 400, -2.0), fitted=a_map(tmp_path))
    assert (health.status, health.alarms) == ("yellow", ("outcomes",))
    assert "fit a new one" in health.reasons[0]
    look(settings)
    assert [line["route"] for line in lines.of("drift_alarm")] == ["test"]
    assert with_engine(settings, states) == {}
    with_engine(settings, lambda engine: clear_alarms(engine, "test", actor="ada"))
    health = look(settings)
    assert (health.status, health.n_verdicts) == ("green", 0)
    assert [a.actor for a in with_engine(settings, read_alarms)] == ["ada"]


def test_an_alarmed_route_falls_back_to_shadow_where_that_is_wished(tmp_path: Path) -> None:
    """And the record says who did it and why."""
    settings = settings_of(tmp_path, on_alarm="shadow")
    seen(settings, phase(3, 500, -2.0), fitted=a_map(tmp_path))
    assert with_engine(settings, states)["test"].mode == "shadow"
    (change,) = with_engine(settings, read_changes)
    assert (change.actor, change.after, change.note) == ("drift watcher", "shadow", "map one proved wrong")


def test_other_questions_are_noticed_without_verdicts(tmp_path: Path) -> None:
    """Answers that agree more than those of the fit; nobody has said whether they are right."""
    settings = settings_of(tmp_path)
    rng = np.random.default_rng(5)
    health = seen(settings, (rng.integers(7, 10, 600), []), fitted=a_map(tmp_path))
    assert (health.status, health.alarms, health.n_verdicts) == ("yellow", ("inputs",), 0)
    assert health.input_shift is not None
    assert health.input_shift > 0.1


def test_a_look_goes_on_where_the_last_one_was_sure(tmp_path: Path) -> None:
    """Windows that are ten minutes old are tested once: they count when retention has deleted their rows, and the next turns read only what came
    after them, to the same result as reading everything.
    """
    settings, fitted, nothing = settings_of(tmp_path), a_map(tmp_path), (np.empty(0), [])
    seen(settings, (agreement(np.random.default_rng(2), 1500), []), fitted=fitted)  # one a second up to now
    health, inputs = watched(settings)
    assert (health.n_answers, health.alarms) == (1500, ())
    assert inputs.windows >= 1
    whole = seen(settings, nothing, (np.random.default_rng(5).integers(7, 10, 700), []), fitted=fitted)
    health, _ = watched(settings)
    assert (health.n_answers, health.input_shift, health.alarms) == (2200, whole.input_shift, ("inputs",))

    def erase(engine: Any) -> None:
        with transaction(engine, "write") as connection:
            connection.execute(sa.delete(answers).where(answers.c.created_at <= inputs.until))

    with_engine(settings, erase)
    health, _ = watched(settings)
    assert (health.n_answers, health.input_shift) == (2200, whole.input_shift)
    assert look(settings).n_answers == 2200 - 500 * inputs.windows


def test_a_cleared_alarm_begins_the_windows_anew(tmp_path: Path) -> None:
    settings, fitted = settings_of(tmp_path), a_map(tmp_path)
    seen(settings, (np.random.default_rng(5).integers(7, 10, 1500), []), fitted=fitted)
    health, inputs = watched(settings)
    assert health.alarms == ("inputs",)
    assert inputs.windows >= 1
    with_engine(settings, lambda engine: clear_alarms(engine, "test", actor="ada"))
    health, inputs = watched(settings)
    assert (health.status, health.n_answers, inputs.windows) == ("green", 0, 0)


def test_an_old_map_is_stale(tmp_path: Path) -> None:
    health = seen(settings_of(tmp_path, max_age_days=30), fitted=a_map(tmp_path, days_ago=40))
    assert (health.status, health.reasons) == ("yellow", ("the map is 40 days old; the limit is 30",))


def test_a_route_without_a_map_is_grey(tmp_path: Path) -> None:
    health = seen(settings_of(tmp_path), phase(2, 100), fitted=None)
    assert (health.status, health.map_id) == ("grey", None)
    assert health.reasons == ("no map: the confidence is uncalibrated",)


def test_the_metrics_tell_what_was_found_and_forget_what_is_gone() -> None:
    """A figure without data is absent rather than zero."""
    metrics = Metrics()
    metrics.set_health(RouteHealth("r", "on", "yellow", ("x",), "m", smooth_ece=0.125, alarms=("outcomes",)))
    text = metrics.exposition().decode()
    assert 'hedgerow_smooth_ece{route="r"} 0.125' in text
    assert 'hedgerow_route_yellow{route="r"} 1.0' in text
    assert 'hedgerow_drift_alarm{kind="outcomes",route="r"} 1.0' in text
    metrics.set_health(RouteHealth("r", "on", "grey", (), None))
    text = metrics.exposition().decode()
    assert "hedgerow_smooth_ece{" not in text
    assert 'hedgerow_drift_alarm{kind="outcomes",route="r"} 0.0' in text


def test_a_map_of_one_model_is_watched(tmp_path: Path) -> None:
    """Every answer under it is wrong: an alarm, although the route has no map for its other models."""
    fitted = a_map(tmp_path)
    (tmp_path / "maps" / "active.json").unlink()
    MapRegistry(tmp_path / "maps").activate("one", route="test", model="m")
    agree = agreement(np.random.default_rng(5), 120)
    health = seen(settings_of(tmp_path), (agree, np.zeros(120)), fitted=fitted)
    assert (health.status, health.map_id, health.alarms) == ("yellow", "one", ("outcomes",))


@pytest.mark.parametrize("shares", [[0.6, 0.2, 0.2], [0.8, 0.2, 0.0]])
def test_a_map_that_reads_questions_is_watched_regime_by_regime(tmp_path: Path, shares: list[float]) -> None:
    """A regime that goes wrong is named, though all verdicts together hardly show it; a right one raises nothing. Its level is its share of what all
    regimes of the map have, whichever of them have verdicts by now.
    """
    packed_centre = packed(np.zeros(3))
    base = PlattMap(1.0, 0.0)
    local = LocalMap(
        base, base, dimension=3, weights=packed(np.zeros(3)), anchors=packed(np.zeros((1, 3))), anchor_counts=packed([9.0]),
        regimes=((-1, packed_centre, "court, trial"), (1, packed_centre, "cells")),
    )  # fmt: skip
    settings, fitted = settings_of(tmp_path), replace(a_map(tmp_path), map=local)
    registry = MapRegistry(tmp_path / "maps")
    registry.add("reads", fitted)
    registry.activate("reads", route="test")
    rng = np.random.default_rng(3)
    agree = rng.integers(3, 10, 2400)
    regime = rng.choice([0, 1, 2], 2400, p=shares)
    correct = (rng.random(2400) < np.where(regime == 1, 0.1, agree / 10)).astype(float)

    async def work() -> None:
        store = await open_store(settings.audit, lambda _: None)
        try:
            await fill(store, agree, correct, map=local, map_id="reads", regime=regime)
        finally:
            await store.aclose()

    asyncio.run(work())
    health = look(settings)
    assert health.status == "yellow"
    assert "outcomes of regime 1" in health.alarms
    assert "outcomes of regime 2" not in health.alarms
    assert any("wrong on questions of its regime 1" in reason for reason in health.reasons)
    engine = open_engine(settings.audit)
    (threshold,) = (alarm.threshold for alarm in read_alarms(engine) if alarm.kind == "outcomes of regime 1")
    engine.dispose()
    assert threshold == pytest.approx(np.log(8.0 * 2.0 / 0.01))


def judged_by(tmp_path: Path, **named: list[str | None]) -> RouteHealth:
    """800 verdicts as the map says, then 300 false ones; of whom they are is given for all."""
    settings, fitted = settings_of(tmp_path), a_map(tmp_path)
    agree, correct = phase(2, 800)
    later = agreement(np.random.default_rng(9), 300)

    async def work() -> None:
        store = await open_store(settings.audit, lambda _: None)
        try:
            outcomes = np.concatenate([correct, np.zeros(300)])
            await fill(store, np.concatenate([agree, later]), outcomes, map=fitted.map, map_id="one", **named)  # type: ignore[arg-type]
        finally:
            await store.aclose()

    asyncio.run(work())
    return look(settings)


ALONE: list[str | None] = [None] * 800


@pytest.mark.parametrize(
    ("named", "counted", "known"),
    [
        ({"asker": ALONE + ["user:ada"] * 300}, 801, ("user",)),
        ({"asker": ALONE + ["conversation:1"] * 300}, 801, ("conversation",)),
        ({"question": ALONE + ["popular"] * 300}, 801, ("question",)),
        (
            {"asker": [f"user:{i}" for i in range(1100)], "question": ALONE + ["popular"] * 300},
            801,
            ("user", "question"),
        ),
        ({"asker": [f"user:{i % 110}" for i in range(1100)]}, 110, ("user",)),
    ],
)
def test_verdicts_that_depend_on_each_other_count_once(
    tmp_path: Path, named: Any, counted: int, known: tuple[str, ...]
) -> None:
    """Of one user, one conversation or one question that is wrong three hundred times; the figures say what was counted, by what."""
    health = judged_by(tmp_path, **named)
    assert (health.status, health.alarms) == ("green", ())
    assert (health.n_verdicts, health.n_counted, health.counted_by) == (1100, counted, known)
    assert f"{counted:,} of 1,100 verdicts count, one of each {', '.join(known)}" in health.counting


@pytest.mark.parametrize(
    ("key", "alarms", "one_key"),
    [
        (["a", "b"] * 400 + ["c"] * 300, (), "c"),
        ([None] * 800 + ["c"] * 300, (), "c"),
        (["a", "b"] * 400 + ["c", "d"] * 150, ("outcomes",), None),
        (["c"] * 1100, ("outcomes",), None),
    ],
)
def test_no_alarm_rests_on_the_word_of_one_key(
    tmp_path: Path, key: list[str | None], alarms: tuple[str, ...], one_key: str | None
) -> None:
    """Its verdicts are shown as what they are; two keys that agree are heard, and so is the only one that a route has."""
    health = judged_by(tmp_path, key=key)
    assert (health.alarms, health.one_key) == (alarms, one_key)
    assert health.status == ("yellow" if alarms else "green")
    assert ("by key 'c' alone" in health.counting) == (one_key is not None)
