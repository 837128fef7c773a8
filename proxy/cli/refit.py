"""`hedgerow fit --from-audit`: a new map from a route's own verdicts, compared with the map in use."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hedgerow.proxy.cli.common import open_audit, stop
from hedgerow.proxy.cli.times import moment
from hedgerow.proxy.services.routes import effective

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hedgerow.calibration import ActiveMap
    from hedgerow.calibration.refit import Refit
    from hedgerow.proxy.config import Route
    from hedgerow.proxy.services.active_map import ActiveMaps


def fit_from_audit(
    route: str,
    *,
    kind: str,
    since: str | None,
    train_fraction: float,
    version: str | None,
    activate: bool,
    actor: str | None,
    as_json: bool,
    config: Path,
    seed: int = 0,
) -> None:
    """Fit on the first part of a route's verdicts, report on the rest; activate only what beats the map in use beyond noise."""
    import numpy as np

    from hedgerow.calibration.errors import CalibrationError
    from hedgerow.calibration.refit import refit
    from hedgerow.proxy.audit.labelled import count_by_map, read_labelled
    from hedgerow.proxy.audit.operators import set_state, states
    from hedgerow.proxy.services.active_map import stored_maps

    with open_audit(config) as (settings, engine):
        found = next((r for r in effective(settings, states(engine)).routes if r.name == route), None)
        if found is None:
            stop(f"there is no route {route!r}; there are {', '.join(r.name for r in settings.routes)}")
        start = moment(since) if since else 0.0
        told = read_labelled(engine, route=route, any_map=True, signal=found.signal, asked_since=start)
        order = np.argsort(told.asked_at, kind="stable")
        order = order[(told.correct[order] == 0.0) | (told.correct[order] == 1.0)]
        if order.size == 0:
            stop(f"route {route}: no verdict on an answer with the signal {found.signal} in that time")
        maps = stored_maps(settings, engine)
        try:
            active = _active(found, maps, count_by_map(engine, route=route, since=start))
            result = refit(
                told.raw_alpha[order], told.raw_beta[order], told.correct[order], active.map,
                kind=kind, train_fraction=train_fraction, rng=np.random.default_rng(seed), signal=found.signal,
                model=found.model or "",
            )  # fmt: skip
            made = result.fitted.provenance
            name = version or f"{kind}-{route}-{made.fitted_at:%Y%m%d-%H%M%S}-{made.data_hash[:8]}"
            maps.registry.add(name, result.fitted)
        except (CalibrationError, OSError) as error:
            stop(f"route {route}: {error}")
        used = activate and result.is_better
        if used:
            set_state(engine, route, "map", name, actor=actor or getpass.getuser(), note=_in_words(result))
    document = _document(route, name, active.version, result, graded=told.correct.size - order.size, activated=used)
    typer.echo(json.dumps(document, indent=2)) if as_json else _print(document)
    if activate and not used:
        stop(f"{name} is stored but not activated: it does not beat {active.version or 'no map'} beyond noise", code=1)


def _active(route: Route, maps: ActiveMaps, answers: Mapping[str | None, int]) -> ActiveMap:
    """The map in use. Of several by model, the one that most answers were calibrated with."""
    return max(maps.of_route(route).values(), key=lambda active: answers.get(active.version, 0))


def _document(
    route: str, name: str, in_use: str | None, result: Refit, *, graded: int, activated: bool
) -> dict[str, Any]:
    metrics = {
        metric: {
            "active": result.active[metric],
            "new": result.new[metric],
            "difference": interval.estimate,
            "difference_interval": [interval.low, interval.high],
        }
        for metric, interval in result.difference.items()
    }
    return {
        "route": route,
        "version": name,
        "in_use": in_use,
        "n_fitted": result.fitted.provenance.n,
        "n_compared": result.n,
        "grades_left_out": graded,
        "is_better": result.is_better,
        "activated": activated,
        "metrics": metrics,
        "notes": list(result.fitted.provenance.notes),
    }


def _in_words(result: Refit) -> str:
    from hedgerow.calibration.refit import DECIDING

    change = result.difference[DECIDING]
    return f"FD {change.estimate:+.3f} nats ({change.low:+.3f} to {change.high:+.3f}) on {result.n} answers"


def _print(document: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(
        f"{document['version']}: fitted on {document['n_fitted']} verdicts of route {document['route']}, compared on the "
        f"{document['n_compared']} after them with {document['in_use'] or 'no map'}",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("metric", "in use", "new", "difference (95 %)", box=None, pad_edge=False)
    for metric, held in document["metrics"].items():
        low, high = held["difference_interval"]
        change = f"{held['difference']:+.3f} ({low:+.3f} to {high:+.3f})"
        table.add_row(metric, f"{held['active']:.3f}", f"{held['new']:.3f}", change)
    console.print(table)
    if document["grades_left_out"]:
        console.print(f"{document['grades_left_out']} grades between right and wrong were left out", highlight=False)
    for note in document["notes"]:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)
    verdict = "beats what is in use" if document["is_better"] else "does not beat what is in use beyond noise"
    console.print(f"{verdict}{'; activated' if document['activated'] else ''}", highlight=False)
