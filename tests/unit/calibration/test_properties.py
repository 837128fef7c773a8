"""Laws of the divergences, distances and metrics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hedgerow.calibration import Beta, faithfulness_divergence, quantile_nodes, w1_exact
from hedgerow.calibration.errors import NotEnoughData, RangeError, ShapeError
from hedgerow.calibration.metrics import (
    aurc,
    auroc,
    bootstrap_interval,
    cmfg,
    ece_equal_mass,
    ece_equal_width,
    generalised_ece,
    smooth_ece,
)
from hedgerow.calibration.scores import fit_likelihood, fit_moments
from hedgerow.calibration.wasserstein import w1_nodes
from tests.support.tables import cases

sizes = st.floats(-6, 8).map(lambda e: max(10.0**e, 1e-6))


@given(sizes, sizes, st.booleans())
def test_divergence_is_never_negative_and_symmetric_in_the_sides(alpha, beta, correct):
    value = faithfulness_divergence(alpha, beta, correct)
    assert value >= 0.0
    assert value == faithfulness_divergence(beta, alpha, not correct)


@given(st.floats(0.01, 0.98), st.floats(0.001, 0.01), st.floats(0.5, 1e4))
def test_divergence_falls_as_the_mean_moves_towards_the_outcome(mean, step, k):
    near, far = Beta.from_mean(mean + step, k), Beta.from_mean(mean, k)
    assert faithfulness_divergence(near.alpha, near.beta, True) < faithfulness_divergence(far.alpha, far.beta, True)


@given(st.floats(0.05, 0.95), st.floats(0.1, 1e4), st.floats(1.05, 10.0))
def test_divergence_of_a_misaligned_mean_grows_with_concentration(mean, k, factor):
    weak, strong = (Beta.from_mean(max(mean, 0.55), c) for c in (k, factor * k))
    assert faithfulness_divergence(weak.alpha, weak.beta, False) < faithfulness_divergence(
        strong.alpha, strong.beta, False
    )


def test_divergence_of_a_sure_mean_tends_to_the_odds_against_it_over_two():
    assert faithfulness_divergence(0.75e8, 0.25e8, True) == pytest.approx(0.25 / 1.5, rel=1e-7)


@given(sizes.filter(lambda x: x < 1e5), sizes.filter(lambda x: x < 1e5))
def test_w1_of_a_beta_with_itself_is_zero_and_of_mirrored_ones_symmetric(alpha, beta):
    assert w1_exact(alpha, beta, alpha, beta).item() == 0.0
    assert w1_exact(alpha, beta, 2.0, 3.0).item() == pytest.approx(w1_exact(beta, alpha, 3.0, 2.0).item(), abs=1e-9)


def test_quantile_nodes_are_within_their_bound_over_two_thousand_pairs():
    rng = np.random.default_rng(7)
    k, mean, edge = rng.uniform(0.5, 500, (2, 2000)), rng.uniform(0, 1, (2, 2000)), rng.random((2, 2000)) < 0.25
    side = rng.random((2, 2000)) < 0.5
    alpha = np.where(edge, np.where(side, 1e-6, k), np.maximum(mean * k, 1e-6))
    beta = np.where(edge, np.where(side, k, 1e-6), np.maximum((1 - mean) * k, 1e-6))
    exact = w1_exact(alpha[0], beta[0], alpha[1], beta[1])
    nodes = quantile_nodes(alpha, beta)
    assert np.abs(w1_nodes(nodes[0], nodes[1]) - exact).max() < 2e-4


@given(st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_metrics_do_not_depend_on_the_order_of_the_records(seed):
    rng = np.random.default_rng(seed)
    alpha, beta = rng.integers(1, 11, 60).astype(float), rng.integers(1, 11, 60).astype(float)
    y, order = rng.integers(0, 2, 60), rng.permutation(60)
    p = alpha / (alpha + beta)
    assert generalised_ece(alpha, beta, y) == pytest.approx(
        generalised_ece(alpha[order], beta[order], y[order]), abs=1e-12
    )
    for metric in (smooth_ece, ece_equal_width, ece_equal_mass, aurc):
        assert metric(p, y) == pytest.approx(metric(p[order], y[order]), abs=1e-12)


@given(st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_relabelling_right_as_wrong_mirrors_the_metrics(seed):
    rng = np.random.default_rng(seed)
    alpha, beta, y = rng.uniform(0.2, 9, 50), rng.uniform(0.2, 9, 50), np.arange(50) % 2
    p = alpha / (alpha + beta)
    assert generalised_ece(alpha, beta, y) == pytest.approx(generalised_ece(beta, alpha, 1 - y), abs=1e-12)
    assert smooth_ece(p, y) == pytest.approx(smooth_ece(1 - p, 1 - y), abs=1e-9)
    assert auroc(p, y) == pytest.approx(auroc(1 - p, 1 - y), abs=1e-12)


def test_all_bins_in_one_are_the_gap_between_accuracy_and_confidence():
    assert generalised_ece([8.0, 2.0], [2.0, 8.0], [1, 1], bins=1) == pytest.approx(0.5)


@cases("k", [1e3, 9e4, 1.1e5, 1e8, 1e13, 1e18])
def test_generalised_ece_of_firm_confidence_is_that_of_points(k):
    mean, y = np.array([0.15, 0.55, 0.83]), np.array([0, 1, 0])
    firm = generalised_ece(mean * k, (1 - mean) * k, y)
    assert firm == pytest.approx(ece_equal_width(mean, y), abs=1e-2 if k == 1e3 else 1e-9)


def test_generalised_ece_of_a_point_on_an_edge_is_a_number():
    assert generalised_ece([5.07994791e30], [4.57195312e31], [1]) == pytest.approx(0.9, abs=1e-9)


def test_cmfg_of_wording_that_ignores_confidence_is_a_half():
    confidence = (np.arange(1000) + 0.5) / 1000
    assert cmfg(np.ones(1000), confidence) == pytest.approx(0.5, abs=1e-9)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says():
    rng, hits = np.random.default_rng(3), 0
    for _ in range(100):
        y = (rng.random(200) < 0.7).astype(float)
        interval = bootstrap_interval(lambda correct: correct, y, rng=rng, resamples=200)
        hits += interval.low <= 0.7 <= interval.high
    assert 86 <= hits <= 100


def test_moments_of_degenerate_scores_keep_the_mean_and_count_the_scores():
    assert fit_moments([0.0, 0.0]) == Beta(1e-6, 2.0)
    assert fit_moments([0.3, 0.3, 0.3]).concentration == pytest.approx(3.0)
    assert fit_moments([0.0, 1.0]) == Beta(1.0, 1.0)  # as wide as can be


def test_likelihood_fit_equals_scipy():
    scores = np.random.default_rng(1).beta(5, 2, 300)
    alpha, beta, _, _ = stats.beta.fit(scores, floc=0, fscale=1)
    fitted = fit_likelihood(scores)
    assert (fitted.alpha, fitted.beta) == pytest.approx((alpha, beta), rel=1e-4)


@cases(
    ("call", "error", "named"),
    [
        (lambda: faithfulness_divergence(0.0, 1.0, True), RangeError, "alpha"),
        (lambda: faithfulness_divergence([1.0], [np.nan], [1]), RangeError, "beta"),
        (lambda: faithfulness_divergence(1.0, 1.0, 2), RangeError, "correct"),
        (lambda: generalised_ece([1.0, 2.0], [1.0, 2.0, 3.0], [1]), ShapeError, "alpha"),
        (lambda: auroc([0.5, 1.5], [0, 1]), RangeError, "confidence"),
        (lambda: auroc([0.5, 0.6], [1, 1]), NotEnoughData, "2 right"),
        (lambda: ece_equal_width([], []), ShapeError, "empty"),
        (lambda: ece_equal_mass([0.5], [1]), NotEnoughData, "10"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, named):
    with pytest.raises(error, match=named):
        call()


@cases("fit", [fit_moments, fit_likelihood])
def test_scores_that_hold_no_beta_are_refused(fit):
    with pytest.raises(NotEnoughData, match="no scores"):
        fit([])
    with pytest.raises(ShapeError, match="one-dimensional"):
        fit([[0.2, 0.4], [0.5, 0.6]])
