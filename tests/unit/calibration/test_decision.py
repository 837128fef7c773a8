"""Thresholds from costs."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.calibration.decision import Costs, Thresholds, decide, thresholds
from hedgerow.calibration.errors import RangeError
from tests.support.tables import cases

costs = st.builds(
    Costs,
    wrong=st.floats(0.1, 100),
    needless_abstention=st.floats(0, 10),
    escalation=st.one_of(st.just(float("inf")), st.floats(0, 10)),
    escalated_accuracy=st.floats(0, 1),
    hedged_wrong=st.one_of(st.none(), st.floats(0, 100)),
    hedged_right=st.floats(0, 5),
)


@given(costs, st.floats(0, 1))
def test_the_decision_is_never_dearer_than_any_other(costs, mean):
    by_action = {
        action: low * (1 - mean) + high * mean for action, (low, high) in costs.lines().items() if isfinite(low)
    }
    chosen = by_action[decide(mean, thresholds(costs))]
    assert chosen <= min(by_action.values()) + 1e-9 * costs.wrong + 1e-9


def test_the_bar_is_chows():
    assert thresholds(Costs(wrong=9.0, needless_abstention=1.0)).starts[1] == pytest.approx(0.9)


def test_a_dear_hedge_leaves_sure_answers_plain():
    policy = thresholds(Costs(wrong=10.0, needless_abstention=4.0, hedged_wrong=3.0, hedged_right=0.5))
    assert policy.actions == ("abstain", "hedge", "answer")


@cases(
    "bad", [{"wrong": 0.0}, {"needless_abstention": -1.0}, {"escalated_accuracy": 2.0}, {"escalation": float("nan")}]
)
def test_costs_that_make_no_sense_are_refused(bad):
    with pytest.raises(RangeError, match=next(iter(bad))):
        Costs(**{"wrong": 1.0, "needless_abstention": 1.0, **bad})


@cases("starts", [(), (0.2, 0.5), (0.0, 0.5, 0.5), (0.0, 1.5)])
def test_thresholds_ascend_from_zero(starts):
    with pytest.raises(RangeError, match="ascend"):
        Thresholds(starts, ("hedge",) * len(starts))


def test_every_threshold_has_an_action():
    with pytest.raises(RangeError, match="2 starts and 1 actions"):
        Thresholds((0.0, 0.5), ("hedge",))


@cases("mean", [-0.1, 1.1, float("nan")])
def test_a_mean_outside_its_range_is_not_decided(mean):
    with pytest.raises(RangeError, match="mean must be in"):
        decide(mean, thresholds(Costs(wrong=4.0, needless_abstention=1.0)))
