"""The paper's estimator: smoothing, the correction within the range, and the learned geometry."""

import numpy as np
import pytest
from scipy import special

from benchmarks.evidence.regime_geometry import Answers, Training, grid, learn_field
from benchmarks.evidence.regime_smoothing import best_scale, correct_within, draw_bank, proxy, smooth
from hedgerow.calibration.errors import NotEnoughData, RangeError, ShapeError


def test_smoothing_is_the_weighted_mean_that_the_definition_says():
    rng = np.random.default_rng(0)
    query, bank, residual = rng.normal(size=(5, 3)), rng.normal(size=(40, 3)), rng.uniform(-1, 1, 40)
    weights = np.exp(-((query[:, None] - bank[None]) ** 2).sum(axis=2) / 0.7**2)
    field = smooth(query, bank, residual, bandwidth=0.7)
    np.testing.assert_allclose(field.delta, weights @ residual / weights.sum(axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(field.mass, weights.sum(axis=1), rtol=1e-4)


def test_far_from_everything_the_field_is_zero_and_without_mass():
    field = smooth([[1e6]], [[0.0], [1.0]], [0.5, 0.5], bandwidth=0.1)
    assert field.delta.tolist() == [0.0]
    assert field.mass.tolist() == [0.0]


def test_a_correction_stays_within_the_range_and_keeps_the_sign():
    f, d = np.meshgrid(np.linspace(0, 1, 11), np.linspace(-1, 1, 21))
    moved = correct_within(f, d, scale=5.0)
    assert ((moved >= 0) & (moved <= 1)).all()
    assert (np.sign(moved - f)[(d != 0) & (f > 0) & (f < 1)] == np.sign(d)[(d != 0) & (f > 0) & (f < 1)]).all()
    f, y = np.full(100, 0.8), np.r_[np.ones(50), np.zeros(50)]
    chosen = best_scale(f, np.full(100, -0.3), y)
    assert correct_within(f, -0.3, scale=chosen).mean() == pytest.approx(0.5, abs=0.05)
    assert proxy(f, np.full(100, -0.3), y) == pytest.approx(0.25)


def test_a_bank_is_drawn_without_repeats():
    assert draw_bank(10, np.random.default_rng(0)).tolist() == list(range(10))
    drawn = draw_bank(1000, np.random.default_rng(0), limit=50)
    assert len(set(drawn.tolist())) == 50


def test_what_cannot_be_smoothed_is_refused():
    with pytest.raises(RangeError, match="bandwidth"):
        smooth([[0.0]], [[0.0]], [0.1], bandwidth=0.0)
    with pytest.raises(ShapeError):
        smooth([[0.0]], [[0.0, 1.0]], [0.1], bandwidth=1.0)
    with pytest.raises(ShapeError):
        smooth([], [[0.0]], [0.1], bandwidth=1.0)


def test_a_learned_geometry_recovers_two_regimes_and_repeats_itself():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1500, 2))
    logit, shift = rng.normal(0, 0.5, 1500), np.where(x[:, 0] > 0, 1.0, -1.0)
    truth = special.expit(logit + shift) - special.expit(logit)
    y = (rng.random(1500) < special.expit(logit + shift)).astype(float)
    f = special.expit(logit)
    train, validation = Answers.of(x[:1000], f[:1000], y[:1000]), Answers.of(x[1000:1200], f[1000:1200], y[1000:1200])
    quick = Training(width=32, out=8, batch=250, epochs=4, learning_rate=3e-3)
    field = learn_field(train, validation, grid((0.3, 0.6), (1e-3,), quick), seed=1)
    assert np.corrcoef(field.at(x[1200:]).delta, truth[1200:])[0, 1] > 0.9
    before, after = f[1200:], field.corrected(x[1200:], f[1200:])
    assert np.mean((after - y[1200:]) ** 2) < np.mean((before - y[1200:]) ** 2) - 0.01
    again = learn_field(train, validation, grid((0.3, 0.6), (1e-3,), quick), seed=1)
    np.testing.assert_array_equal(again.at(x[1200:]).delta, field.at(x[1200:]).delta)
    with pytest.raises(NotEnoughData):
        learn_field(train, validation, ())
