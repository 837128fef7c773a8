"""What a calibration map is, the identity, and the log-odds that the others work on."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite, log
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from hedgerow.calibration.arrays import FloatArray, probabilities
from hedgerow.calibration.beta import Beta
from hedgerow.calibration.errors import RangeError

LOG_ODDS_LIMIT = 16.118095550958317
"""Log-odds are taken within +-logit(1 - 1e-7). Ten unanimous samples give 10 : 1e-6, a mean of 1 - 1e-7; where the 1e-6 floor
puts a mean beyond that (more samples) it says nothing that the samples said."""

UNANIMITY = 3.044522437723423
"""ln 21, the empirical log-odds of ten of ten, 10.5 : 0.5 (Haldane, Anscombe): that all samples agree is evidence of this order, whatever
the 1e-6 floor makes of it."""


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
