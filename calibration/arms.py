"""Compares two arms of an experiment: an interval for the difference of their means, valid however often one looks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arrays import FloatArray, probabilities, same_shape
from .errors import RangeError, ShapeError

BETS: tuple[float, ...] = tuple(0.9 * 0.5**k for k in range(12))
"""Shares of the capital that the bets risk, from .9 (few values, all on one side) to .0004 (a million values)."""
CELLS = 2000
"""Number of cells that values are rounded to.

It limits the time for a million values; the interval is widened by the largest effect of the rounding.
"""
_POINTS = 100
_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of the first arm minus that of the second.

    Attributes
    ----------
    first, second : float or None
        Means, in [0, 1]; None for an arm without values.
    low, high : float
        Bounds of the difference, in [-1, 1].
    """

    first: float | None
    second: float | None
    low: float
    high: float

    @property
    def estimate(self) -> float | None:
        """The difference of the means; None if an arm has no values."""
        return None if self.first is None or self.second is None else self.first - self.second


def difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    first_counts: ArrayLike = 1.0,
    second_counts: ArrayLike = 1.0,
    confidence: float = 0.95,
) -> Difference:
    """Compare the means of two arms whose values arrive one by one, in any order.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Values in [0, 1]; may be empty.
    first_counts, second_counts : array_like
        How often each value occurred; once each by default.
    confidence : float
        Probability, in (0, 1), that the interval contains the true difference at all times.

    Raises
    ------
    RangeError, ShapeError
        If a value or `confidence` is out of range, or the shapes do not fit together.

    Notes
    -----
    **Source**: confidence sequences for bounded means by betting (Waudby-Smith & Ramdas 2024, "Estimating means of
    bounded random variables by betting"; their diversified Kelly bettor, with fixed bets in both directions). A bet
    with the share b that the mean is larger than m multiplies the capital by 1 + b (x / m - 1); a bet that it is
    smaller by 1 - b (x - m) / (1 - m). Neither is expected to win if the mean is m. The capitals of both arms are
    multiplied, since each bet depends only on earlier values. A pair of means is ruled out when the product reaches 1 /
    (1 - confidence), which happens to the true pair with at most probability 1 - confidence (Ville 1939). The interval
    contains the differences of all remaining pairs. It assumes constant means and independent values: many answers of
    one conversation count as fewer.

    Examples
    --------
    >>> gap = difference([0.1, 0.2] * 200, [0.3, 0.4] * 200)
    >>> round(gap.estimate, 3), gap.high < 0
    (-0.2, True)
    >>> difference([], [0.5]).estimate is None
    True
    """
    if not 0.0 < confidence < 1.0:
        raise RangeError(f"confidence must be in (0, 1), got {confidence!r}")
    arms = [_Arm.of(*each) for each in ((first, first_counts), (second, second_counts))]
    wall = -float(np.log1p(-confidence))
    floors = [float(arm.log_capital(arm.plausible(wall)).min()) for arm in arms]
    points = [arm.plausible(wall - floor) for arm, floor in zip(arms, floors[::-1], strict=True)]
    capital = [arm.log_capital(point) for arm, point in zip(arms, points, strict=True)]
    remaining = capital[0][:, None] + capital[1][None, :] < wall
    gaps = (points[0][:, None] - points[1][None, :])[remaining]
    slack = sum(point[1] - point[0] for point in points) + sum(arm.rounded for arm in arms)
    low, high = (gaps.min() - slack, gaps.max() + slack) if gaps.size else (-1.0, 1.0)
    return Difference(arms[0].mean, arms[1].mean, max(-1.0, float(low)), min(1.0, float(high)))


@dataclass(frozen=True, slots=True)
class _Arm:
    """Distinct values of an arm with their counts; `rounded` bounds the change of its mean by rounding."""

    values: FloatArray
    counts: FloatArray
    mean: float | None
    rounded: float

    @classmethod
    def of(cls, values: ArrayLike, counts: ArrayLike) -> _Arm:
        x, n = same_shape(
            values=np.atleast_1d(probabilities("values", values)), counts=np.asarray(counts, dtype=np.float64)
        )
        if x.ndim != 1:
            raise ShapeError(f"values must be one-dimensional, got shape {x.shape}")
        if n.size and (not np.isfinite(n).all() or n.min() < 0.0):
            raise RangeError("counts must be >= 0")
        cells = np.rint(x * CELLS).astype(np.int64)
        total: FloatArray = np.bincount(cells, weights=n, minlength=CELLS + 1).astype(np.float64)
        seen = np.flatnonzero(total)
        exact = bool(np.all(np.abs(x * CELLS - cells) < 1e-9))
        mean = float(np.average(x, weights=n)) if n.sum() > 0.0 else None
        return cls(seen / CELLS, total[seen], mean, 0.0 if exact else 0.5 / CELLS)

    def log_capital(self, mean: FloatArray) -> FloatArray:
        """Logarithm of the capital of the bets against each mean; 0 before the first value."""
        won = np.empty((2 * len(BETS), mean.size))
        up, down = self.values[:, None] / mean - 1.0, (self.values[:, None] - mean) / (1.0 - mean)
        for place, bet in enumerate(BETS):
            won[place] = self.counts @ np.log1p(bet * up)
            won[len(BETS) + place] = self.counts @ np.log1p(-bet * down)
        capital: FloatArray = np.logaddexp.reduce(won, axis=0) - np.log(2 * len(BETS))
        return capital

    def plausible(self, wall: float) -> FloatArray:
        """The means that the bets have not ruled out, evenly spaced, with one more on either side.

        They surround the observed mean, which is never ruled out, because no bet against it has won.
        """
        if self.mean is None:
            return np.linspace(_EDGE, 1.0 - _EDGE, _POINTS)
        seen = float(np.average(self.values, weights=self.counts))
        ends = [self._end(min(max(seen, _EDGE), 1.0 - _EDGE), edge, wall) for edge in (_EDGE, 1.0 - _EDGE)]
        return np.linspace(ends[0], ends[1], _POINTS)

    def _end(self, inside: float, outside: float, wall: float) -> float:
        """The outermost mean in one direction that is not ruled out; rounded outwards."""
        for _ in range(20):
            middle = (inside + outside) / 2.0
            if float(self.log_capital(np.array([middle]))[0]) < wall:
                inside = middle
            else:
                outside = middle
        return outside
