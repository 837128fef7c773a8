"""The base class of calibration maps, the log-odds that most of them use, and maps applied to many answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import exp, isfinite, log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray, parameters, probabilities, same_shape
from ..beta import PARAMETER_FLOOR, Beta
from ..errors import RangeError
from ..kinds import choices
from . import KINDS

LOG_ODDS_LIMIT = 16.118095550958317
"""Log-odds are taken within +-logit(1 - 1e-7). Ten unanimous samples give 10 : 1e-6, a mean of 1 - 1e-7; where the 1e-6 floor
puts a mean beyond that (more samples), the excess carries no information."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A map, the standard errors of its parameters, and remarks of the fit."""

    map: CalibrationMap
    standard_errors: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class CalibrationMap(ABC):
    """A frozen dataclass that maps the mean of a Beta and keeps its concentration (RALC 4.1). Its fields are its parameters.

    Attributes
    ----------
    kind : str
        Its name in `hedgerow.calibration.maps.KINDS`.
    """

    __slots__ = ()

    kind: ClassVar[str]

    @abstractmethod
    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""

    @abstractmethod
    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means of raw means in [0, 1], of the same shape."""

    @classmethod
    @abstractmethod
    def learn(cls, *args: Any, **options: Any) -> Learned:
        """Learn a map of this kind from (mean, correct), arrays of shape (n,), and the kind's own options. Every kind takes `weights`,
        shape (n,), >= 0: how many records each one stands for.

        Raises
        ------
        NotEnoughData, NegativeSlope
            If the data do not determine the map, or would turn the order of confidence round.
        """

    def to_dict(self) -> dict[str, Any]:
        """A JSON object, {"kind": ..., parameter: value, ...}, that `map_from_dict` turns back into an equal map."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]  # kinds are dataclasses
        return {"kind": self.kind} | {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}


def map_class(kind: str) -> type[CalibrationMap]:
    """The class of a kind of map.

    Raises
    ------
    RangeError
        If there is no such kind.
    """
    if kind not in KINDS:
        raise RangeError(f"unknown kind of map {kind!r}; use {choices(KINDS)}")
    loaded: type[CalibrationMap] = KINDS[kind].load()
    return loaded


def map_from_dict(content: Mapping[str, Any]) -> CalibrationMap:
    """The map that `to_dict` wrote.

    Raises
    ------
    RangeError
        If the kind is unknown or a parameter out of range.
    KeyError, TypeError
        If a parameter is missing, superfluous or of the wrong type.
    """
    return map_class(content["kind"])(**{key: value for key, value in content.items() if key != "kind"})


def apply_map(calibration_map: CalibrationMap, alpha: ArrayLike, beta: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Calibrated alphas and betas of arrays of Betas, both lifted to the 1e-6 floor.

    Examples
    --------
    >>> from hedgerow.calibration import PlattMap
    >>> alpha, beta = apply_map(PlattMap(w=0.5, b=0.0), [9.0], [1.0])
    >>> alpha.round(4).tolist(), beta.round(4).tolist()
    ([7.5], [2.5])
    """
    a, b = same_shape(alpha=parameters("alpha", alpha), beta=parameters("beta", beta))
    concentration = a + b
    mean = calibration_map.means(a / concentration)
    return np.maximum(mean * concentration, PARAMETER_FLOOR), np.maximum((1.0 - mean) * concentration, PARAMETER_FLOOR)


def log_odds(mean: ArrayLike, limit: float = LOG_ODDS_LIMIT) -> FloatArray:
    """ln(m / (1 - m)) of means in [0, 1], brought within +-`limit`.

    Examples
    --------
    >>> log_odds([0.0, 0.5, 0.9]).round(4).tolist()
    [-16.1181, 0.0, 2.1972]
    """
    limited: FloatArray = np.clip(special.logit(probabilities("mean", mean)), -limit, limit)
    return limited


def limited_log_odds(raw: Beta, limit: float = LOG_ODDS_LIMIT) -> float:
    """Log-odds ln(alpha / beta) brought within +-`limit`."""
    return max(-limit, min(limit, log(raw.alpha / raw.beta)))


def beta_from_log_odds(log_odds_value: float, concentration: float) -> Beta:
    """Beta of this mean, 1 - mean taken without subtraction."""
    small = 1.0 / (1.0 + exp(abs(log_odds_value))) if abs(log_odds_value) < 700.0 else 0.0
    large = 1.0 - small
    alpha, beta = (large, small) if log_odds_value >= 0.0 else (small, large)
    return Beta.floored(alpha * concentration, beta * concentration)


def require_finite(**values: float) -> None:
    """Raise a `RangeError` that names the first parameter that is not finite."""
    for name, value in values.items():
        if not isfinite(value):
            raise RangeError(f"{name} must be finite, got {value!r}")


# The identity map, of routes without a map.


@dataclass(frozen=True, slots=True)
class IdentityMap(CalibrationMap):
    """The raw confidence unchanged. What it passes on is called "uncalibrated" everywhere.

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

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray, *, weights: FloatArray | None = None) -> Learned:
        """The identity; its provenance shows how good the raw confidence is."""
        return Learned(cls())
