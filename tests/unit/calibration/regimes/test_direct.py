"""The direct estimator and regimes on questions whose miscalibration is known."""

import numpy as np
import pytest
from scipy import special

from hedgerow.calibration.errors import NotEnoughData, RangeError, ShapeError
from hedgerow.calibration.regimes.direct import DirectEstimator, worth
from hedgerow.calibration.regimes.discovery import Columns, discover, mean_gap
from hedgerow.calibration.regimes.features import find_centres, kernel, linear
from hedgerow.calibration.regimes.vectors import squared_distances
from tests.support.tables import cases


def clusters(n, seed, shift=1.2, d=8):
    """Three kinds of questions: overconfident, calibrated, underconfident; the answers' rights and the true probability."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    x = (np.eye(d)[kind] * 2 + rng.normal(0, 0.4, (n, d))).astype(np.float32)
    logit = rng.normal(0.6, 0.8, n)
    truth = special.expit(logit + shift * (kind - 1))
    right = (rng.random(n) < truth).astype(float)
    return Columns(x, special.expit(logit), right, np.arange(n)), truth, kind


def fitted(train, seed=0):
    estimator = DirectEstimator(train.x, train.confidence, train.prompt, np.random.default_rng(seed))
    return estimator, estimator.fit(train.correct)


def test_it_learns_what_a_map_of_the_confidence_cannot():
    train, _, _ = clusters(2000, 0)
    held, truth, _ = clusters(1000, 1)
    _, field = fitted(train)
    local = field.corrected(held.x, held.confidence)
    base = field.base.means(held.confidence)
    assert np.mean((local - truth) ** 2) < 0.1 * np.mean((base - truth) ** 2)
    assert field.choice.brier < field.choice.brier_base


def test_questions_that_say_nothing_get_next_to_no_correction():
    train, _, _ = clusters(2000, 0, shift=0.0)
    held, truth, _ = clusters(1000, 1, shift=0.0)
    _, field = fitted(train)
    assert np.mean((field.corrected(held.x, held.confidence) - truth) ** 2) < 0.002
    regimes = discover(field, train, held, np.random.default_rng(0))
    assert regimes.regimes == ()


def test_regimes_are_found_with_their_sign_and_gap_and_not_where_there_are_none():
    train, _, _ = clusters(2000, 0)
    held, truth, kind = clusters(1500, 1)
    _, field = fitted(train)
    regimes = discover(field, train, held, np.random.default_rng(0))
    assert {regime.sign for regime in regimes.regimes} == {-1, 1}
    for regime in regimes.regimes:
        share = np.mean(kind[regime.rows] == (0 if regime.sign < 0 else 2))
        assert share > 0.9
        true_gap = np.mean(truth[regime.rows] - field.base.means(held.confidence[regime.rows]))
        assert regime.gap.low - 0.03 < true_gap < regime.gap.high + 0.03
        assert abs(regime.corrected_gap.mean) < abs(regime.gap.mean)


def test_answers_to_one_question_count_as_one_draw():
    residual, many = np.tile([0.5, -0.5, 0.25, -0.25], 50), np.arange(200)
    few = np.tile(np.arange(4), 50)
    assert mean_gap(residual, few).error > 5 * mean_gap(residual, many).error


def test_equal_questions_never_stand_on_both_sides_of_a_fold():
    train, _, _ = clusters(300, 0)
    prompt = np.arange(300) // 3
    estimator = DirectEstimator(train.x, train.confidence, prompt, np.random.default_rng(0))
    for number in range(100):
        assert len(set(estimator._fold[prompt == number])) == 1


@cases(("slope", "bounded"), [(3.0, 2.0), (1.2, 1.2), (-1.0, 0.0)])
def test_a_bounded_slope_leaves_the_mean_that_of_the_outcomes(slope, bounded):
    """Shifts that are worth more or less than the bounds allow; the mean was off by .046 and .035 with the bias of the unbounded slope."""
    rng = np.random.default_rng(4)
    under, z = rng.normal(0.5, 1.0, 20_000), rng.normal(0.4, 0.7, 20_000)
    y = (rng.random(20_000) < special.expit(under + slope * z)).astype(float)
    found, bias = worth(z, under, y)
    assert found == pytest.approx(bounded, abs=0.1)
    assert special.expit(under + found * z + bias).mean() == pytest.approx(y.mean(), abs=1e-6)


def test_too_little_is_refused_with_the_reason():
    train, _, _ = clusters(300, 0)
    rng = np.random.default_rng(0)
    with pytest.raises(NotEnoughData, match="60 answers to 60 different questions"):
        DirectEstimator(train.x[:60], train.confidence[:60], train.prompt[:60], rng)
    with pytest.raises(NotEnoughData, match="300 answers to 1 different questions"):
        DirectEstimator(train.x, train.confidence, np.zeros(300, int), rng)
    with pytest.raises(RangeError, match="x must be finite"):
        DirectEstimator(np.full((300, 4), np.nan), train.confidence, train.prompt, rng)
    with pytest.raises(ShapeError):
        DirectEstimator(train.x[:-1], train.confidence, train.prompt, rng)
    with pytest.raises(NotEnoughData, match="all 300 answers are right"):
        DirectEstimator(train.x, train.confidence, train.prompt, rng).fit(np.ones(300))


def test_features_of_equal_questions_are_equal_and_repeated_questions_make_few_centres():
    x = np.repeat(np.eye(4, dtype=np.float32), 50, axis=0)
    centres = find_centres(x, 30, np.random.default_rng(0))
    assert len(centres.at) == 4
    assert centres.count.sum() == 200
    for features in (linear(x), kernel(x, centres, 1.0)):
        columns = features(x)
        assert np.isfinite(columns).all()
        np.testing.assert_allclose(columns[:50], columns[:1].repeat(50, axis=0), atol=1e-5)
        assert (columns**2).sum(axis=1).mean() == pytest.approx(1.0, rel=1e-3)


def test_distances_are_those_of_numpy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(20, 5)).astype(np.float32), rng.normal(size=(7, 5)).astype(np.float32)
    expected = ((a[:, None] - b[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared_distances(a, b), expected, rtol=1e-4, atol=1e-5)
