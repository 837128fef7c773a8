"""Isotonic regression."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from ..errors import RangeError, ShapeError
from .base import CalibrationMap, Learned
from .learning import (
    SAYS_NOTHING,
    by_mean,
    few_records,
    isotonic_regression,
    learnable,
    require_ascending,
    store_columns,
)


@dataclass(frozen=True, slots=True)
class IsotonicMap(CalibrationMap):
    """The best non-decreasing map: straight lines between knots, constant outside them.

    Attributes
    ----------
    knots : tuple[float, ...]
        Raw means, ascending strictly, at least one.
    values : tuple[float, ...]
        Calibrated means at the knots, not descending.

    Notes
    -----
    A value of 0 or 1 means "never" or "always", from a few records; Faithfulness Divergence then becomes huge at the first
    exception. This is why RALC (D.7) prefers Platt.

    Examples
    --------
    >>> IsotonicMap(knots=(0.2, 0.8), values=(0.1, 0.7)).means([0.0, 0.5, 1.0]).round(3).tolist()
    [0.1, 0.4, 0.7]
    """

    kind: ClassVar[str] = "isotonic"

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        store_columns(self, knots=self.knots, values=self.values)
        require_ascending("knots", self.knots)
        if len(self.knots) != len(self.values) or not self.knots:
            raise ShapeError(f"{len(self.knots)} knots and {len(self.values)} values: one value for each knot")
        if any(b < a for a, b in pairwise(self.values)):
            raise RangeError("values must not descend")

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        mean = raw.mean
        right = bisect_right(self.knots, mean)
        if right == 0 or right == len(self.knots):
            return Beta.from_mean(self.values[0 if right == 0 else -1], raw.concentration)
        low, high = self.knots[right - 1], self.knots[right]
        start, end = self.values[right - 1], self.values[right]
        return Beta.from_mean(start + (end - start) * ((mean - low) / (high - low)), raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        return np.asarray(np.interp(probabilities("mean", mean), self.knots, self.values), dtype=np.float64)

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray, *, weights: FloatArray | None = None) -> Learned:
        """Learn the best non-decreasing step function, kept as knots with straight lines between them (as scikit-learn keeps it)."""
        mean, correct, weights = learnable(mean, correct, weights)
        knots, hits, counts = by_mean(mean, correct, weights)
        values = isotonic_regression(hits / counts, counts)
        corner = np.ones(len(knots), dtype=bool)
        corner[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
        flat = SAYS_NOTHING if np.ptp(values) == 0.0 else ()
        isotonic = cls(tuple(knots[corner].tolist()), tuple(values[corner].tolist()))
        return Learned(isotonic, notes=(*few_records(correct, weights), *flat))
