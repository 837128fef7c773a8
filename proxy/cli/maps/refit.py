"""`hedgerow fit --from-audit`: a new map from a route's own verdicts, compared with the map in use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from ....calibration.errors import CalibrationError
from ....calibration.refit import DECIDING
from ...audit.engine import Engine, transaction
from ...audit.operators import note_change, set_state, states
from ...config import Settings
from ...lab.fitting import NoVerdicts, RouteRefit, refit_route
from ...services.active_map import stored_maps
from ...services.reload import effective
from ..shared.messages import show_text, stop
from ..shared.settings import named_route
from ..shared.showing import show, terminal
from ..shared.store import open_audit, whoami


def refit_from_audit(config: Path, route: str, **how: Any) -> RouteRefit:
    """A new map from a route's verdicts, stored; `how` as of `refit_route`."""
    with open_audit(config) as (settings, engine):
        chosen = named_route(effective(settings, states(engine)), route)
        try:
            return refit_route(engine, stored_maps(settings, engine), chosen, **how)
        except (NoVerdicts, CalibrationError, OSError) as error:
            stop(f"route {route}: {error}")


def finish_refit(config: Path, refitted: RouteRefit, *, activate: bool, as_json: bool) -> None:
    """Activate the new map where that is asked for and it beats the map in use beyond noise, and print the comparison."""
    used = activate and refitted.result.is_better
    if used:
        with open_audit(config) as (settings, engine):
            _activate(settings, engine, refitted)
    document = refitted.document(activated=used)
    show_text(json.dumps(document, indent=2)) if as_json else _print(document)
    if activate and not used:
        stop(
            f"{refitted.version} is stored but not activated: it does not beat {refitted.in_use or 'no map'} beyond noise; "
            f"more verdicts may show that it does, or use it all the same: hedgerow routes activate {refitted.route} {refitted.version}",
            code=1,
        )


def _activate(settings: Settings, engine: Engine, refitted: RouteRefit) -> None:
    """A map of whole answers becomes the route's; one of claims is assigned to it beside that, and the change is noted all the same."""
    if not refitted.claims:
        set_state(engine, refitted.route, "map", refitted.version, actor=whoami(), note=refitted.reason)
        return
    route = named_route(settings, refitted.route)
    stored_maps(settings, engine).registry.activate(refitted.version, route=route.name, model=route.model)
    with transaction(engine, "write") as connection:
        note_change(
            connection,
            actor=whoami(),
            what="claims map",
            route=route.name,
            before=refitted.in_use,
            after=refitted.version,
            note=refitted.reason,
        )


def _print(document: dict[str, Any]) -> None:
    console = terminal()
    console.print(
        f"{document['version']}: fitted on {document['n_fitted']} verdicts of route {document['route']}, compared on the "
        f"{document['n_compared']} after them with {document['in_use'] or 'no map'}",
        highlight=False,
        soft_wrap=True,
    )
    table = Table("metric", "in use", "new", "difference (95 %)", box=None, pad_edge=False)
    for metric, held in document["metrics"].items():
        low, high = held["difference_interval"]
        change = f"{held['difference']:+,.3f} ({low:+,.3f} to {high:+,.3f})"
        table.add_row(metric, f"{held['active']:.3f}", f"{held['new']:.3f}", change)
    show(table, console)
    if document["grades_left_out"]:
        console.print(f"{document['grades_left_out']} grades between right and wrong were left out", highlight=False)
    for note in document["notes"]:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)
    verdict = "beats" if document["is_better"] else "does not beat"
    if document["one_key"] is not None:
        verdict = f"without the verdicts of key {document['one_key']!r}, on which none may rest alone, does not beat"
    deciding = f"{verdict} what is in use beyond noise, by the {DECIDING.replace('_', ' ')}"
    console.print(f"{deciding}{'; activated' if document['activated'] else ''}", highlight=False)
