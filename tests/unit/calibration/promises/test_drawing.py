"""Labels drawn with unequal probabilities: thinned, they are a simple random sample, and promises on them keep their level."""

import numpy as np
import pytest
from scipy import stats

from hedgerow.calibration.errors import RangeError, ShapeError
from hedgerow.calibration.promises.learning import learn, thinned
from hedgerow.calibration.promises.wishes import parse

LIVES = 300
LEVEL = 0.05


def drawn_labels(rng):
    """Half of 2,000 answers wrong 5 % and labelled eight times in ten, half wrong 45 % and labelled once in ten: of all answers 25 % are wrong."""
    hard = rng.random(2000) < 0.5
    p, wrong = np.where(hard, 0.1, 0.8), rng.random(2000) < np.where(hard, 0.45, 0.05)
    judged = rng.random(2000) < p
    return p[judged], wrong[judged].astype(float)


def test_false_promises_are_granted_no_more_often_than_stated():
    """Just above the limit. Taken as they are the labels grant it always, for four fifths of them are of the easy kind."""
    rng = np.random.default_rng(4)
    wish = parse("answered_wrong <= 24.9%")
    granted = {"as they are": 0, "thinned": 0}
    for life in range(LIVES):
        p, wrong = drawn_labels(rng)
        kept = thinned(p, rng=np.random.default_rng(life))
        for name, of in (("as they are", wrong), ("thinned", wrong[kept])):
            granted[name] += learn(np.full(of.size, 0.8), 1.0 - of, [wish], level=LEVEL).certified
    assert granted["as they are"] == LIVES
    assert granted["thinned"] <= stats.binom.ppf(0.999, LIVES, LEVEL)


def test_what_is_kept_is_a_simple_random_sample():
    """As many of each kind as of the others, whatever their lots, in numbers that a binomial explains; labels of one lot are all kept."""
    rng = np.random.default_rng(5)
    population = np.repeat([0.05, 0.2, 1.0], 40_000)
    judged = population[rng.random(population.size) < population]
    kept = judged[thinned(judged, rng=np.random.default_rng(0))]
    for p in (0.05, 0.2, 1.0):
        assert stats.binomtest(int((kept == p).sum()), 40_000, 0.05).pvalue > 0.001
    assert thinned([0.3] * 9, rng=rng).all()


def test_what_is_no_probability_is_refused():
    with pytest.raises(RangeError, match="drawn must be > 0"):
        thinned([0.5, 0.0], rng=np.random.default_rng(0))
    with pytest.raises(RangeError):
        thinned([1.5], rng=np.random.default_rng(0))
    with pytest.raises(ShapeError):
        thinned([], rng=np.random.default_rng(0))
