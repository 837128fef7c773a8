"""Maps with a formula of few parameters: Platt scaling, temperature scaling, beta calibration."""

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
    LOG_ODDS_LIMIT,
    CalibrationMap,
    Learned,
    beta_from_log_odds,
    limited_log_odds,
    log_odds,
    require_finite,
)
from .learning import FLAT, SAYS_NOTHING, fit_near_identity, is_separable, learnable


@dataclass(frozen=True, slots=True)
class PlattMap(CalibrationMap):
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

    @classmethod
    def learn(
        cls,
        mean: FloatArray,
        correct: FloatArray,
        *,
        allow_negative_slope: bool = False,
        weights: FloatArray | None = None,
    ) -> Learned:
        """Learn w and b by maximum likelihood; `allow_negative_slope` accepts w < 0, which turns the order of confidence round.

        Notes
        -----
        **Source**: RALC 4.1, equation 1; Platt 1999 without his smoothed targets. Newton's method on two parameters.

        **Deviates**: below 30 records, and where a threshold divides right from wrong answers (the likelihood has no maximum then), the
        fit is the mode under a normal prior of precision 1 around the identity (w = 1, b = 0), and a note in the provenance says so.
        Log-odds are limited to +-logit(1 - 1e-7).
        """
        mean, correct, weights = learnable(mean, correct, weights)
        return cls.learn_from_targets(mean, correct, correct, LOG_ODDS_LIMIT, allow_negative_slope, weights)

    @classmethod
    def learn_from_targets(
        cls,
        mean: FloatArray,
        correct: FloatArray,
        targets: FloatArray,
        limit: float,
        allow_negative_slope: bool,
        weights: FloatArray | None = None,
    ) -> Learned:
        """Learn w and b from targets in [0, 1] that stand for the outcomes."""
        x = log_odds(mean, limit)
        columns = (x, np.ones_like(x))
        fit, notes = fit_near_identity(columns, targets, np.array([1.0, 0.0]), is_separable(x, correct), weights)
        w, b = fit.coefficients.tolist()
        if abs(w) <= FLAT:
            w, notes = 0.0, (*notes, *SAYS_NOTHING)
        if w < 0.0 and not allow_negative_slope:
            raise NegativeSlope(
                f"the slope is {w:.3g}: wrong answers have the higher confidence here, and the map would turn the order of"
                " confidence round; check the labels and the signal, or allow a negative slope"
            )
        return Learned(cls(w, b, limit), dict(zip("wb", fit.standard_errors.tolist(), strict=True)), notes)


UNANIMITY = 3.044522437723423
"""ln 21, the empirical log-odds of ten of ten, 10.5 : 0.5 (Haldane, Anscombe): that all samples agree is evidence of this order, whatever
the 1e-6 floor makes of it."""


@dataclass(frozen=True, slots=True)
class BoundedPlattMap(PlattMap):
    """A Platt map that holds a limit of about ln 21; attributes as there.

    Examples
    --------
    >>> bounded = BoundedPlattMap(w=1.0, b=0.0)
    >>> round(bounded.means(0.9999).item(), 4)
    0.9545
    """

    kind: ClassVar[str] = "platt-bounded"

    limit: float = UNANIMITY

    @classmethod
    def learn(
        cls,
        mean: FloatArray,
        correct: FloatArray,
        *,
        allow_negative_slope: bool = False,
        limit: float = UNANIMITY,
        weights: FloatArray | None = None,
    ) -> Learned:
        """Learn w and b on log-odds within `limit`, to Platt's smoothed targets; errors and options as for `PlattMap.learn`.

        Where all means lie beyond the limit on one side, nothing would be left of their order, and they are taken as they are.

        Notes
        -----
        **Source**: RALC 4.1, equation 1. The targets are those of Platt 1999, 2.2: (r + 1) / (r + 2) for right answers and 1 / (w + 2)
        for wrong ones, r and w their numbers.

        **Deviates**: from RALC, whose 1e-6 floor puts unanimous samples at log-odds of 14 to 16, six times as far out as nine of ten: those
        points then set the slope. Any limit from 2.5 to 4 does about as well on recorded answers (docs/evidence.md, signal space).
        """
        mean, correct, weights = learnable(mean, correct, weights)
        limit = limit if np.ptp(log_odds(mean, limit)) > 0.0 else LOG_ODDS_LIMIT
        counts = np.ones_like(correct) if weights is None else weights
        right = (counts * correct).sum()
        wrong = counts.sum() - right
        targets = np.where(correct == 1.0, (right + 1.0) / (right + 2.0), 1.0 / (wrong + 2.0))
        return cls.learn_from_targets(mean, correct, targets, limit, allow_negative_slope, weights)


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
