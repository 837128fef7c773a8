"""Exact bounds: values known from elsewhere, and how often they are too small."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.calibration.errors import RangeError
from hedgerow.calibration.promises.testing import (
    betting_p_value,
    betting_upper,
    binomial_p_value,
    clopper_pearson_upper,
)
from tests.support.tables import cases


def test_the_binomial_bound_has_the_values_of_the_tables() -> None:
    """The rule of three, and one-sided 95 % limits as R's binom.test(k, n, alternative = "less") gives them."""
    assert clopper_pearson_upper(0, 100, 0.05) == pytest.approx(0.02951305, abs=1e-7)
    assert clopper_pearson_upper(5, 100, 0.05) == pytest.approx(0.1022534, abs=1e-6)
    assert clopper_pearson_upper(7, 7, 0.05) == 1.0
    assert clopper_pearson_upper(0, 0, 0.05) == 1.0


def test_a_p_value_and_a_bound_say_the_same() -> None:
    """The limit can be shown exactly where the bound is below it."""
    for wrong, n, limit in [(0, 58, 0.05), (0, 59, 0.05), (12, 400, 0.05), (13, 400, 0.05), (40, 120, 0.4)]:
        shown = binomial_p_value(wrong, n, limit) <= 0.05
        assert shown == (clopper_pearson_upper(wrong, n, 0.05) <= limit)


def _shapes(rng: np.random.Generator, runs: int, n: int) -> dict[str, np.ndarray]:
    return {
        "rarely wrong": (rng.random((runs, n)) < 0.05).astype(float),
        "often wrong": (rng.random((runs, n)) < 0.4).astype(float),
        "graded": rng.beta(0.3, 3.0, (runs, n)),
        "nearly constant": rng.uniform(0.2, 0.25, (runs, n)),
        "rare and graded": (rng.random((runs, n)) < 0.1) * rng.random((runs, n)),
    }


@cases("n", [20, 300])
def test_the_betting_bound_is_too_small_as_rarely_as_it_says(n: int) -> None:
    """At most one in ten, but for the noise of 300 runs, whatever the shape; and it comes closer with more values."""
    means = {
        "rarely wrong": 0.05,
        "often wrong": 0.4,
        "graded": 0.3 / 3.3,
        "nearly constant": 0.225,
        "rare and graded": 0.05,
    }
    for name, runs in _shapes(np.random.default_rng(5), 300, n).items():
        bounds = np.array([betting_upper(values, 0.1) for values in runs])
        assert (bounds < means[name]).mean() <= 0.1 + 3 * np.sqrt(0.09 / 300), name
        assert bounds.mean() < means[name] + 2.2 / np.sqrt(n), name


def test_betting_refuses_what_the_values_do_not_show() -> None:
    """No outcomes are not evidence; neither is a mean above the limit."""
    assert betting_p_value([], 0.05, 0.05) == 1.0
    assert betting_upper([], 0.05) == 1.0
    assert betting_upper([1.0] * 50, 0.05) == 1.0
    assert betting_p_value([0.2] * 500, 0.1, 0.05) > 0.5
    assert betting_p_value([0.02] * 500, 0.1, 0.05) < 0.01


def test_values_out_of_range_are_refused() -> None:
    """With the name of what is wrong."""
    for call in (
        lambda: betting_upper([1.5], 0.05),
        lambda: betting_upper([0.5], 0.0),
        lambda: clopper_pearson_upper(3, 2, 0.05),
    ):
        with pytest.raises(RangeError):
            call()
