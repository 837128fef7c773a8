"""Calibration maps: frozen values that move the mean of a Beta and keep its concentration.

A map has `means` for arrays and `apply` for one request. `to_dict` and `map_from_dict` are its JSON form. How maps are
fitted stands in `hedgerow.calibration.fitting`; where they are kept, in `hedgerow.calibration.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, parameters, same_shape
from hedgerow.calibration.beta import PARAMETER_FLOOR
from hedgerow.calibration.errors import RangeError
from hedgerow.calibration.maps.base import LOG_ODDS_LIMIT, CalibrationMap, IdentityMap, log_odds
from hedgerow.calibration.maps.parametric import BetaCalibrationMap, PlattMap, TemperatureMap
from hedgerow.calibration.maps.steps import HistogramMap, IsotonicMap, VennAbersMap

__all__ = [
    "KINDS",
    "LOG_ODDS_LIMIT",
    "BetaCalibrationMap",
    "CalibrationMap",
    "HistogramMap",
    "IdentityMap",
    "IsotonicMap",
    "PlattMap",
    "TemperatureMap",
    "VennAbersMap",
    "apply_map",
    "log_odds",
    "map_from_dict",
]

KINDS: Mapping[str, type[CalibrationMap]] = {
    "identity": IdentityMap,
    "platt": PlattMap,
    "temperature": TemperatureMap,
    "isotonic": IsotonicMap,
    "histogram": HistogramMap,
    "beta": BetaCalibrationMap,
    "venn-abers": VennAbersMap,
}
"""Every map by its `kind`."""


def apply_map(calibration_map: CalibrationMap, alpha: ArrayLike, beta: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """A map over arrays of Betas: calibrated alphas and betas, both lifted to the 1e-6 floor.

    Examples
    --------
    >>> alpha, beta = apply_map(PlattMap(w=0.5, b=0.0), [9.0], [1.0])
    >>> alpha.round(4).tolist(), beta.round(4).tolist()
    ([7.5], [2.5])
    """
    a, b = same_shape(alpha=parameters("alpha", alpha), beta=parameters("beta", beta))
    concentration = a + b
    mean = calibration_map.means(a / concentration)
    return np.maximum(mean * concentration, PARAMETER_FLOOR), np.maximum((1.0 - mean) * concentration, PARAMETER_FLOOR)


def map_from_dict(content: Mapping[str, Any]) -> CalibrationMap:
    """The map that `to_dict` wrote.

    Raises
    ------
    RangeError
        If the kind is unknown or a parameter out of range.
    KeyError, TypeError
        If a parameter is missing, superfluous or of the wrong kind.
    """
    parameters_of = {key: value for key, value in content.items() if key != "kind"}
    if content["kind"] not in KINDS:
        raise RangeError(f"unknown kind of map {content['kind']!r}; there are {', '.join(KINDS)}")
    return KINDS[content["kind"]](**parameters_of)
