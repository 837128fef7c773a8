"""The mathematics of confidence: Beta distributions, divergences, metrics, calibration maps, fitting.

Pure functions over numpy arrays. No HTTP, no model, no database, no clock; files are touched by the map registry alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibration.beta import Beta
    from calibration.divergence import faithfulness_divergence
    from calibration.fitted import FittedMap, Provenance
    from calibration.maps import CalibrationMap, IdentityMap, PlattMap
    from calibration.registry import ActiveMap, MapRegistry
    from calibration.wasserstein import quantile_nodes, w1_exact

_HOMES = {
    "ActiveMap": "calibration.registry",
    "Beta": "calibration.beta",
    "CalibrationMap": "calibration.maps",
    "FittedMap": "calibration.fitted",
    "IdentityMap": "calibration.maps",
    "MapRegistry": "calibration.registry",
    "PlattMap": "calibration.maps",
    "Provenance": "calibration.fitted",
    "faithfulness_divergence": "calibration.divergence",
    "quantile_nodes": "calibration.wasserstein",
    "w1_exact": "calibration.wasserstein",
}
"""Where each name lives. They are imported when first asked for: a proxy that only passes requests on pays for none of them."""

__all__ = [
    "ActiveMap",
    "Beta",
    "CalibrationMap",
    "FittedMap",
    "IdentityMap",
    "MapRegistry",
    "PlattMap",
    "Provenance",
    "faithfulness_divergence",
    "quantile_nodes",
    "w1_exact",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
