"""People's readings become Betas: by moments, and over surveys with a random source effect."""

import numpy as np
import pytest

from benchmarks.fits.pooling import between_variance, fit_source, pool, pool_phrases
from tests.support.tables import cases


def test_moments_are_those_of_the_readings() -> None:
    """The pooled Beta of one survey has the readings' own mean and variance."""
    readings = np.random.default_rng(1).beta(7, 3, 500)
    (beta,), _ = pool_phrases([[fit_source(readings)]])
    assert beta.mean == pytest.approx(readings.mean())
    assert beta.variance == pytest.approx(readings.var(ddof=1), rel=1e-9)


def test_the_error_of_a_fit_is_honest() -> None:
    """The delta-method error of the log concentration is the scatter that simulation shows."""
    rng = np.random.default_rng(2)
    fits = [fit_source(rng.beta(7, 3, 300)) for _ in range(400)]
    scatter = np.std([fit.log_concentration for fit in fits])
    assert np.mean([fit.log_concentration_variance for fit in fits]) ** 0.5 == pytest.approx(scatter, rel=0.15)


def test_a_big_survey_does_not_drown_a_small_one() -> None:
    """With surveys that differ, 5,000 readers weigh little more than 50."""
    rng = np.random.default_rng(3)
    phrases = [
        [fit_source(rng.beta(14 + 4 * d, 6 - 2 * d, 5000)), fit_source(rng.beta(14 - 4 * d, 6 + 2 * d, 50))]
        for d in (1, -1, 0.5)
    ]
    betas, (tau, _) = pool_phrases(phrases)
    assert tau > 0.2
    low, high = sorted(1 / (1 + np.exp(-fit.logit)) for fit in phrases[0])
    assert abs(betas[0].mean - (low + high) / 2) < 0.2 * (high - low)


def test_dersimonian_laird_on_the_textbook_case() -> None:
    """One phrase, equal variances: the estimate is the sample variance less the sampling variance (closed form)."""
    y, s2 = np.array([0.0, 1.0, 2.0]), np.full(3, 0.25)
    assert between_variance([y], [s2]) == pytest.approx(y.var(ddof=1) - 0.25)
    assert between_variance([np.array([1.0, 1.0])], [np.ones(2)]) == 0.0
    assert between_variance([np.array([1.0])], [np.ones(1)]) == 0.0
    assert pool(y, s2, 1.0) == pytest.approx(1.0)


@cases("readings", [[0.5] * 19, [0.5] * 30, [0.0, 1.0] * 20, [0.2] * 30 + [1.2]])
def test_readings_that_fit_no_beta_are_refused(readings: list[float]) -> None:
    """Too few, all the same, all at the ends, out of range."""
    with pytest.raises(ValueError, match="readings"):
        fit_source(readings)
