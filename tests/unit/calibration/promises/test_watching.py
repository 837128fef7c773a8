"""Promises under watch: rarely accused while they hold, soon when they do not, and bounded truly however verdicts were chosen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration.errors import RangeError, ShapeError
from hedgerow.calibration.promises.watching import CONFIDENCE, watch, watch_groups
from tests.support.tables import cases

LOSS = st.sampled_from([0.0, 0.3, 1.0])
DRAWN = st.sampled_from([0.1, 0.25, 1.0])


def test_a_promise_that_is_just_kept_is_accused_at_most_as_often_as_stated():
    """400 lives of 1,500 labels at the level itself, alpha 0.1. 56 or more alarms would have probability under 1 % if the rate were .1."""
    rng = np.random.default_rng(1)
    alarms = sum(watch(rng.random(1500) < 0.05, level=0.05, alpha=0.1).alarm_at is not None for _ in range(400))
    assert alarms < 56


def test_a_promise_whose_verdicts_are_drawn_by_what_goes_wrong_is_not_accused():
    """Half of the answers are seldom right and drawn ten times as often. Unweighted, every life would raise the alarm; weighted, 5 % may."""
    rng, alarms, naive = np.random.default_rng(2), 0, 0
    for _ in range(100):
        risky = rng.random(4000) < 0.5
        drawn = np.where(risky, 0.5, 0.05)
        seen = rng.random(4000) < drawn
        wrong = rng.random(4000) < np.where(risky, 0.18, 0.02)  # 10 % in all
        alarms += watch(wrong[seen], level=0.1, drawn=drawn[seen], least=0.05, alpha=0.05).state == "broken"
        naive += watch(wrong[seen], level=0.1, alpha=0.05).state == "broken"
    assert alarms <= 12
    assert naive > 90


def test_the_bounds_hold_at_every_look():
    """300 lives of 800 labels: the true share lies outside of a bound at any of eight looks in at most 5 % of them, weighted or not."""
    rng, missed = np.random.default_rng(3), {"low": 0, "high": 0}
    for life in range(300):
        drawn = rng.choice([0.1, 0.4], 800, p=[0.2, 0.8]) if life % 2 else np.ones(800)
        wrong = rng.random(800) < 0.08
        looks = [
            watch(wrong[:n], level=0.5, drawn=drawn[:n], least=drawn.min())
            for n in (10, 20, 40, 80, 160, 300, 500, 800)
        ]
        missed["high"] += any(look.high < 0.08 for look in looks)
        missed["low"] += any(look.low > 0.08 for look in looks)
    assert missed["high"] <= 26, "of 300 at 5 %: 26 or fewer with probability .998"
    assert missed["low"] <= 26


def test_a_promise_that_breaks_after_a_long_good_life_is_noticed_soon():
    """From 3 % to 15 % wrong at a level of 5 %, after 1,000 labels: half of the alarms within 180 labels."""
    rng, delays = np.random.default_rng(4), []
    for _ in range(60):
        wrong = rng.random(1600) < np.r_[np.full(1000, 0.03), np.full(600, 0.15)]
        alarm_at = watch(wrong, level=0.05).alarm_at
        delays.append(9999 if alarm_at is None else alarm_at - 1000)
    assert np.median(delays) <= 180
    assert min(delays) >= 0


@given(st.lists(st.tuples(LOSS, DRAWN), min_size=1, max_size=20), st.floats(0.02, 0.9), DRAWN)
def test_no_next_label_is_expected_to_add_evidence_while_the_promise_holds(rows, level, drawn):
    """The supermartingale itself, for a next answer that is wrong with exactly the level's probability."""
    wrong, chances = zip(*rows, strict=True)

    def value(*more):
        w, d = [*wrong, *(x for x, _ in more)], [*chances, *(p for _, p in more)]
        return np.exp(watch(w, level=level, drawn=d, least=0.1).evidence)

    expected = level * value((1.0, drawn)) + (1.0 - level) * value((0.0, drawn))
    assert expected <= value() * (1.0 + 1e-9)


def test_the_bound_of_unanimous_labels_is_near_the_exact_one_and_never_below_it():
    """Clopper & Pearson 1934 for no fault among n: 1 - .05^(1/n). What one may look at any time costs less than half as much again."""
    for n in (20, 60, 400):
        exact = 1.0 - 0.05 ** (1.0 / n)
        assert exact <= watch([0.0] * n, level=0.5).high <= 1.5 * exact


