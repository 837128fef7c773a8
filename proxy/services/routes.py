"""Routes in effect: the configuration with operators' changes applied, and its description for admin API and command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..audit.operators import RouteState
from ..config import Settings
from ..types import Json

if TYPE_CHECKING:
    from ...calibration import ActiveMap
    from ..monitoring.drift import RouteHealth
    from ..monitoring.promises import RoutePromises


def effective(settings: Settings, states: Mapping[str, RouteState]) -> Settings:
    """The configuration with operators' changes applied: a route's mode and map."""
    routes = []
    for route in settings.routes:
        state = states.get(route.name)
        changed: Json = {"mode": state.mode, "map": state.map_id} if state else {}
        changed = {key: value for key, value in changed.items() if value is not None}
        if "mode" in changed:
            changed["split"] = None  # a mode set by an operator applies to every request
        routes.append(route.model_copy(update=changed))
    return settings.model_copy(update={"routes": tuple(routes)})


def describe(
    configured: Settings,
    running: Settings,
    states: Mapping[str, RouteState],
    health: Mapping[str, RouteHealth],
    maps: Mapping[str, Mapping[str, ActiveMap]],
    promises: Mapping[str, RoutePromises] | None = None,
) -> list[Json]:
    """Every route: mode and map in effect and as configured, the active maps by model ("": all other models), who set them, and the health of
    the map.
    """
    routes = []
    in_use = {route.name: route for route in running.routes}
    for route in configured.routes:
        now = in_use.get(route.name, route)
        state = states.get(route.name)
        report = health.get(route.name)
        routes.append(
            {
                "name": route.name,
                "mode": now.mode,
                "configured_mode": route.mode,
                "split": now.split.model_dump() if now.split else None,
                "map": now.map,
                "configured_map": route.map,
                "active_maps": {model: active.version for model, active in maps.get(route.name, {}).items()},
                "set_by": state.actor if state else None,
                "set_at": state.updated_at if state else None,
                "health": report.to_dict() if report else None,
                "promises": promised.to_dict() if (promised := (promises or {}).get(route.name)) else None,
            }
        )
    return routes
