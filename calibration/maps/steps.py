"""Maps read off a table: isotonic regression, histogram binning, Venn-Abers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, probabilities
from hedgerow.calibration.beta import Beta
from hedgerow.calibration.errors import RangeError, ShapeError


def _store(owner: object, **columns: Sequence[float]) -> None:
    """Store the columns of a frozen map as tuples of floats in [0, 1]; JSON brings lists."""
    for name, values in columns.items():
        object.__setattr__(owner, name, tuple(probabilities(name, list(values)).tolist()))


def _require_ascending(name: str, values: Sequence[float]) -> None:
    if any(b <= a for a, b in pairwise(values)):
        raise RangeError(f"{name} must ascend strictly, got {list(values)!r}")


@dataclass(frozen=True, slots=True)
class IsotonicMap:
    """The best non-decreasing map: straight lines between knots, constant outside them.

    Attributes
    ----------
    knots : tuple[float, ...]
        Raw means, ascending strictly, at least one.
    values : tuple[float, ...]
        Calibrated means at the knots, not descending.

    Notes
    -----
    A value of 0 or 1 says "never" or "always" of a few records; Faithfulness Divergence then explodes on the first
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
        _store(self, knots=self.knots, values=self.values)
        _require_ascending("knots", self.knots)
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

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "isotonic", "knots": [...], "values": [...]}."""
        return {"kind": self.kind, "knots": list(self.knots), "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class HistogramMap:
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
        _store(self, edges=self.edges, values=self.values)
        _require_ascending("edges", self.edges)
        if len(self.values) != len(self.edges) + 1:
            raise ShapeError(f"{len(self.edges)} inner edges need {len(self.edges) + 1} values, got {len(self.values)}")

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        return Beta.from_mean(self.values[bisect_right(self.edges, raw.mean)], raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        place = np.searchsorted(np.asarray(self.edges), probabilities("mean", mean), side="right")
        return np.asarray(np.asarray(self.values)[place])

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "histogram", "edges": [...], "values": [...]}."""
        return {"kind": self.kind, "edges": list(self.edges), "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class VennAbersMap:
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
        _store(self, knots=self.knots, lower=self.lower, upper=self.upper)
        _require_ascending("knots", self.knots)
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

    def to_dict(self) -> dict[str, Any]:
        """{"kind": "venn-abers", "knots": [...], "lower": [...], "upper": [...]}."""
        return {"kind": self.kind, "knots": list(self.knots), "lower": list(self.lower), "upper": list(self.upper)}
