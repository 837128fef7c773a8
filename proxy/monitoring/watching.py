"""Maps and promises of all routes, examined by one process for all that share a store; the others read its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog
from pydantic import TypeAdapter, ValidationError

from ...calibration import ActiveMap
from ..audit import leases
from ..audit.operators import Engine
from ..config import Settings
from ..types import Standing
from . import drift, promises
from .drift import Inputs, RouteHealth
from .figures import ArmComparison, compare
from .promises import RoutePromises

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Watched:
    """How the map of each route does that may calibrate, the promises of each that makes any, and both arms of each that is split.

    `inputs` are the raw confidences, by route and map, that the next look need not read again.
    """

    health: dict[str, RouteHealth]
    promises: dict[str, RoutePromises]
    arms: dict[str, ArmComparison]
    inputs: dict[str, dict[str, Inputs]] = field(default_factory=dict)


_REPORT = TypeAdapter(Watched)


def examine(
    engine: Engine,
    settings: Settings,
    active: Mapping[str, Mapping[str, ActiveMap]],
    standing: Mapping[str, Standing],
) -> Watched:
    """Examine every route now, raise new alarms, and leave the report for the other processes.

    Args:
        active: each route's maps by model.
        standing: by route with promises, the certificate in use, or the reason why there is none.

    Raises:
        StoreError: the store cannot be used.
    """
    before = reported(engine)
    maps = drift.examine(engine, settings, active, before.inputs if before is not None else {})
    report = Watched(
        maps.health,
        promises.examine(engine, settings, standing),
        compare(engine, [route for route in settings.routes if route.split]),
        maps.inputs,
    )
    leases.publish(engine, "drift", _REPORT.dump_json(report).decode())
    return report


def reported(engine: Engine) -> Watched | None:
    """The last report of the process that has the duty; None before its first report, and if another version of the proxy wrote it.

    Raises:
        StoreError: the store cannot be read.
    """
    report = leases.published(engine, "drift")
    try:
        return _REPORT.validate_json(report) if report is not None else None
    except ValidationError:
        log.warning("drift_report_of_another_version")
        return None
