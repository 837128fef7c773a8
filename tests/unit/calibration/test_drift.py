"""The alarms of drift: rarely without a cause, soon with one, and the same whoever looks and however often."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from hedgerow.calibration.drift import (
    ALTERNATIVES,
    compare,
    information,
    input_test,
    plausible,
    raw_histogram,
    sequential_test,
)
from hedgerow.calibration.errors import RangeError, ShapeError
from hedgerow.calibration.fitted import FittedMap
from hedgerow.calibration.fitting import fit_map
from tests.support.tables import cases

CHANCE = st.floats(0.001, 0.999)
ROWS = st.lists(st.tuples(CHANCE, st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=30)


def outcomes(rng, n, shift=0.0):
    """Stated means, and outcomes whose true log-odds lie `shift` beside them."""
    mean = rng.beta(2.0, 1.5, n)
    return mean, rng.random(n) < 1.0 / (1.0 + np.exp(-np.log(mean / (1.0 - mean)) - shift))


def test_right_means_raise_an_alarm_at_most_as_often_as_stated():
    """400 lives of 2,000 answers, alpha 0.1. 56 or more alarms would have probability under 1 % if the rate were 0.1."""
    rng = np.random.default_rng(1)
    alarms = sum(sequential_test(*outcomes(rng, 2000), alpha=0.1).alarm_at is not None for _ in range(400))
    assert alarms < 56


@cases(("shift", "delay"), [(-1.0, 250), (-1.5, 130), (1.0, 250)])
def test_a_shift_is_noticed_soon_even_after_a_long_good_life(shift, delay):
    """In log-odds: 1 moves 73 % to 50 %. After 1,000 right answers, 19 of 20 alarms come within the delay, and none before the change."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(40):
        good, bad = outcomes(rng, 1000), outcomes(rng, 600, shift)
        test = sequential_test(np.r_[good[0], bad[0]], np.r_[good[1], bad[1]])
        found.append(test.alarm_at - 1000 if test.alarm_at is not None else 9999)
    assert min(found) >= 0
    assert np.quantile(found, 0.95) <= delay


@given(ROWS, CHANCE)
def test_no_next_answer_is_expected_to_add_evidence_against_right_means(rows, p):
    """The martingale itself: the mean of E over the next outcome, weighted by its probability, is the E of now."""
    mean, correct = zip(*rows, strict=True)
    now = np.exp(sequential_test(mean, correct).log_e[-1])
    right, wrong = (np.exp(sequential_test([*mean, p], [*correct, y]).log_e[-1]) for y in (1.0, 0.0))
    assert p * right + (1.0 - p) * wrong == pytest.approx(now, rel=1e-9)


def test_one_answer_by_hand():
    """E after one answer: the idle 100/101, and 1/101 spread over likelihood ratios, computed here without logarithms."""

    def ratio(p, slope, shift):
        odds = (p / (1 - p)) ** slope * np.exp(shift)
        return odds / (1 + odds) / p

    expected = 100 / 101 + np.mean([ratio(0.8, *alternative) for alternative in ALTERNATIVES]) / 101
    assert np.exp(sequential_test([0.8], [1]).log_e[0]) == pytest.approx(expected, rel=1e-12)


def test_evidence_so_far_does_not_depend_on_what_comes_later():
    rng = np.random.default_rng(3)
    mean, correct = outcomes(rng, 300, -1.0)
    whole = sequential_test(mean, correct)
    assert sequential_test(mean[:120], correct[:120]).log_e == pytest.approx(whole.log_e[:120], abs=1e-9)


def test_certainty_that_proves_wrong_twice_is_an_alarm():
    assert sequential_test([0.9999999] * 2, [0.0] * 2).alarm_at == 1
    assert np.isfinite(sequential_test([1.0, 0.0], [0.0, 1.0]).log_e).all()


def test_the_ks_distance_agrees_with_scipy_on_values_in_whole_percents():
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 101, 300) / 100, rng.integers(10, 101, 200) / 100
    peer = ks_2samp(first, second, method="asymp")
    comparison = compare(raw_histogram(first), raw_histogram(second))
    assert comparison.ks == pytest.approx(peer.statistic, abs=1e-12)
    assert comparison.p_value == pytest.approx(peer.pvalue, rel=0.15)  # scipy corrects the limit for finite samples


