"""The Beta distribution over P(correct): one immutable value."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from .errors import RangeError

PARAMETER_FLOOR = 1e-6
"""Smallest alpha and beta (RALC, A.1.1), since a Beta needs parameters above 0."""


@dataclass(frozen=True, slots=True)
class Beta:
    """Beta(alpha, beta), a distribution over the probability that an answer is correct.

    Attributes
    ----------
    alpha, beta : float
        Finite and >= 1e-6. (torch calls them `concentration1` and `concentration0`; here *concentration* is their sum.)

    Raises
    ------
    RangeError
        If a parameter is not finite or lies below 1e-6.
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not (isfinite(value) and value >= PARAMETER_FLOOR):
                raise RangeError(f"{name} must be finite and >= {PARAMETER_FLOOR}, got {value!r}")

    @classmethod
    def floored(cls, alpha: float, beta: float) -> Beta:
        """Beta with both parameters lifted to the floor, as RALC A.1.1 prescribes for degenerate counts."""
        return cls(max(alpha, PARAMETER_FLOOR), max(beta, PARAMETER_FLOOR))

    @classmethod
    def from_mean(cls, mean: float, concentration: float) -> Beta:
        """Beta with this mean in [0, 1] and concentration; both parameters lifted to the floor."""
        return cls.floored(mean * concentration, (1.0 - mean) * concentration)

    @property
    def mean(self) -> float:
        """The mean, alpha / (alpha + beta), in (0, 1)."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def concentration(self) -> float:
        """The sum alpha + beta: how certain the distribution is of its mean. Higher = more certain."""
        return self.alpha + self.beta

    @property
    def variance(self) -> float:
        """The variance: mean * (1 - mean) / (concentration + 1)."""
        return self.mean * (1.0 - self.mean) / (self.concentration + 1.0)
