"""A route's map on the dashboard: its origin, parameters, age and health."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...calibration import ActiveMap, FittedMap
from ...calibration.registry import UNCALIBRATED
from ..audit.operators import Alarm
from ..config import Route
from ..monitoring.diagrams import Points, map_curve
from ..monitoring.drift import RouteHealth
from .render import alarm_words


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


def card(maps: Mapping[str, ActiveMap], route: Route, alarms: Sequence[Alarm], health: RouteHealth | None) -> MapCard:
    """The route's active map and its problems: the drift watcher's report, or, before it has examined this map, uncleared alarms and warnings of
    the registry. With several maps by model, the one in the watcher's report.
    """
    of_maps = (alarm for alarm in alarms if not alarm.kind.startswith("promise"))
    concerns = tuple(alarm_words(alarm) for alarm in of_maps if alarm.route == route.name)
    reported = (active for active in maps.values() if health is not None and active.version == health.map_id)
    active = next(reported, next(iter(maps.values()), UNCALIBRATED))
    if active.fitted is None:
        return MapCard(None, None, None, [], (*concerns, *active.warnings))
    looked_at = health is not None and health.map_id == active.version
    concerns = health.reasons if health is not None and looked_at else (*concerns, *active.warnings)
    age = time.time() - active.fitted.provenance.fitted_at.timestamp()
    return MapCard(active.version, active.fitted, age, map_curve(active.map)[::4], concerns)
