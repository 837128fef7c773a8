"""The interval of the difference between two arms: coverage under continuous looking, power, and shapes of input."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hedgerow.calibration.arms import difference
from hedgerow.calibration.errors import RangeError, ShapeError
from tests.support.tables import cases

Draw = Callable[[np.random.Generator, int], np.ndarray]


def _bernoulli(p: float) -> Draw:
    return lambda rng, n: (rng.random(n) < p).astype(float)


def _beta(a: float, b: float) -> Draw:
    return lambda rng, n: rng.beta(a, b, n).round(2)


@pytest.mark.slow
@cases(
    ("first", "second", "true"),
    [
        (_bernoulli(0.1), _bernoulli(0.1), 0.0),
        (_bernoulli(0.02), _bernoulli(0.3), -0.28),
        (_beta(1.0, 9.0), _beta(2.0, 8.0), -0.1),
    ],
    ids=["equal", "unequal", "grades"],
)
def test_whoever_keeps_looking_is_seldom_wrong(first: Draw, second: Draw, true: float) -> None:
    """An arm of one tenth, forty runs of four hundred answers: the interval at 80 % leaves the truth at any of ten looks in at most a fifth."""
    rng = np.random.default_rng(5)
    left = 0
    for _ in range(40):
        mine = rng.random(400) < 0.1
        a, b = first(rng, 400), second(rng, 400)
        looks = (difference(a[:n][mine[:n]], b[:n][~mine[:n]], confidence=0.8) for n in range(13, 401, 43))
        left += any(not interval.low <= true <= interval.high for interval in looks)
    assert left <= 8


def test_a_difference_is_found_and_narrows() -> None:
    """Of ten points in a thousand answers; nothing is found where nothing is."""
    rng = np.random.default_rng(1)
    gap = difference(_bernoulli(0.3)(rng, 1000), _bernoulli(0.2)(rng, 1000))
    assert 0.0 < gap.low < gap.estimate < gap.high
    same = [difference(_bernoulli(0.2)(rng, n), _bernoulli(0.2)(rng, n)) for n in (100, 1000, 10_000)]
    widths = [each.high - each.low for each in same]
    assert widths == sorted(widths, reverse=True)
    assert all(each.low < 0.0 < each.high for each in same)


def test_counts_are_as_good_as_the_values_one_by_one() -> None:
    """So that a store may count a million of them."""
    one = difference([0.25] * 30 + [0.5] * 10, [1.0] * 7, confidence=0.9)
    counted = difference([0.5, 0.25], [1.0], first_counts=[10, 30], second_counts=[7], confidence=0.9)
    assert (one.low, one.high) == pytest.approx((counted.low, counted.high))
    assert counted.estimate == pytest.approx(one.estimate)


@cases("values", [[0.0] * 50, [1.0] * 50, [0.123456] * 50], ids=["none", "all", "alike"])
def test_values_that_are_all_alike_give_an_interval(values: list[float]) -> None:
    """At the edges of the range too, and against an empty arm."""
    gap = difference(values, values)
    assert -0.2 < gap.low <= 0.0 <= gap.high < 0.2
    alone = difference(values, [])
    assert alone.estimate is None
    assert alone.low <= values[0] - 0.9 or alone.high >= values[0] - 0.1


def test_what_is_not_in_range_is_refused() -> None:
    """Each with its name."""
    for wrong in ([1.5], [-0.1], [float("nan")]):
        with pytest.raises(RangeError):
            difference(wrong, [0.5])
    with pytest.raises(RangeError, match="counts"):
        difference([0.5], [0.5], first_counts=[-1])
    with pytest.raises(RangeError, match="confidence"):
        difference([0.5], [0.5], confidence=1.0)
    with pytest.raises(ShapeError):
        difference([[0.5]], [0.5])
