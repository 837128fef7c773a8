"""The identity map, of routes without a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from .base import CalibrationMap, Learned


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