def test_inputs_raise_an_alarm_when_they_move_and_seldom_when_not():
    """Ten answers a question; the fit saw 900. 200 lives of ten windows, alpha 0.1: fewer than 30 alarms (1 % if the rate were 0.1)."""
    rng = np.random.default_rng(5)

    def means(n, a=4.0):
        return rng.binomial(10, rng.beta(a, 2.0, n)) / 10

    alarms = sum(input_test(raw_histogram(means(900)), means(5000), alpha=0.1).alarm_at is not None for _ in range(200))
    assert alarms < 30
    moved = [input_test(raw_histogram(means(900)), np.r_[means(1000), means(1000, 2.0)]).alarm_at for _ in range(20)]
    assert moved == [2] * 20


def test_a_map_remembers_the_confidences_that_it_saw():
    fitted = fit_map("platt", [9.0, 4.0] * 40, [1.0, 6.0] * 40, [1, 0, 1, 1] * 20)
    again = FittedMap.from_dict(fitted.to_dict())
    assert again == fitted
    assert (again.provenance.raw_histogram[90], again.provenance.raw_histogram[40]) == (40, 40)
    old = fitted.to_dict()
    del old["provenance"]["raw_histogram"]
    assert FittedMap.from_dict(old).provenance.raw_histogram == ()


@given(st.integers(0, 6), st.integers(0, 99), st.integers(0, 10_000))
def test_windows_that_were_tested_before_need_not_be_given_again(tested, rest, seed):
    """In two parts the distances, the levels and the alarm are those of one test of everything."""
    mean = np.random.default_rng(seed).beta(2.0, 1.5, 700 + rest)
    reference = raw_histogram(np.linspace(0.0, 1.0, 300))
    whole = input_test(reference, mean, window=100, alpha=0.5)
    first = input_test(reference, mean[: 100 * tested], window=100, alpha=0.5)
    second = input_test(reference, mean[100 * tested :], window=100, alpha=0.5, tested=tested)
    assert first.distances + second.distances == whole.distances
    assert first.thresholds + second.thresholds == whole.thresholds
    later = None if second.alarm_at is None else second.alarm_at + tested
    assert (later if first.alarm_at is None else first.alarm_at) == whole.alarm_at


@cases(
    ("call", "error"),
    [
        (lambda: sequential_test([0.5], [1], alpha=0.0), RangeError),
        (lambda: sequential_test([1.5], [1]), RangeError),
        (lambda: sequential_test([], []), ShapeError),
        (lambda: sequential_test([0.5], [1], nulls=[]), ShapeError),
        (lambda: plausible((1.0, 2.0)), ShapeError),
        (lambda: plausible((1.0, 0.0, 1.0), alpha=1.0), RangeError),
        (lambda: input_test(raw_histogram([0.5]), [0.5], window=0), RangeError),
        (lambda: input_test(raw_histogram([0.5]), [0.5], alpha=1.0), RangeError),
        (lambda: input_test(raw_histogram([0.5]), [[0.5]]), ShapeError),
        (lambda: compare([1, 2], raw_histogram([0.5])), ShapeError),
        (lambda: compare([0] * 101, raw_histogram([0.5])), RangeError),
    ],
)
def test_what_cannot_be_tested_is_refused(call, error):
    with pytest.raises(error):
        call()


@given(st.lists(CHANCE, min_size=1, max_size=3))
def test_under_every_null_evidence_is_expected_to_stay_below_one(means):
    """All outcomes of up to three answers, weighted by what each null says of them: the mean of E is at most 1."""
    nulls = plausible((40.0, 10.0, 12.0))
    odds = np.log(np.array(means) / (1.0 - np.array(means)))
    worlds = list(itertools.product((0.0, 1.0), repeat=len(means)))
    evidence = np.array([np.exp(sequential_test(means, y, nulls=nulls).log_e[-1]) for y in worlds])
    for slope, shift in nulls[::6]:
        p = 1.0 / (1.0 + np.exp(-slope * odds - shift))
        chances = [np.prod(np.where(np.array(y) == 1.0, p, 1.0 - p)) for y in worlds]
        assert np.dot(chances, evidence) <= 1.0 + 1e-9


