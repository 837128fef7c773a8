"""Which map is active: one rule for models, signals and maps that cannot be used."""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.services.active_map import ActiveMaps, stored_maps


def _maps(tmp_path: Path, **route: Any) -> tuple[ActiveMaps, Any]:
    registry = MapRegistry(tmp_path)
    for version, signal in (("semantic", "semantic"), ("token", "token"), ("long", "consistency"), ("unknown", "")):
        registry.add(
            version, FittedMap(PlattMap(1.0, 0.0), Provenance(500, 0.5, "0" * 64, signal, "m", datetime.now(UTC)))
        )
    registry.activate("semantic", route="test")
    registry.activate("token", model="t")
    registry.activate("unknown", route="test", model="u")
    settings = Settings(
        upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},  # type: ignore[dict-item]
        routes=[{"name": "test", "upstream": "u", "mode": "on"} | route],  # type: ignore[arg-type]
        maps={"folder": tmp_path},  # type: ignore[arg-type]
    )
    return stored_maps(settings, None), settings.routes[0]


def test_a_map_for_another_signal_is_skipped_with_a_warning(tmp_path: Path) -> None:
    """Assigned or named by the route alike; a map of unknown signal serves the route's own signal and nothing else."""
    maps, route = _maps(tmp_path)
    other = maps.active(route, "t", "semantic")
    assert (other.version, len(other.warnings)) == ("semantic", 1)
    assert maps.active(route, "m", "consistency").version is None
    assert (maps.active(route, "u", "semantic").version, maps.active(route, "u", "consistency").version) == (
        "unknown",
        None,
    )
    named = route.model_copy(update={"map": "token"})
    skipped = maps.active(named, "m", "semantic")
    assert (skipped.version, skipped.map.kind) == (None, "identity")
    assert "fitted for the signal token" in skipped.warnings[0]
    assert maps.active(route.model_copy(update={"map": "long"}), "m", "consistency").version == "long"


def test_claims_have_a_map_beside_that_of_the_answers(tmp_path: Path) -> None:
    """At the same place, and also where the route names the map of its answers; neither warns of the other."""
    maps, route = _maps(tmp_path)
    maps.registry.activate("long", route="test")
    maps.refresh(Settings(upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}}, routes=[route]))  # type: ignore[arg-type, dict-item, list-item]
    for named in (route, route.model_copy(update={"map": "semantic"})):
        found = [maps.active(named, "m", signal) for signal in ("semantic", "consistency")]
        assert [active.version for active in found] == ["semantic", "long"]
        assert found[0].warnings == ()


def test_maps_by_model_are_listed(tmp_path: Path) -> None:
    """Every model with an assignment of its own, and "" for all others; a route with a fixed model has one."""
    maps, route = _maps(tmp_path)
    assert {model: active.version for model, active in maps.of_route(route).items()} == {
        "": "semantic", "t": "semantic", "u": "unknown",
    }  # fmt: skip
    assert list(maps.of_route(route.model_copy(update={"model": "u"}))) == ["u"]


def test_a_missing_map_counts_as_none_and_is_a_problem(tmp_path: Path) -> None:
    """The identity stands in, with the reason; an operator is refused before the fact."""
    maps, route = _maps(tmp_path)
    missing = maps.active(route.model_copy(update={"map": "nosuch"}), "m", "semantic")
    assert missing.version is None
    assert "nosuch" in (missing.problem or "")
    with pytest.raises(ConfigError, match="nosuch"):
        maps.check(route, "nosuch")
    with pytest.raises(ConfigError, match="signal"):
        maps.check(route, "token")
    maps.check(route, "semantic")


@pytest.mark.parametrize("operation", ["stat", "read_text"])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EROFS", "EPIPE", "EACCES", "ENOENT"])
def test_a_folder_that_cannot_be_read_is_told_and_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str, error: str
) -> None:
    """While the disk fails answers are uncalibrated, with the reason where it can be told; with the disk well again the map is back."""
    number, ill, real = getattr(errno, error), False, getattr(Path, operation)

    def failing(path: Path, *rest: Any, **more: Any) -> Any:
        if ill and path.is_relative_to(tmp_path):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(Path, operation, failing)
    maps, route = _maps(tmp_path)
    settings = Settings(
        upstreams={"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},  # type: ignore[dict-item]
        routes=[route],
        maps={"folder": tmp_path},  # type: ignore[arg-type]
    )
    os.utime(tmp_path / "active.json", ns=(1, 1))
    ill = True
    maps.refresh(settings)
    ill_map = maps.active(route, "m", "semantic")
    assert ill_map.version is None
    if (operation, error) != ("stat", "ENOENT"):  # else there is no folder, which is allowed
        assert os.strerror(number) in maps.problems(settings)["test"]
    ill = False
    maps.refresh(settings)
    assert maps.active(route, "m", "semantic").version == "semantic"
    assert maps.problems(settings) == {}
