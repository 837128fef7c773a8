"""Which answers to ask about next."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.calibration.asking import levels, spread
from hedgerow.calibration.errors import RangeError, ShapeError


def test_every_level_is_asked_about_as_often_as_it_occurs() -> None:
    """After any number of verdicts, to within one."""
    rng = np.random.default_rng(0)
    level = rng.choice(4, 400, p=[0.05, 0.15, 0.3, 0.5])
    order = spread(level, np.zeros(400, bool), rng.random(400))
    assert sorted(order.tolist()) == list(range(400))
    share = np.bincount(level) / 400
    for n in (1, 7, 40, 200, 399):
        assert np.abs(np.bincount(level[order[:n]], minlength=4) - n * share).max() <= 1.0


def test_what_was_asked_before_is_made_up_for() -> None:
    """Ten verdicts on one of two equal levels: the next ten are on the other."""
    level = np.repeat([0, 1], 20)
    asked = np.arange(40) < 10
    order = spread(level, asked, np.arange(40.0))
    assert level[order[:10]].tolist() == [1] * 10
    assert not set(order.tolist()) & set(range(10))


def test_every_answer_is_as_likely_to_be_asked_as_any_other() -> None:
    """So that the share of right answers among those asked is that of all: each of twelve in 5,000 lots, a quarter asked."""
    level, rng = np.repeat([0, 1, 1], 4), np.random.default_rng(0)
    counts = np.zeros(12)
    for _ in range(5000):
        counts[spread(level, np.zeros(12, bool), rng.random(12))[:3]] += 1
    assert np.abs(counts / 5000 - 0.25).max() < 0.03


def test_few_confidences_are_levels_of_their_own_and_many_are_tenths() -> None:
    assert levels([0.7, 0.9, 0.7]).tolist() == [0, 1, 0]
    assert np.bincount(levels(np.linspace(0.0, 1.0, 100))).tolist() == [10] * 10


def test_nothing_is_left_to_ask_and_bad_input_is_refused() -> None:
    assert spread([0, 1], [True, True], [0.1, 0.2]).size == 0
    with pytest.raises(ShapeError):
        spread([0, 1], [True], [0.1, 0.2])
    with pytest.raises(RangeError):
        levels([1.5])
