"""`hedgerow maps`: which maps are stored, which is active where, and how two maps differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ....calibration import FittedMap, MapRegistry
from ....calibration.errors import CalibrationError
from ....calibration.metrics.table import HEADLINE
from ....calibration.registry import read_file
from ..shared.messages import say, show_text, stop
from ..shared.options import CONFIG, ConfigPath, JsonForTable
from ..shared.registry import check_route, map_registry

app = typer.Typer(no_args_is_help=True, help="List, show, import, activate and compare stored calibration maps.")

_COLUMNS = ("map", "kind", "signal", "fitted", "right", "generalised ECE", "FD, nats", "smooth ECE", "active for")
_SHOWN = 6
"""Values of a list that are shown one by one."""
Named = Annotated[str, typer.Argument(help="Its name, as `hedgerow maps list` shows it.")]
Folder = Annotated[
    Path | None, typer.Option(help="A folder of maps. Unset: the audit store and the folder of the configuration.")
]


@app.command("list")
def list_maps(
    folder: Folder = None,
    config: ConfigPath = CONFIG,
    as_json: JsonForTable = False,
) -> None:
    """List stored maps and where they are active."""
    with map_registry(folder, config) as registry:
        rows = [_row(registry, version) for version in registry.versions()]
    if as_json:
        show_text(json.dumps(rows, indent=2))
    elif not rows:
        say(f"no maps yet, neither in {registry.folder} nor in the audit store; hedgerow fit makes one")
    else:
        _print_list(rows)


@app.command()
def show(version: Named, folder: Folder = None, config: ConfigPath = CONFIG) -> None:
    """Print a stored map and its provenance as JSON."""
    with map_registry(folder, config) as registry:
        show_text(json.dumps(_load(registry, version).to_dict(), indent=2))


@app.command("import")
def import_maps(
    files: Annotated[
        list[Path], typer.Argument(help="Map files, as `hedgerow fit` and `hedgerow maps show` write them.")
    ],
    config: ConfigPath = CONFIG,
) -> None:
    """Copy map files into the audit store, under the names of the files, so that every process serves them."""
    with map_registry(None, config, create=True) as registry:
        for file in files:
            say(f"{file.stem}: imported into {registry.add(file.stem, read_file(file))}")


@app.command()
def activate(
    version: Named,
    route: Annotated[str | None, typer.Option(help="For this route only.")] = None,
    model: Annotated[str | None, typer.Option(help="For this model only.")] = None,
    folder: Folder = None,
    config: ConfigPath = CONFIG,
) -> None:
    """Use a stored map from now on: for a route, a model, both, or (without either) as the default."""
    check_route(route, folder, config)
    with map_registry(folder, config, create=True) as registry:
        registry.activate(version, route=route, model=model)
    say(f"{version} is active for {_place(route, model)}")


@app.command()
def diff(first: Named, second: Named, folder: Folder = None, config: ConfigPath = CONFIG) -> None:
    """Show where two stored maps differ: the calibrated mean at ten raw means, and their parts; `maps show` has every digit."""
    with map_registry(folder, config) as registry:
        one, other = _load(registry, first), _load(registry, second)
    raw = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
    say(f"raw mean -> calibrated mean by {first}, by {second}")
    for mean, left, right in zip(raw, one.map.means(raw), other.map.means(raw), strict=True):
        say(f"  {mean:.2f} -> {left:.3f}, {right:.3f} ({right - left:+.3f})")
    for name, before, after in _differences(one, other):
        say(f"{name}: {_readable(before)} -> {_readable(after)}")


def _print_list(rows: list[dict[str, Any]]) -> None:
    """Print an aligned list without line breaks, so that names can be copied in a narrow terminal."""
    lines = [_COLUMNS]
    for row in rows:
        figures = (_before_after(row["cross_validation"].get(name)) for name in HEADLINE)
        right = f"{row['accuracy']:.0%} of {row['n']}"
        lines.append(
            (
                row["version"],
                row["kind"],
                row["signal"] or "-",
                row["fitted_at"][:10],
                right,
                *figures,
                "; ".join(row["active"]),
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        say("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    say("figures: before -> after the map, on answers that it did not see (cross-validation)")


def _before_after(held: dict[str, float] | None) -> str:
    return f"{held['before']:.3f} -> {held['after']:.3f}" if held else "-"


def _load(registry: MapRegistry, version: str) -> FittedMap:
    try:
        return registry.load(version)
    except CalibrationError as error:
        stop(str(error))


def _row(registry: MapRegistry, version: str) -> dict[str, Any]:
    fitted = _load(registry, version)
    try:
        places = [_place(a.route, a.model) for a in registry.assignments() if a.version == version]
    except CalibrationError as error:
        stop(str(error))
    made = fitted.provenance
    return {
        "version": version,
        "kind": fitted.map.kind,
        "n": made.n,
        "accuracy": made.accuracy,
        "signal": made.signal,
        "model": made.model,
        "fitted_at": made.fitted_at.isoformat(),
        "active": places,
        "cross_validation": {name: dict(held) for name, held in made.cross_validation.items()},
    }


def _place(route: str | None, model: str | None) -> str:
    if route is None and model is None:
        return "everything (the default)"
    return ", ".join(f"{word} {name}" for word, name in (("route", route), ("model", model)) if name is not None)


def _differences(one: FittedMap, other: FittedMap) -> list[tuple[str, object, object]]:
    """Entries of maps and provenances that differ, flat."""
    left, right = _flat(one.to_dict()), _flat(other.to_dict())
    return [(key, left.get(key), right.get(key)) for key in {**left, **right} if left.get(key) != right.get(key)]


def _readable(value: object) -> object:
    """Four digits of a number, the length of a long list; "none" where only the other map has the part."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and len(value) > _SHOWN:
        return f"{len(value)} values"
    if isinstance(value, list):
        return ", ".join(str(_readable(item)) for item in value)
    return "none" if value is None else value


def _flat(content: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in content.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
