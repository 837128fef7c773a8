"""Maps with a formula: Platt, temperature, beta calibration. All work on the log-odds of the mean."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log1p
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.beta import Beta
from hedgerow.calibration.errors import RangeError
from hedgerow.calibration.maps.base import (
    LOG_ODDS_LIMIT,
    beta_from_log_odds,
    limited_log_odds,
    log_odds,
    require_finite,
)


@dataclass(frozen=True, slots=True)
class PlattMap:
    """m' = sigmoid(w logit(m) + b), RALC equation 1, logit(m) brought within +-limit.

    Attributes
    ----------
    w : float
        Slope on the log-odds. 1 keeps, below 1 draws towards the middle, above 1 sharpens; negative turns the order round.
    b : float
        Shift of the log-odds; higher = more confident.
    limit : float
        > 0. Log-odds beyond it count as it: what the map was fitted with.

    Examples
    --------
    >>> PlattMap(w=0.5, b=0.0).apply(Beta(9.0, 1.0)).mean
    0.75
    """

    kind: ClassVar[str] = "platt"

    w: float
    b: float
    limit: float = LOG_ODDS_LIMIT

    def __post_init__(self) -> None:
        require_finite(w=self.w, b=self.b, limit=self.limit)
        if self.limit <= 0.0:
            raise RangeError(f"limit must be > 0, got {self.limit!r}")

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        return beta_from_log_odds(self.w * limited_log_odds(raw, self.limit) + self.b, raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        calibrated: FloatArray = special.expit(self.w * log_odds(mean, self.limit) + self.b)
        return calibrated

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "platt", "w": ..., "b": ..., "limit": ...}."""
        return {"kind": self.kind, "w": self.w, "b": self.b, "limit": self.limit}


@dataclass(frozen=True, slots=True)
class TemperatureMap:
    """m' = sigmoid(logit(m) / temperature): Platt without a shift.

    Attributes
    ----------
    temperature : float
        > 0; above 1 draws towards the middle, below 1 sharpens. A mean of 1/2 stays.

    Examples
    --------
    >>> TemperatureMap(temperature=2.0).apply(Beta(9.0, 1.0)).mean
    0.75
    """

    kind: ClassVar[str] = "temperature"

    temperature: float

    def __post_init__(self) -> None:
        require_finite(temperature=self.temperature)
        if self.temperature <= 0.0:
            raise RangeError(f"temperature must be > 0, got {self.temperature!r}")

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        return beta_from_log_odds(limited_log_odds(raw) / self.temperature, raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        return np.asarray(special.expit(log_odds(mean) / self.temperature), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "temperature", "temperature": ...}."""
        return {"kind": self.kind, "temperature": self.temperature}


@dataclass(frozen=True, slots=True)
class BetaCalibrationMap:
    """logit m' = a ln m - b ln(1 - m) + c (Kull, Silva Filho & Flach 2017, equation 2); a = b is Platt.

    Attributes
    ----------
    a, b : float
        Slopes at the low and at the high end, >= 0, so that the map keeps the order.
    c : float
        Shift of the log-odds.

    Examples
    --------
    >>> round(BetaCalibrationMap(a=0.5, b=0.5, c=0.0).apply(Beta(9.0, 1.0)).mean, 12)
    0.75
    """

    kind: ClassVar[str] = "beta"

    a: float
    b: float
    c: float

    def __post_init__(self) -> None:
        require_finite(a=self.a, b=self.b, c=self.c)
        if self.a < 0.0 or self.b < 0.0:
            raise RangeError(f"a and b must be >= 0, got {self.a!r} and {self.b!r}")

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        x = limited_log_odds(raw)
        lower, upper = -_softplus(-x), -_softplus(x)
        return beta_from_log_odds(self.a * lower - self.b * upper + self.c, raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        lower, upper = logarithms(mean)
        return np.asarray(special.expit(self.a * lower - self.b * upper + self.c), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "beta", "a": ..., "b": ..., "c": ...}."""
        return {"kind": self.kind, "a": self.a, "b": self.b, "c": self.c}


def logarithms(mean: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Logarithms (ln m, ln(1 - m)) of means in [0, 1], limited as `log_odds` is."""
    x = log_odds(mean)
    return -np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)


def _softplus(x: float) -> float:
    """The softplus ln(1 + e^x)."""
    return max(x, 0.0) + log1p(exp(-abs(x)))
