"""Beta calibration."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log1p
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray
from ..beta import Beta
from ..errors import NegativeSlope, RangeError
from .base import (
    CalibrationMap,
    Learned,
    beta_from_log_odds,
    limited_log_odds,
    log_odds,
    require_finite,
)
from .learning import FLAT, SAYS_NOTHING, fit_near_identity, is_separable, learnable


@dataclass(frozen=True, slots=True)
class BetaCalibrationMap(CalibrationMap):
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
        lower, upper = _logarithms(mean)
        return np.asarray(special.expit(self.a * lower - self.b * upper + self.c), dtype=np.float64)

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray, *, weights: FloatArray | None = None) -> Learned:
        """Learn a, b, c by maximum likelihood; a slope that comes out negative is set to 0 and the rest fitted again, as in Kull et al."""
        mean, correct, weights = learnable(mean, correct, weights)
        lower, upper = _logarithms(mean)
        available = {"a": lower, "b": -upper}
        separable = is_separable(mean, correct)
        while available:
            columns = (*available.values(), np.ones_like(mean))
            fit, notes = fit_near_identity(
                columns, correct, np.array([*(1.0 for _ in available), 0.0]), separable, weights
            )
            values = dict(zip((*available, "c"), fit.coefficients.tolist(), strict=True))
            if max(abs(values[name]) for name in available) <= FLAT:
                return Learned(cls(0.0, 0.0, values["c"]), notes=(*notes, *SAYS_NOTHING))
            negative = [name for name in available if values[name] < 0.0]
            if not negative:
                errors = dict(zip((*available, "c"), fit.standard_errors.tolist(), strict=True))
                return Learned(cls(values.get("a", 0.0), values.get("b", 0.0), values["c"]), errors, notes)
            del available[min(negative, key=values.__getitem__)]
        raise NegativeSlope("both slopes are negative: wrong answers have the higher confidence here")


def _logarithms(mean: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Logarithms (ln m, ln(1 - m)) of means in [0, 1], limited as `log_odds` is."""
    x = log_odds(mean)
    return -np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)


def _softplus(x: float) -> float:
    """The softplus ln(1 + e^x)."""
    return max(x, 0.0) + log1p(exp(-abs(x)))
