"""What is said of routes, and what is checked before one is given a map: shared by the admin API and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.proxy.audit.operators import RouteState
from hedgerow.proxy.config import Route, Settings
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.types import Json

if TYPE_CHECKING:
    from hedgerow.proxy.monitoring.drift import RouteHealth


def effective(settings: Settings, states: Mapping[str, RouteState]) -> Settings:
    """The configuration with what operators have set on top: a route's mode, and the map that it uses."""
    routes = []
    for route in settings.routes:
        state = states.get(route.name)
        changed = {"mode": state.mode, "map": state.map_id} if state else {}
        routes.append(route.model_copy(update={key: value for key, value in changed.items() if value is not None}))
    return settings.model_copy(update={"routes": tuple(routes)})


def describe(
    configured: Settings, running: Settings, states: Mapping[str, RouteState], health: Mapping[str, RouteHealth]
) -> list[Json]:
    """Every route: mode and map as requests meet them and as configured, who set them, and the health of the map."""
    told = []
    in_use = {route.name: route for route in running.routes}
    for route in configured.routes:
        now = in_use.get(route.name, route)
        state = states.get(route.name)
        found = health.get(route.name)
        told.append(
            {
                "name": route.name,
                "mode": now.mode,
                "configured_mode": route.mode,
                "map": now.map,
                "configured_map": route.map,
                "set_by": state.actor if state else None,
                "set_at": state.updated_at if state else None,
                "health": found.to_dict() if found else None,
            }
        )
    return told


def check_map(folder: Path, route: Route, version: str | None) -> None:
    """Check that a route can use a map before it is told to.

    Raises:
        ConfigError: there is no such map, it cannot be read, or it was fitted for another signal.
    """
    if version is None or version in ("identity", "auto"):
        return
    from hedgerow.calibration import MapRegistry
    from hedgerow.calibration.errors import CalibrationError

    try:
        signal = MapRegistry(folder).load(version).provenance.signal
    except CalibrationError as error:
        raise ConfigError(str(error)) from error
    if signal not in ("", route.signal):
        raise ConfigError(
            f"map {version} was fitted for the signal {signal}; route {route.name} measures {route.signal}"
        )
