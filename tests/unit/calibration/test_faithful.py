"""Faithfulness, MFG, cMFG and the curve of decisiveness: what the paper says of them, and values worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from hedgerow.calibration.errors import NotEnoughData, RangeError, ShapeError
from hedgerow.calibration.metrics import (
    cmfg,
    conditional_mean,
    contradiction_confidence,
    decisiveness_curve,
    faithfulness,
    faithfulness_figures,
    mfg,
)
from tests.support.tables import cases

shares = st.integers(0, 20).map(lambda k: k / 20)
answers = st.lists(st.tuples(shares, shares), min_size=1, max_size=60)


def figures(decisiveness, confidence, **options):
    d, c = np.asarray(decisiveness, float), np.asarray(confidence, float)
    return faithfulness_figures(d, c, 1 - np.abs(d - c), rng=np.random.default_rng(0), **options)


def test_confidence_is_the_share_of_answers_that_do_not_contradict():
    assert contradiction_confidence([True, False, False, False, True]) == pytest.approx(0.6)
    assert contradiction_confidence([0]) == 1.0
    with pytest.raises(NotEnoughData, match="at least one other answer"):
        contradiction_confidence([])
    with pytest.raises(RangeError, match="0 or 1"):
        contradiction_confidence([0.5])


@cases("k", [1, 5, 10, 20, 40])
def test_always_decisive_answers_are_at_one_half_however_many_samples(k):
    """Confidences that are shares of k samples lie on the edges of bins; where all bins are filled the baseline is still exact."""
    confidence = np.arange(k + 1) / k
    assert cmfg(np.ones(k + 1), confidence) == pytest.approx(0.5)
    assert cmfg(np.zeros(k + 1), confidence) == pytest.approx(0.5)


def test_random_words():
    """Either end of the scale by a toss: 1/2, as the paper says. Spread evenly: E|D - C| = 1/3 for independent uniform D, C, so 2/3. The middle: 3/4."""
    rng = np.random.default_rng(1)
    confidence = rng.random(200_000)
    assert cmfg(rng.integers(0, 2, confidence.size), confidence) == pytest.approx(0.5, abs=0.005)
    assert cmfg(rng.random(confidence.size), confidence) == pytest.approx(2 / 3, abs=0.005)
    assert cmfg(np.full(confidence.size, 0.5), confidence) == pytest.approx(0.75, abs=0.005)


@cases("shape", [(1, 1), (5, 1), (1, 5), (0.5, 0.5)])
def test_cmfg_does_not_depend_on_which_confidences_are_common(shape):
    confidence = np.random.default_rng(2).beta(*shape, 300_000)
    decisive = np.ones(confidence.size)
    assert cmfg(decisive, confidence) == pytest.approx(0.5, abs=0.02)
    assert cmfg(0.5 + confidence / 2, confidence) == pytest.approx(0.75, abs=0.02)
    assert mfg(faithfulness(decisive[:, None], confidence[:, None])) == pytest.approx(confidence.mean())


@given(answers)
def test_a_perfect_model_is_at_one_and_none_is_better(rows):
    decisiveness, confidence = np.array(rows).T
    assert cmfg(confidence, confidence) == pytest.approx(1.0)
    assert 0.0 <= cmfg(decisiveness, confidence) <= 1.0 + 1e-12


@given(answers)
def test_turning_the_scale_around_changes_nothing(rows):
    decisiveness, confidence = np.array(rows).T
    assert cmfg(1 - decisiveness, 1 - confidence) == pytest.approx(cmfg(decisiveness, confidence))


@given(answers, st.integers(2, 4))
def test_saying_everything_several_times_changes_nothing(rows, times):
    d, c = np.array(rows).T
    once, often = (figures(np.tile(d, n), np.tile(c, n), resamples=0) for n in (1, times))
    assert often.n == times * once.n
    assert [often.cmfg.estimate, often.mfg.estimate] == pytest.approx([once.cmfg.estimate, once.mfg.estimate])


@given(answers)
def test_one_bin_makes_cmfg_the_plain_mean_and_misses_are_split_into_too_much_and_too_little(rows):
    d, c = np.array(rows).T
    measured = figures(d, c, resamples=0)
    assert cmfg(d, c, bins=1) == pytest.approx(measured.mfg.estimate)
    assert measured.mfg.estimate == pytest.approx(1 - measured.overstated.estimate - measured.understated.estimate)
    assert measured.decisiveness.estimate - measured.confidence.estimate == pytest.approx(
        measured.overstated.estimate - measured.understated.estimate, abs=1e-9
    )


@given(st.lists(st.tuples(shares, shares), min_size=3, max_size=60))
def test_the_rank_correlation_is_scipys(rows):
    d, c = np.array(rows).T
    spearman = figures(d, c, resamples=0).spearman
    if len(set(d)) == 1 or len(set(c)) == 1:
        assert spearman is None
    else:
        assert spearman.estimate == pytest.approx(spearmanr(d, c).statistic)


def test_a_value_by_hand_with_an_edge_and_an_empty_bin():
    """Two bins: .2 counts in the lower, .9 in the upper, .5 half in either. Faithfulness .4, .8, .5: (.4 + .25)/1.5 and (.8 + .25)/1.5."""
    assert conditional_mean([0.4, 0.8, 0.5], [0.2, 0.9, 0.5], bins=2) == pytest.approx((0.65 / 1.5 + 1.05 / 1.5) / 2)
    assert cmfg([0.6, 1.0], [0.05, 0.05]) == pytest.approx(0.25)
    assert cmfg([1.0], [1 - 0.7]) == cmfg([1.0], [0.3])  # .30000000000000004 lies on the same edge


def test_the_curve_has_the_bins_that_hold_answers():
    curve = decisiveness_curve([1.0, 0.8, 0.4, 0.2], [0.95, 0.91, 0.15, 0.1])
    assert curve.low.tolist() == [0.0, 0.1, 0.9]
    assert curve.weight.tolist() == [0.5, 1.5, 2.0]
    assert curve.decisiveness == pytest.approx([0.2, (0.4 + 0.1) / 1.5, 0.9])
    assert curve.faithfulness[-1] == pytest.approx(1 - (0.05 + 0.11) / 2)
    assert curve.spread[-1] == pytest.approx(0.1)  # standard deviation .1414 over the root of 2
    assert np.isnan(curve.spread[0])


def test_the_mean_of_the_curves_faithfulness_is_cmfg():
    rng = np.random.default_rng(3)
    d, c = rng.random(500), rng.integers(0, 11, 500) / 10
    assert decisiveness_curve(d, c).faithfulness.mean() == pytest.approx(cmfg(d, c))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Always decisive at uniform confidences on the middles of bins: MFG is the mean confidence, .5."""
    rng, hits = np.random.default_rng(5), 0
    for _ in range(100):
        c = (rng.integers(0, 10, 150) + 0.5) / 10
        measured = faithfulness_figures(np.ones(150), c, c, rng=rng, resamples=200)
        hits += measured.mfg.low <= 0.5 <= measured.mfg.high
        assert measured.cmfg_always_decisive == pytest.approx(measured.cmfg.estimate)
    assert 87 <= hits <= 100


def test_intervals_of_different_and_of_repeated_values_agree():
    rng = np.random.default_rng(6)
    c = rng.random(2000)
    d = np.clip(c + rng.normal(0, 0.2, c.size), 0, 1)
    fine, coarse = figures(d, c), figures(np.round(d, 2), np.round(c, 2))
    for name in ("mfg", "decisiveness", "spearman"):
        a, b = getattr(fine, name), getattr(coarse, name)
        assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.01)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(RangeError, match="resamples"):
        figures([1.0], [1.0], resamples=1)
    with pytest.raises(RangeError, match="level"):
        figures([1.0], [1.0], level=1.0)
    with pytest.raises(RangeError, match="confidence"):
        figures([1.0], [1.2])
    with pytest.raises(ShapeError, match="not empty"):
        figures([], [])
    with pytest.raises(RangeError, match="faithfulness"):
        mfg([1.5])
