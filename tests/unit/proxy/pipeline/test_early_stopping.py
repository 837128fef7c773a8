"""Sampling ends when the rest could not change the calibrated mean by more than the tolerance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom

from hedgerow.calibration import Beta
from hedgerow.proxy.pipeline.sampling.early_stopping import StoppingRule, _beta_binomial, samples_wanted, settled
from tests.support.tables import cases


def identity(beta: Beta) -> float:
    return beta.mean


@given(st.integers(1, 25), st.integers(0, 25), st.floats(0, 1), st.data())
def test_never_over_budget_and_always_ends(budget, drawn, tolerance, data):
    """Whatever the counts, no more than the budget is drawn, and a spent budget draws nothing."""
    drawn = min(drawn, budget)
    largest = data.draw(st.integers(min(1, drawn), drawn))
    rule = StoppingRule(budget, first=min(3, budget), tolerance=tolerance)
    more = samples_wanted(rule, largest, drawn, identity)
    assert 0 <= more <= budget - drawn
    assert drawn < budget or more == 0


def test_zero_tolerance_draws_everything():
    """With no tolerance, open counts never settle."""
    rule = StoppingRule(20, tolerance=0.0)
    drawn = 0
    while more := samples_wanted(rule, drawn, drawn, identity):
        drawn += more
    assert drawn == 20


def test_agreement_stops_sooner_than_a_split():
    """Eight of eight says more about the rest than four of eight."""
    rule = StoppingRule(20, tolerance=0.2)
    assert settled(rule, 8, 8, identity)
    assert not settled(rule, 4, 8, identity)


def test_a_flat_map_needs_no_samples():
    """Where the map sends every mean to the same place, more samples cannot matter."""
    assert settled(StoppingRule(20, tolerance=0.01), 2, 4, lambda _: 0.6)


@cases(("left", "largest", "drawn"), [(0, 3, 5), (12, 8, 8), (15, 2, 5)])
def test_beta_binomial_is_scipys(left, largest, drawn):
    """The predictive distribution agrees with scipy.stats.betabinom."""
    ours = _beta_binomial(left, largest + 1, drawn - largest + 1)
    assert ours == pytest.approx(betabinom.pmf(range(left + 1), left, largest + 1, drawn - largest + 1), abs=1e-12)


@cases("bad", [{"budget": 0}, {"budget": 5, "first": 6}, {"budget": 5, "tolerance": 1.5}])
def test_impossible_rules_are_refused(bad):
    """A rule that cannot be followed is refused at once."""
    with pytest.raises(ValueError, match=r"rule|tolerance"):
        StoppingRule(**bad)


def test_a_likely_answer_settles_sooner_and_an_unlikely_one_later():
    """Three of three agree: enough where the model gave the answer .98, not without knowing, and least where it gave .05."""
    rule = StoppingRule(10, tolerance=0.25, probability=0.8)
    assert settled(rule, 3, 3, identity, 0.98)
    assert not settled(rule, 3, 3, identity, 0.05)


@given(st.integers(1, 10), st.floats(0, 1))
def test_a_prior_at_the_share_itself_never_delays(drawn, tolerance):
    """Full agreement on an answer of probability 1 is settled wherever it is without that knowledge."""
    rule = StoppingRule(12, first=1, tolerance=tolerance)
    assert settled(rule, drawn, drawn, identity, 1.0) or not settled(rule, drawn, drawn, identity)


def test_an_impossible_likelihood_is_refused():
    """A log-probability in place of a probability is refused at once."""
    with pytest.raises(ValueError, match="likelihood"):
        samples_wanted(StoppingRule(10), 3, 3, identity, -0.2)
