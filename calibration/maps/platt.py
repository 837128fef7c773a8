"""Platt scaling."""

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
