"""The map of a route as the dashboard shows it: where it comes from, what it does, how old it is, whether it still fits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hedgerow.calibration import ActiveMap, FittedMap
from hedgerow.calibration.registry import UNCALIBRATED
from hedgerow.proxy.audit.operators import Alarm
from hedgerow.proxy.config import Route
from hedgerow.proxy.dashboard.render import alarm_words
from hedgerow.proxy.monitoring.diagrams import Points, map_curve
from hedgerow.proxy.monitoring.drift import RouteHealth


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
    """The map that the route's requests are calibrated with, and what speaks against it: what the drift watcher says, or, where it has
    not looked at this map yet, standing alarms and what the registry warns of. Of several maps by model, the one that the watcher reports on.
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
