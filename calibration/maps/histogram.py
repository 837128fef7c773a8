"""Histogram binning."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from ..errors import RangeError, ShapeError
from ..metrics.binned import equal_mass_starts
from .base import CalibrationMap, Learned
from .learning import few_records, learnable, require_ascending, store_columns


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
