"""`hedgerow routes`: show routes and change them at run time. Running processes follow within two seconds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Literal

import typer

from ...audit import operators
from ...audit.operators import Change
from ...errors import ConfigError
from ...monitoring.drift import examine
from ...monitoring.promises import examine as examine_promises
from ...outcomes import Uncovered
from ...services.active_map import stored_maps
from ...services.reload import describe, effective
from ...types import Json
from ..shared.messages import say, show_text, stop
from ..shared.options import CONFIG, ConfigPath, JsonForTable, Note
from ..shared.settings import named_route
from ..shared.store import open_audit, whoami

app = typer.Typer(no_args_is_help=True, help="See what routes do, switch their mode, activate a map or roll it back.")

Route = Annotated[str, typer.Argument(help="Its name in the configuration.")]
WishedMode = Literal["off", "shadow", "on", "configured"]


@app.command("list")
def list_routes(
    config: ConfigPath = CONFIG,
    as_json: JsonForTable = False,
) -> None:
    """Show every route's mode, map and health, and who set them."""
    with open_audit(config) as (settings, engine):
        states = operators.states(engine)
        running = effective(settings, states)
        maps = stored_maps(running, engine)
        active = {route.name: maps.of_route(route) for route in running.routes if route.calibrates}
        standing = {route.name: maps.standing_of(route) for route in running.routes}
        promises = examine_promises(engine, running, {name: now for name, now in standing.items() if now})
        described = describe(settings, running, states, examine(engine, running, active).health, active, promises)
    if as_json:
        show_text(json.dumps(described, indent=2))
        return
    for route in described:
        set_by = f"  set by {route['set_by']}" if route["set_by"] else ""
        say(f"{route['name']}  {_mode(route)}  map {_map(route)}  {_health(route['health'])}{set_by}")
        for reason in (route["health"] or {}).get("reasons", ()):
            say(f"  {reason}")
        for line in _promises(route["promises"]):
            say(f"  {line}")


def _mode(route: Json) -> str:
    """The mode, or both modes of a split.

    >>> _mode({"split": {"on": 0.1}, "mode": "shadow"})
    'on for 10%, else shadow'
    """
    return f"on for {route['split']['on']:.0%}, else {route['mode']}" if route["split"] else str(route["mode"])


def _promises(promises: Json | None) -> list[str]:
    """A line for each promise, or the reason why there is none."""
    if promises is None:
        return []
    lines = [promise["line"] for promise in promises["promises"]]
    if (reason := promises["reason"]) is not None:
        lines.append(f"nothing is promised now: {Uncovered(reason).sentence}")
    return lines


@app.command("set-mode")
def set_mode(route: Route, mode: WishedMode, config: ConfigPath = CONFIG, note: Note = None) -> None:
    """Switch a route to off, shadow or on; `configured` returns it to the configuration."""
    with open_audit(config) as (settings, engine):
        named_route(settings, route)
        wish = None if mode == "configured" else mode
        _say(operators.set_state(engine, route, "mode", wish, actor=whoami(), note=note))


@app.command()
def activate(
    route: Route,
    version: Annotated[str, typer.Argument(help="A stored map, `identity`, or `configured`.")],
    config: ConfigPath = CONFIG,
    note: Note = None,
) -> None:
    """Use a stored map for a route from now on."""
    with open_audit(config) as (settings, engine):
        wish = None if version == "configured" else version
        try:
            stored_maps(settings, engine).check(named_route(settings, route), wish)
        except ConfigError as error:
            stop(str(error))
        _say(operators.set_state(engine, route, "map", wish, actor=whoami(), note=note))


@app.command()
def rollback(route: Route, config: ConfigPath = CONFIG, note: Note = None) -> None:
    """Return a route to its previous map; a second time to the one before."""
    with open_audit(config) as (settings, engine):
        named_route(settings, route)
        change = operators.roll_back(engine, route, actor=whoami(), note=note)
    if change is None:
        stop(f"route {route} has had no other map")
    _say(change)


@app.command("clear-alarms")
def clear_alarms(route: Route, config: ConfigPath = CONFIG, note: Note = None) -> None:
    """Clear a route's alarms; its tests restart with later data."""
    with open_audit(config) as (settings, engine):
        named_route(settings, route)
        cleared = operators.clear_alarms(engine, route, actor=whoami(), note=note)
    say(f"{route}: {cleared} alarms cleared")


@app.command()
def changes(
    route: Annotated[str | None, typer.Option(help="This route only.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number.")] = 20,
    config: ConfigPath = CONFIG,
) -> None:
    """Show changes by operators, newest first."""
    with open_audit(config) as (_, engine):
        history = operators.read_changes(engine, route=route, limit=limit)
    for change in history:
        _say(change)
    if not history:
        say("nothing was changed yet")


def _say(change: Change) -> None:
    when = datetime.fromtimestamp(change.created_at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    note = f"  ({change.note})" if change.note else ""
    states = f"{change.before or 'as configured'} -> {change.after or 'as configured'}"
    if change.route is None and change.before is None:  # changes of keys and purges have no previous value
        states = change.after or ""
    say(f"{when} UTC  {change.actor}  {change.route or 'all routes'}: {change.what} {states}{note}")


def _map(route: Json) -> str:
    """The configured map, and for `auto` the active maps by model."""
    active = {model: version or "none" for model, version in route["active_maps"].items()}
    if route["map"] != "auto" or not active:
        return str(route["map"])
    return "auto: " + ", ".join(f"{version} for {model}" if model else version for model, version in active.items())


def _health(health: dict[str, object] | None) -> str:
    if health is None:
        return "not watched"
    error = health["smooth_ece"]
    figures = f", smooth ECE {error:.3f} on {health['n_verdicts']} verdicts" if error is not None else ""
    counting = f"; {health['counting']}" if health["counting"] else ""
    return f"{health['status']}{figures}{counting}"
