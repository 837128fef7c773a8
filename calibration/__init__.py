"""The mathematics of confidence: Beta distributions, divergences, metrics, calibration maps, fitting.

Pure functions over numpy arrays. No HTTP, no model, no database, no clock; files are touched by the map registry alone.
"""

from calibration.beta import Beta
from calibration.divergence import faithfulness_divergence
from calibration.fitted import FittedMap, Provenance
from calibration.maps import CalibrationMap, IdentityMap, PlattMap
from calibration.registry import ActiveMap, MapRegistry
from calibration.wasserstein import quantile_nodes, w1_exact

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