@cases("shift", [-0.3, 0.3])
def test_no_bet_is_won_by_what_the_fit_does_not_rule_out(shift):
    """A truth inside the region, on none of its ellipses: 40,000 outcomes, in the shares that it says of each mean, bring no evidence."""
    nulls = plausible((22.5, 7.9, 16.3))
    p = np.repeat([0.3, 0.5, 0.7, 0.9, 0.95], 8000)
    truth = 1.0 / (1.0 + np.exp(-np.log(p / (1.0 - p)) - shift))
    correct = np.concatenate([np.arange(8000) < 8000 * share for share in truth[::8000]])
    order = np.random.default_rng(8).permutation(p.size)
    assert sequential_test(p[order], correct[order], nulls=nulls).alarm_at is None


def test_grades_between_right_and_wrong_are_no_evidence_against_the_null_they_agree_with():
    """Every answer is half right, as one of two nulls says and the other does not."""
    log_odds = float(np.log(0.7 / 0.3))
    test = sequential_test([0.7] * 400, [0.5] * 400, nulls=((1.0, 0.0), (1.0, -log_odds)))
    assert test.log_e.max() < 0.5
    assert sequential_test([0.7] * 400, [0.5] * 400).alarm_at is not None


def test_the_error_of_a_fit_on_few_answers_is_forgiven_and_a_change_is_not():
    """Thirty maps fitted on 150 answers: as stated they are wrong often enough for alarms, and rightly; none is a change."""
    rng = np.random.default_rng(6)
    stated, forgiven, noticed = [], [], []
    for _ in range(30):
        raw, correct = outcomes(rng, 150, -1.0)
        fitted = fit_map("platt", 10.0 * raw, 10.0 * (1.0 - raw), correct, folds=0)
        nulls = plausible(fitted.provenance.information)
        later, right = outcomes(rng, 1500, -1.0)
        mean = fitted.map.means(later)
        stated.append(sequential_test(mean, right).alarm_at)
        forgiven.append(sequential_test(mean, right, nulls=nulls).alarm_at)
        broken = right & (rng.random(1500) > 0.8)
        noticed.append(sequential_test(mean, np.r_[right[:500], broken[500:]], nulls=nulls).alarm_at)
    assert sum(alarm is not None for alarm in stated) >= 3
    assert [alarm for alarm in forgiven if alarm is not None] == []
    assert sum(alarm is not None and alarm >= 500 for alarm in noticed) >= 27


def test_plausible_maps_lie_in_the_region_that_the_information_gives():
    """The outermost sixteen on its rim; a direction that nothing is known of is left alone."""
    known = np.array([[40.0, 10.0], [10.0, 12.0]])
    rim = np.array(plausible((40.0, 10.0, 12.0), alpha=0.05))[33:49] - [1.0, 0.0]
    assert np.einsum("ij,jk,ik->i", rim, known, rim) == pytest.approx(-2.0 * np.log(0.05), rel=1e-9)
    assert {slope for slope, _ in plausible((0.0, 0.0, 25.0))} == {1.0}


def test_information_is_the_curvature_of_the_likelihood():
    """Against central differences of the log-likelihood of a map on top, at the outcomes that the means expect."""
    p = np.array([0.1, 0.3, 0.6, 0.9])
    odds, h = np.log(p / (1.0 - p)), 1e-3

    def likelihood(slope, shift):
        q = 1.0 / (1.0 + np.exp(-slope * odds - shift))
        return np.sum(p * np.log(q) + (1.0 - p) * np.log(1.0 - q))

    second = -(likelihood(1 + h, 0) - 2 * likelihood(1, 0) + likelihood(1 - h, 0)) / h**2
    mixed = -(likelihood(1 + h, h) - likelihood(1 + h, -h) - likelihood(1 - h, h) + likelihood(1 - h, -h)) / (4 * h**2)
    last = -(likelihood(1, h) - 2 * likelihood(1, 0) + likelihood(1, -h)) / h**2
    assert information(p) == pytest.approx((second, mixed, last), rel=1e-4)
