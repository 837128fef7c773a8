"""The map of a route as the dashboard shows it: where it comes from, what it does, how old it is, whether it still fits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hedgerow.calibration import FittedMap, MapRegistry
from hedgerow.calibration.errors import CalibrationError
from hedgerow.proxy.config import Route
from hedgerow.proxy.dashboard.render import alarm_words
from hedgerow.proxy.lab.report.figures import Points, map_curve
from hedgerow.proxy.monitoring.drift import RouteHealth
from hedgerow.proxy.types import Json


@dataclass(frozen=True, slots=True)
class MapCard:
    """A route's active map. `fitted` is None for the identity: the route is uncalibrated."""

    version: str | None
    fitted: FittedMap | None
    age_s: float | None
    curve: Points
    concerns: tuple[str, ...]

    @property
    def parameters(self) -> Mapping[str, float]:
        """The numbers of a parametric map."""
        described = self.fitted.map.to_dict() if self.fitted else {}
        return {name: value for name, value in described.items() if isinstance(value, float)}


def card(folder: Path, route: Route, alarms: Sequence[Json], health: RouteHealth | None) -> MapCard:
    """The map that the route's requests are calibrated with, and what speaks against it: what the drift watcher says, or, where it has
    not looked yet, standing alarms and what the registry warns of.
    """
    concerns = tuple(alarm_words(alarm) for alarm in alarms if alarm["route"] == route.name)
    if route.map == "identity":
        return MapCard(None, None, None, [], concerns)
    registry = MapRegistry(folder)
    try:
        active = registry.active(route=route.name, model=route.model or "", signal=route.signal)
        version = active.version if route.map == "auto" else route.map
        if version is None:
            return MapCard(None, None, None, [], (*concerns, *active.warnings))
        fitted = registry.load(version)
    except CalibrationError as error:
        return MapCard(None, None, None, [], (*concerns, str(error)))
    concerns = health.reasons if health is not None else (*concerns, *active.warnings)
    age = time.time() - fitted.provenance.fitted_at.timestamp()
    return MapCard(version, fitted, age, map_curve(fitted.map)[::4], concerns)
