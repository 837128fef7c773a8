"""Calibration maps: frozen values that move the mean of a Beta and keep its concentration.

A map has `means` for arrays and `apply` for one request. `to_dict` and `map_from_dict` are its JSON form. How maps are
fitted stands in `calibration.fitting`; where they are kept, in `calibration.registry`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, isfinite, log
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from calibration.arrays import FloatArray, parameters, probabilities, same_shape
from calibration.beta import PARAMETER_FLOOR, Beta
from calibration.errors import RangeError

LOG_ODDS_LIMIT = 16.118095550958317
"""Log-odds are taken within +-logit(1 - 1e-7). Ten unanimous samples give 10 : 1e-6, a mean of 1 - 1e-7; where the 1e-6 floor
puts a mean beyond that (more samples) it says nothing that the samples said."""


@runtime_checkable
class CalibrationMap(Protocol):
    """What a map offers: a name, its effect on one Beta and on many means, and its JSON form."""

    @property
    def kind(self) -> str:
        """Short name: "platt", "isotonic", ..."""
        ...

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta: the mean mapped, the concentration kept (RALC 4.1)."""
        ...

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means of raw means in [0, 1], of the same shape."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """A JSON object that `map_from_dict` turns back into an equal map."""
        ...


def log_odds(mean: ArrayLike) -> FloatArray:
    """ln(m / (1 - m)) of means in [0, 1], limited to +-`LOG_ODDS_LIMIT`.

    Examples
    --------
    >>> log_odds([0.0, 0.5, 0.9]).round(4).tolist()
    [-16.1181, 0.0, 2.1972]
    """
    limited: FloatArray = np.clip(special.logit(probabilities("mean", mean)), -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT)
    return limited


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


def _limited_log_odds(raw: Beta) -> float:
    return max(-LOG_ODDS_LIMIT, min(LOG_ODDS_LIMIT, log(raw.alpha / raw.beta)))


def _from_log_odds(log_odds_value: float, concentration: float) -> Beta:
    """Beta of this mean, 1 - mean taken without subtraction."""
    small = 1.0 / (1.0 + exp(abs(log_odds_value))) if abs(log_odds_value) < 700.0 else 0.0
    large = 1.0 - small
    alpha, beta = (large, small) if log_odds_value >= 0.0 else (small, large)
    return Beta.floored(alpha * concentration, beta * concentration)


def _finite(**values: float) -> None:
    for name, value in values.items():
        if not isfinite(value):
            raise RangeError(f"{name} must be finite, got {value!r}")


@dataclass(frozen=True, slots=True)
class IdentityMap:
    """No map yet: the raw confidence stands. What it passes on is called "uncalibrated" everywhere.

    Examples
    --------
    >>> IdentityMap().apply(Beta(9.0, 1.0))
    Beta(alpha=9.0, beta=1.0)
    """

    kind: ClassVar[str] = "identity"

    def apply(self, raw: Beta) -> Beta:
        """`raw` itself."""
        return raw

    def means(self, mean: ArrayLike) -> FloatArray:
        """The means themselves."""
        return probabilities("mean", mean)

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "identity"}."""
        return {"kind": self.kind}


@dataclass(frozen=True, slots=True)
class PlattMap:
    """m' = sigmoid(w logit(m) + b), RALC equation 1.

    Attributes
    ----------
    w : float
        Slope on the log-odds. 1 keeps, below 1 draws towards the middle, above 1 sharpens; negative turns the order round.
    b : float
        Shift of the log-odds; higher = more confident.

    Examples
    --------
    >>> PlattMap(w=0.5, b=0.0).apply(Beta(9.0, 1.0)).mean
    0.75
    """

    kind: ClassVar[str] = "platt"

    w: float
    b: float

    def __post_init__(self) -> None:
        _finite(w=self.w, b=self.b)

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        return _from_log_odds(self.w * _limited_log_odds(raw) + self.b, raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        calibrated: FloatArray = special.expit(self.w * log_odds(mean) + self.b)
        return calibrated

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "platt", "w": ..., "b": ...}."""
        return {"kind": self.kind, "w": self.w, "b": self.b}


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


KINDS: Mapping[str, type[CalibrationMap]] = {"identity": IdentityMap, "platt": PlattMap}
"""Every map by its `kind`."""
