"""Stored maps: immutable versions, fallback order, warnings, and files that cannot be trusted."""

import errno
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from hedgerow.calibration.errors import MapFileError

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def fitted(w=1.0, n=500, signal="semantic", fitted_at=NOW):
    return FittedMap(PlattMap(w, 0.0), Provenance(n, 0.5, "0" * 64, signal, "m", fitted_at))


@pytest.fixture
def registry(tmp_path):
    return MapRegistry(tmp_path / "maps", clock=lambda: NOW)


def test_an_empty_registry_answers_with_the_identity(registry):
    active = registry.active(route="r", model="m")
    assert (active.map.kind, active.version, active.scope) == ("identity", None, "identity")


def test_fallback_is_exact_then_model_then_route_then_default(registry):
    for name, place in (("d", {}), ("r", {"route": "r"}), ("m", {"model": "m"}), ("x", {"route": "r", "model": "m"})):
        registry.add(name, fitted())
        registry.activate(name, **place)
    active = [registry.active(route=r, model=m) for r, m in (("r", "m"), ("q", "m"), ("r", "n"), ("q", "n"))]
    assert [(a.version, a.scope) for a in active] == [("x", "exact"), ("m", "model"), ("r", "route"), ("d", "default")]


def test_a_running_registry_notices_what_another_process_activates(registry):
    registry.add("one", fitted())
    assert registry.active(route="r", model="m").version is None
    MapRegistry(registry.folder).activate("one")
    assert registry.active(route="r", model="m").version == "one"


def test_versions_are_never_overwritten(registry):
    path = Path(registry.add("one", fitted(w=1.0)))
    before = path.read_bytes()
    with pytest.raises(MapFileError, match=r"one\.json: exists"):
        registry.add("one", fitted(w=2.0))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["one.json"]


@pytest.mark.parametrize("name", ["../one", "", "One", "a/b", ".hidden"])
def test_version_names_cannot_leave_the_folder(registry, name):
    with pytest.raises(MapFileError, match="version name"):
        registry.add(name, fitted())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("[" * 200_000, "nested too deep"),
        ("[]", "schema"),
        ('{"schema": 99}', "newer"),
        ('{"schema": 1}', "not a stored map"),
    ],
)
def test_a_damaged_or_newer_file_is_named_and_kept(registry, text, said):
    path = Path(registry.add("one", fitted()))
    registry.activate("one")
    path.write_text(text)
    with pytest.raises(MapFileError, match=said) as caught:
        MapRegistry(registry.folder).active(route="r", model="m")
    assert str(path) in str(caught.value)
    assert path.read_text() == text


def test_a_damaged_list_of_active_maps_stops_activation(registry):
    registry.add("one", fitted())
    path = registry.folder / "active.json"
    path.write_text(json.dumps({"schema": 1, "active": [{"route": 1, "model": None, "version": "one"}]}))
    with pytest.raises(MapFileError, match=r"active\.json"):
        registry.activate("one")


def test_old_small_and_foreign_maps_draw_warnings(registry):
    registry.add("old", fitted(n=50, fitted_at=NOW - timedelta(days=200)))
    registry.activate("old")
    assert len(registry.active(route="r", model="m", signal="semantic").warnings) == 2
    other = registry.active(route="r", model="m", signal="token")
    assert other.version is None
    assert "fitted for the signal semantic" in other.warnings[0]


def test_weights_of_a_combined_signal_are_kept_with_their_map(registry):
    plain = fitted()
    registry.add("both", FittedMap(plain.map, plain.provenance, {"bias": 0.5, "semantic": 1.0, "token": 0.25}))
    assert MapRegistry(registry.folder).load("both").weights == {"bias": 0.5, "semantic": 1.0, "token": 0.25}


def test_maps_of_two_signals_are_active_at_one_place(registry):
    """Whole answers and the claims of long ones each have their own; a new one takes the place of its own signal's only."""
    for name, signal in (("answers", "semantic"), ("claims", "consistency"), ("newer", "semantic")):
        registry.add(name, fitted(signal=signal))
        registry.activate(name, route="r")
    found = {s: registry.active(route="r", model="m", signal=s) for s in ("semantic", "consistency")}
    assert {signal: active.version for signal, active in found.items()} == {
        "semantic": "newer",
        "consistency": "claims",
    }
    assert [active.warnings for active in found.values()] == [(), ()]
    assert sorted(a.version for a in registry.assignments()) == ["claims", "newer"]


class Failing:
    """A file whose text cannot be flushed."""

    def __init__(self, file, number):
        self.file, self.number = file, number

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, text):
        return self.file.write(text[: len(text) // 2])

    def flush(self):
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("operation", ["open", "fdopen", "fsync", "link", "replace", "mkdir"])
@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EROFS", "EPIPE", "EACCES", "ENOENT"])
def test_a_write_that_fails_leaves_nothing_and_can_be_repeated(registry, monkeypatch, operation, error):
    """The maps that were there are as they were, no half of a file stays, and with the disk well again the same calls succeed."""
    if operation != "mkdir":
        registry.add("old", fitted())
        registry.activate("old")
    number, real = getattr(errno, error), getattr(os, operation)

    def failing(*rest, **more):
        if operation == "fdopen":
            return Failing(real(*rest, **more), number)
        raise OSError(number, os.strerror(number))

    def work():
        registry.add("new", fitted())
        registry.activate("new")

    before = {path: path.read_bytes() for path in registry.folder.rglob("*") if path.is_file()}
    with monkeypatch.context() as ill:
        ill.setattr(os, operation, failing)
        with pytest.raises(OSError) as raised:
            work()
        assert raised.value.errno == number
    after = {path: path.read_bytes() for path in registry.folder.rglob("*") if path.is_file()}
    after.pop(registry.folder / "maps" / "new.json", None)  # whole, if only its activation failed
    assert after == before
    if (registry.folder / "maps" / "new.json").exists():
        registry.activate("new")
    else:
        work()
    assert registry.active(route="r", model="m").version == "new"
