"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
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
from .learning import FLAT, fit_near_identity, learnable


@dataclass(frozen=True, slots=True)
class TemperatureMap(CalibrationMap):
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

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray, *, weights: FloatArray | None = None) -> Learned:
        """Learn one slope on the log-odds by maximum likelihood (Guo et al. 2017); the temperature is its inverse."""
        mean, correct, weights = learnable(mean, correct, weights)
        x = log_odds(mean)
        sides = np.where(correct == 1.0, x, -x)
        separable = bool((sides >= 0.0).all() or (sides <= 0.0).all())
        fit, notes = fit_near_identity((x,), correct, np.array([1.0]), separable, weights)
        slope, error = fit.coefficients.item(), fit.standard_errors.item()
        if slope <= FLAT:
            raise NegativeSlope(
                f"the slope is {slope if slope < -FLAT else 0.0:.3g}: no temperature > 0 makes these confidences better; a map with a shift (Platt) may"
            )
        return Learned(cls(1.0 / slope), {"temperature": error / slope**2}, notes)
