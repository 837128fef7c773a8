"""The mathematics of confidence: Beta distributions, divergences, metrics, calibration maps, fitting.

Pure functions over numpy arrays. No HTTP, no model, no database, no clock; only the map registry touches files.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .beta import Beta
    from .divergence import faithfulness_divergence
    from .fitted import FittedMap, Provenance
    from .maps.base import CalibrationMap, IdentityMap
    from .maps.parametric import PlattMap
    from .metrics.scoring import expected_brier, expected_nll
    from .registry import ActiveMap, MapRegistry
    from .wasserstein import quantile_nodes, w1_exact

_HOMES = {
    "ActiveMap": "hedgerow.calibration.registry",
    "Beta": "hedgerow.calibration.beta",
    "CalibrationMap": "hedgerow.calibration.maps.base",
    "FittedMap": "hedgerow.calibration.fitted",
    "IdentityMap": "hedgerow.calibration.maps.base",
    "MapRegistry": "hedgerow.calibration.registry",
    "PlattMap": "hedgerow.calibration.maps.parametric",
    "Provenance": "hedgerow.calibration.fitted",
    "expected_brier": "hedgerow.calibration.metrics.scoring",
    "expected_nll": "hedgerow.calibration.metrics.scoring",
    "faithfulness_divergence": "hedgerow.calibration.divergence",
    "quantile_nodes": "hedgerow.calibration.wasserstein",
    "w1_exact": "hedgerow.calibration.wasserstein",
}
"""The module of each name.

Names are imported on first use, so that a proxy that only relays requests does not load them.
"""

__all__ = [
    "ActiveMap",
    "Beta",
    "CalibrationMap",
    "FittedMap",
    "IdentityMap",
    "MapRegistry",
    "PlattMap",
    "Provenance",
    "expected_brier",
    "expected_nll",
    "faithfulness_divergence",
    "quantile_nodes",
    "w1_exact",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
