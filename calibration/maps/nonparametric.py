"""Maps that follow the data without a formula: isotonic regression, histogram binning, Venn-Abers prediction."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from ..errors import RangeError, ShapeError
from ..metrics.binned import equal_mass_starts
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


@dataclass(frozen=True, slots=True)
class HistogramMap(CalibrationMap):
    """A constant for each bin of raw means (Zadrozny & Elkan 2001).

    Attributes
    ----------
    edges : tuple[float, ...]
        Inner edges, ascending strictly; a mean on an edge belongs to the bin above it.
    values : tuple[float, ...]
        Calibrated means, one more than there are edges.

    Examples
    --------
    >>> HistogramMap(edges=(0.5,), values=(0.3, 0.6)).means([0.1, 0.5, 0.9]).tolist()
    [0.3, 0.6, 0.6]
    """

    kind: ClassVar[str] = "histogram"

    edges: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        store_columns(self, edges=self.edges, values=self.values)
        require_ascending("edges", self.edges)
        if len(self.values) != len(self.edges) + 1:
            raise ShapeError(f"{len(self.edges)} inner edges need {len(self.edges) + 1} values, got {len(self.values)}")

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        return Beta.from_mean(self.values[bisect_right(self.edges, raw.mean)], raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        place = np.searchsorted(np.asarray(self.edges), probabilities("mean", mean), side="right")
        return np.asarray(np.asarray(self.values)[place])

    @classmethod
    def learn(
        cls, mean: FloatArray, correct: FloatArray, *, bins: int = 10, weights: FloatArray | None = None
    ) -> Learned:
        """Learn the share of correct answers in `bins` (>= 1) bins of equal mass, with Laplace's rule.

        Weights count inside the bins; where these end is set by the records that have any.

        **Deviates**: from Zadrozny & Elkan 2001, who take the bare share: (hits + 1) / (n + 2) never says "always" of a few records.
        """
        if bins < 1:
            raise RangeError(f"bins must be >= 1, got {bins!r}")
        mean, correct, weights = learnable(mean, correct, weights)
        order = np.argsort(mean, kind="stable")
        starts = equal_mass_starts(mean[order], min(bins, len(mean)))
        edges = (mean[order][starts - 1] + mean[order][starts]) / 2.0
        place = np.searchsorted(edges, mean, side="right")
        records = np.ones_like(correct) if weights is None else weights
        counts, hits = (np.bincount(place, column, len(edges) + 1) for column in (records, records * correct))
        values = (hits + 1.0) / (counts + 2.0)
        return Learned(cls(tuple(edges.tolist()), tuple(values.tolist())), notes=few_records(correct, weights))


# Inductive Venn-Abers prediction.

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
