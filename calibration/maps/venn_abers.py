"""Inductive Venn-Abers prediction."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from ..errors import RangeError, ShapeError
from .base import CalibrationMap, Learned
from .learning import (
    by_mean,
    few_records,
    isotonic_regression,
    learnable,
    require_ascending,
    store_columns,
)

MAX_KNOTS = 2000
"""Maximum number of distinct means that are kept."""


@dataclass(frozen=True, slots=True)
class VennAbersMap(CalibrationMap):
    """An interval of calibrated means for each raw mean, and the point between its ends (Vovk, Petej & Fedorova 2015).

    Attributes
    ----------
    knots : tuple[float, ...]
        Distinct raw means of the fit, ascending strictly: k of them.
    lower, upper : tuple[float, ...]
        Isotonic fits with the new answer taken as wrong and as right, 2k + 1 of each: below the first knot, on it,
        between it and the second, and so on. lower <= upper.

    Examples
    --------
    >>> m = VennAbersMap(knots=(0.5,), lower=(0.0, 0.3, 0.4), upper=(0.5, 0.6, 1.0))
    >>> m.interval(0.5)
    (0.3, 0.6)
    >>> round(m.means([0.5]).item(), 4)
    0.4615
    """

    kind: ClassVar[str] = "venn-abers"

    knots: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        store_columns(self, knots=self.knots, lower=self.lower, upper=self.upper)
        require_ascending("knots", self.knots)
        slots = 2 * len(self.knots) + 1
        if not self.knots or len(self.lower) != slots or len(self.upper) != slots:
            raise ShapeError(f"{len(self.knots)} knots need {slots} ends, got {len(self.lower)} and {len(self.upper)}")
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            raise RangeError("a lower end lies above its upper end")

    def interval(self, mean: float) -> tuple[float, float]:
        """Lower and upper calibrated mean of a raw mean; one of the two is perfectly calibrated, whatever the data."""
        left = bisect_left(self.knots, mean)
        slot = 2 * left + int(left < len(self.knots) and self.knots[left] == mean)
        return self.lower[slot], self.upper[slot]

    def apply(self, raw: Beta) -> Beta:
        """The Beta at the point that is minimax for log loss: upper / (1 - lower + upper)."""
        low, high = self.interval(raw.mean)
        return Beta.from_mean(high / (1.0 - low + high), raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        m = probabilities("mean", mean)
        knots = np.asarray(self.knots)
        left = np.searchsorted(knots, m, side="left")
        slot = 2 * left + (knots[np.minimum(left, len(knots) - 1)] == m)
        low, high = np.asarray(self.lower)[slot], np.asarray(self.upper)[slot]
        return np.asarray(high / (1.0 - low + high))

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray, *, weights: FloatArray | None = None) -> Learned:
        """Learn both isotonic fits for every position that a new answer can have among the distinct means.

        **Deviates**: from Vovk et al. 2015 above 2,000 distinct means: these are first grouped into 2,000 of equal mass.
        """
        mean, correct, weights = learnable(mean, correct, weights)
        knots, hits, counts = by_mean(_thinned(mean), correct, weights)
        lower: list[float] = []
        upper: list[float] = []
        for slot in range(2 * len(knots) + 1):
            for ends, label in ((lower, 0.0), (upper, 1.0)):
                ends.append(_with_one_more(hits, counts, slot, label))
        ordered = [
            max(low, high) for low, high in zip(lower, upper, strict=True)
        ]  # equal up to rounding where they meet
        return Learned(cls(tuple(knots.tolist()), tuple(lower), tuple(ordered)), notes=few_records(correct, weights))


def _thinned(mean: FloatArray) -> FloatArray:
    """Means moved to the medians of 2,000 groups of equal mass, where there are more distinct ones."""
    if len(np.unique(mean)) <= MAX_KNOTS:
        return mean
    levels = np.quantile(mean, (np.arange(MAX_KNOTS) + 0.5) / MAX_KNOTS)
    nearest = np.searchsorted((levels[1:] + levels[:-1]) / 2.0, mean)
    return np.asarray(levels[nearest], dtype=np.float64)


def _with_one_more(hits: FloatArray, counts: FloatArray, slot: int, label: float) -> float:
    """The isotonic fit at a new answer of this label: on knot slot // 2 where slot is odd, before it where even."""
    at, between = slot // 2, slot % 2 == 0
    if between:
        hits, counts = np.insert(hits, at, label), np.insert(counts, at, 1.0)
    else:
        hits, counts = hits.copy(), counts.copy()
        hits[at] += label
        counts[at] += 1.0
    return float(
        np.clip(isotonic_regression(hits / counts, counts)[at], 0.0, 1.0)
    )  # an average of shares, but for rounding