def test_bounds_narrow_with_labels_and_hold_the_share():
    widths = []
    for n in (10, 100, 1000):
        watched = watch(([1.0] + [0.0] * 9) * (n // 10), level=0.2)
        assert watched.low < watched.share < watched.high
        widths.append(watched.high - watched.low)
    assert widths == sorted(widths, reverse=True)
    assert CONFIDENCE == 0.95


def test_what_verdicts_say_depends_on_the_level_alone():
    """2 % wrong of 1,000: held at 5 %, open at 2 %, broken at half a percent."""
    wrong = ([1.0] + [0.0] * 49) * 20
    assert [watch(wrong, level=level).state for level in (0.05, 0.02, 0.005)] == ["held", "open", "broken"]


def test_nothing_is_said_without_labels():
    empty = watch([], level=0.05)
    assert (empty.state, empty.labels, empty.share, empty.low, empty.high, empty.evidence) == (
        "open",
        0,
        None,
        0.0,
        1.0,
        0.0,
    )
    assert watch_groups([], [], level=0.05) == {}


def test_a_group_that_breaks_the_promise_is_found_behind_a_whole_that_keeps_it():
    rng = np.random.default_rng(5)
    german = rng.random(3000) < 0.05
    wrong = rng.random(3000) < np.where(german, 0.4, 0.01)
    groups = ["de" if each else "en" for each in german]
    assert watch(wrong, level=0.05).state == "held"
    assert {name: each.state for name, each in watch_groups(groups, wrong, level=0.05).items()} == {
        "en": "held",
        "de": "broken",
    }


def test_many_groups_that_keep_the_promise_are_accused_at_most_as_often_as_one():
    """100 lives with twenty groups at the level itself, alpha .1: 19 or more would have probability under 1 %. Uncorrected it would be most."""
    rng, any_alarm = np.random.default_rng(6), 0
    for _ in range(100):
        groups = watch_groups(list(np.arange(2000) % 20), rng.random(2000) < 0.1, level=0.1, alpha=0.1)
        any_alarm += any(each.state == "broken" for each in groups.values())
    assert any_alarm < 19


@cases(
    ("arguments", "error", "what"),
    [
        ({"wrong": [1.2]}, RangeError, "wrong"),
        ({"wrong": [float("nan")]}, RangeError, "wrong"),
        ({"wrong": [0.0], "level": 0.0}, RangeError, "level"),
        ({"wrong": [0.0], "level": 1.0}, RangeError, "level"),
        ({"wrong": [0.0], "alpha": 0.0}, RangeError, "alpha"),
        ({"wrong": [0.0], "drawn": [0.0]}, RangeError, "drawn"),
        ({"wrong": [0.0], "drawn": [0.1], "least": 0.2}, RangeError, "least"),
        ({"wrong": [0.0, 1.0], "drawn": [0.1, 0.1, 0.1]}, ShapeError, "wrong"),
        ({"wrong": [[0.0]]}, ShapeError, "wrong"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(arguments, error, what):
    with pytest.raises(error, match=what):
        watch(**({"level": 0.05} | arguments))


def test_a_group_for_each_label_is_asked_for():
    with pytest.raises(ShapeError, match="2 labels need 2 groups, got 1"):
        watch_groups(["a"], [0.0, 1.0], level=0.1)


def test_the_same_labels_say_the_same_whenever_they_are_read():
    """What a process finds after a restart is what it found before: the state is a function of the rows."""
    rng = np.random.default_rng(7)
    wrong, drawn = rng.random(200) < 0.1, rng.choice([0.1, 1.0], 200)
    whole = watch(wrong, level=0.05, drawn=drawn, least=0.1)
    prefixes = [watch(wrong[:n], level=0.05, drawn=drawn[:n], least=0.1) for n in range(1, 201)]
    assert prefixes[-1] == whole
    first = next((i for i, each in enumerate(prefixes) if each.state == "broken"), None)
    assert first == whole.alarm_at
    assert all(a.alarm_at == b.alarm_at for a, b in itertools.pairwise(prefixes) if a.alarm_at is not None)
