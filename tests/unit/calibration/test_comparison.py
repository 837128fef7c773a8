"""Comparisons of maps and signals: held-out losses and paired intervals, against scikit-learn and scipy."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import PredefinedSplit, cross_val_predict

from hedgerow.calibration.errors import CalibrationError, NotEnoughData, RangeError
from hedgerow.calibration.evaluation import Signal, compare, together
from hedgerow.calibration.fitting import fit_map, out_of_fold, random_folds
from hedgerow.calibration.maps.parametric import PlattMap
from hedgerow.calibration.metrics.smooth import smooth_ece_interval
from hedgerow.calibration.metrics.table import METRICS, paired
from tests.support.tables import cases


def traffic(n=500, seed=0):
    """Twenty answers a question, unanimous ones left out, right less often than they agree."""
    rng = np.random.default_rng(seed)
    agree = rng.integers(1, 20, n).astype(np.float64)
    return agree, 20 - agree, (rng.random(n) < (agree / 20) ** 2).astype(np.float64)


def ranked(comparison):
    return {(one.signal, one.kind): one for one in comparison.candidates}


def test_held_out_brier_scores_are_those_of_scikit_learn():
    """Plain logistic regression on the log-odds, on the same folds."""
    a, b, y = traffic()
    comparison = compare(
        {"semantic": Signal(a, b)},
        y,
        kinds=("identity", "platt"),
        reference=("semantic", "identity"),
        rng=np.random.default_rng(0),
    )
    split = PredefinedSplit(random_folds(a, b, y, 5))
    logits = np.log(a / b)[:, None]
    p = cross_val_predict(LogisticRegression(C=np.inf, tol=1e-10), logits, y, cv=split, method="predict_proba")[:, 1]
    assert ranked(comparison)["semantic", "platt"].brier == pytest.approx(brier_score_loss(y, p), abs=1e-6)
    assert ranked(comparison)["semantic", "identity"].brier == pytest.approx(brier_score_loss(y, a / 20))
    difference = ranked(comparison)["semantic", "platt"].difference
    assert difference.estimate == pytest.approx(brier_score_loss(y, p) - brier_score_loss(y, a / 20), abs=1e-6)
    # Nadeau & Bengio 2003: 1/5 + 1/4 in place of 1/5 of the variance
    plain = 1.96 * np.std((p - y) ** 2 - (a / 20 - y) ** 2, ddof=1) / np.sqrt(y.size)
    assert (difference.high - difference.low) / 2 == pytest.approx(np.sqrt((1 / 5 + 1 / 4) / (1 / 5)) * plain, rel=0.06)
    assert [one.kind for one in comparison.candidates] == ["platt", "identity"]
    assert ranked(comparison)["semantic", "platt"].verdict == "better"


def test_an_interval_alone_is_that_of_scipy_and_many_together_are_wider():
    values = np.random.default_rng(1).normal(0.02, 0.1, (400, 1))
    (alone,) = together(values, resamples=4000, rng=np.random.default_rng(0))
    theirs = stats.bootstrap(
        (values[:, 0],), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    assert (alone.low, alone.high) == pytest.approx((theirs.low, theirs.high), abs=5e-4)
    others = np.random.default_rng(2).normal(0.0, 0.1, (400, 9))
    many = together(np.hstack([values, others, np.zeros((400, 1))]), resamples=2000, rng=np.random.default_rng(0))
    assert many[0].high - many[0].low > 1.25 * (alone.high - alone.low)
    assert (many[-1].low, many[-1].high) == (0.0, 0.0)


def test_claims_of_one_answer_are_drawn_together_in_a_comparison():
    """Ten alike rows a group: the interval is that of the groups' own rows; of few groups none is given."""
    values = np.random.default_rng(1).normal(0.02, 0.1, (400, 1))
    (groups,) = together(values, resamples=2000, rng=np.random.default_rng(0))
    of = np.repeat(np.arange(400), 10)
    (rows,) = together(np.repeat(values, 10, axis=0), resamples=2000, rng=np.random.default_rng(0), groups=of)
    assert (rows.low, rows.high) == pytest.approx((groups.low, groups.high), abs=1e-9)
    a, b, y = traffic()
    signals = {"semantic": Signal(a, b)}
    how = {"kinds": ("identity", "platt"), "reference": ("semantic", "platt"), "resamples": 200}
    compared = compare(signals, y, **how, groups=np.arange(y.size) // 4, rng=np.random.default_rng(0))
    assert compared.n == y.size
    with pytest.raises(NotEnoughData, match="are of 10 clusters; at least 20"):
        compare(signals, y, **how, groups=np.arange(y.size) % 10, rng=np.random.default_rng(0))


def test_a_paired_interval_is_that_of_scipy():
    a, b, y = traffic()
    fitted = fit_map("platt", a[:150], b[:150], y[:150], folds=0).map
    mean = fitted.means(a / 20)
    paired_difference = paired(
        "expected_brier", (a, b), (20 * mean, 20 * (1 - mean)), y, rng=np.random.default_rng(0), resamples=2000
    )
    metric = METRICS["expected_brier"]
    theirs = stats.bootstrap(
        (a, 20 * mean, y), lambda raw, new, right: metric(new, 20 - new, right) - metric(raw, 20 - raw, right),
        n_resamples=2000, method="percentile", paired=True, vectorized=False, rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert (paired_difference.difference.low, paired_difference.difference.high) == pytest.approx(
        (theirs.low, theirs.high), abs=2e-3
    )
    unpaired = (paired_difference.before.high - paired_difference.before.low) + (
        paired_difference.after.high - paired_difference.after.low
    )
    assert paired_difference.difference.high - paired_difference.difference.low < 0.8 * unpaired


@cases("name", ["smooth_ece", "ece_equal_width", "ece_equal_mass"])
def test_calibration_errors_of_points_have_estimates_of_the_metric_and_intervals_around_them(name):
    """Percentiles of resamples would lie above the error of a calibrated confidence."""
    a, b, y = traffic()
    p = (a / 20) ** 2
    calibrated = 20 * p, 20 * (1 - p)
    difference = paired(name, (a, b), calibrated, y, rng=np.random.default_rng(0), resamples=100)
    assert difference.before.estimate == pytest.approx(METRICS[name](a, b, y))
    assert difference.after.estimate == pytest.approx(METRICS[name](*calibrated, y))
    assert difference.difference.estimate == pytest.approx(difference.after.estimate - difference.before.estimate)
    assert difference.after.low <= 0.01  # the truth is 0
    assert difference.difference.low < difference.difference.estimate < difference.difference.high < 0.0
    if name == "smooth_ece":
        alone = smooth_ece_interval(a / 20, y, rng=np.random.default_rng(0), resamples=100)
        assert (difference.before.low, difference.before.high) == (alone.low, alone.high)


def test_what_cannot_be_learned_is_named_and_a_reference_must_be_learned():
    a, b, y = traffic()
    signals = {"semantic": Signal(a, b), "turned": Signal(b, a)}
    options = {"kinds": ("platt", "identity"), "rng": np.random.default_rng(0)}
    comparison = compare(signals, y, reference=("semantic", "platt"), **options)
    assert list(comparison.failed) == [("turned", "platt")]
    assert comparison.candidates[-1].signal == "turned"
    with pytest.raises(CalibrationError, match="turned with platt"):
        compare(signals, y, reference=("turned", "platt"), **options)
    with pytest.raises(RangeError, match="not among the compared candidates"):
        compare(signals, y, reference=("token", "platt"), **options)


def test_a_learned_signal_is_measured_without_the_fold():
    """A signal that reads its own labels looks perfect where it has seen them; held out, it is worth nothing."""
    a, b, y = traffic()
    noise = np.random.default_rng(3).permutation(19 * np.arange(500) / 499 + 0.5)

    def remembered(chosen):
        return np.where(chosen, 1 + 18 * y, noise), np.where(chosen, 19 - 18 * y, 20 - noise)

    seen = remembered(np.full(500, True))
    signals = {"semantic": Signal(a, b), "memory": Signal(*seen, remembered)}
    comparison = compare(
        signals, y, kinds=("isotonic",), reference=("semantic", "isotonic"), rng=np.random.default_rng(0)
    )
    assert [(one.signal, one.verdict) for one in comparison.candidates] == [("semantic", "even"), ("memory", "worse")]


def test_a_fit_keeps_the_interval_of_what_it_changes():
    a, b, y = traffic()
    held = fit_map("platt", a, b, y, resamples=100).provenance.cross_validation["generalised_ece"]
    change = held["after"] - held["before"]
    assert held["change_low"] < change < held["change_high"] < 0.0
    before, after = out_of_fold(PlattMap.learn, (a, b, y), random_folds(a, b, y, 5), 5)
    independent = paired("generalised_ece", before, after, y, rng=np.random.default_rng(0), resamples=100).difference
    assert change - held["change_low"] == pytest.approx(1.5 * (independent.estimate - independent.low))
    assert held["change_high"] - change == pytest.approx(1.5 * (independent.high - independent.estimate))
    assert fit_map("platt", a, b, y).provenance.cross_validation["generalised_ece"].keys() == {"before", "after"}


def test_the_interval_of_a_divergence_allows_for_a_wrong_answer_that_is_yet_to_come():
    """Unanimous answers, wrong one time in thirty: about a third of the samples have no such answer, and one costs more than all the rest."""
    rng, wrong, n, divergence = np.random.default_rng(0), 1 / 30, 300, METRICS["faithfulness_divergence"]
    of_unanimous = wrong * divergence([10.0], [1e-6], [0.0]) + (1.0 - wrong) * divergence([10.0], [1e-6], [1.0])
    truth = 0.1 * of_unanimous + 0.9 * divergence([9.0], [1.0], [1.0])
    held = 0
    for _ in range(100):
        unanimous = rng.random(n) < 0.1
        right = np.where(unanimous, rng.random(n) >= wrong, 1.0)
        raw = np.where(unanimous, 10.0, 9.0), np.where(unanimous, 1e-6, 1.0)
        difference = paired("faithfulness_divergence", raw, raw, right, rng=rng, resamples=60).before
        held += difference.low <= truth <= difference.high
    assert held >= 90
