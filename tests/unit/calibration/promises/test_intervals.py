"""Intervals of single confidences: wide where labels are few, around the confidence itself, kept with the map."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hedgerow.calibration import Beta, FittedMap
from hedgerow.calibration.errors import NotEnoughData
from hedgerow.calibration.fitted import interval, learn_intervals
from hedgerow.calibration.fitting import fit_map
from tests.support.tables import cases


def labelled(n, seed=1, samples=10):
    """Agreements among ten samples, right as often as their share squared."""
    rng = np.random.default_rng(seed)
    agree = rng.integers(1, samples + 1, n).astype(float)
    return agree, np.maximum(samples - agree, 1e-6), (rng.random(n) < (agree / samples) ** 2).astype(float)


def width(fitted, raw):
    low, high = interval(fitted, raw, fitted.map.apply(Beta(10 * raw, 10 * (1 - raw))).mean)
    return high - low


@cases("raw", [0.2, 0.5, 0.8])
def test_it_is_wide_where_labels_are_few(raw):
    widths = [
        np.mean([width(fit_map("venn-abers", *labelled(n, seed), folds=0), raw) for seed in range(8)])
        for n in (40, 400, 4000)
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


def test_between_the_places_that_labels_have_seen_it_spans_what_they_leave_open():
    """Nothing was ever labelled between .2 and .9: one answer there could be anything between the two."""
    mean, correct = np.repeat([0.2, 0.9], 200), np.r_[np.zeros(180), np.ones(20), np.zeros(10), np.ones(190)]
    low, high = learn_intervals(mean, correct).interval(0.5)
    assert low <= 0.11
    assert high >= 0.94


def test_the_ends_of_the_reference_procedure():
    """Vovk & Petej's procedure by hand, for answers at .3 (0, 1), .6 (1) and .8 (1): the new one is put in as wrong, then as right."""
    learned = learn_intervals(np.array([0.3, 0.3, 0.6, 0.8]), np.array([0.0, 1.0, 1.0, 1.0]))
    assert learned.interval(0.3) == pytest.approx((1 / 3, 2 / 3))
    assert learned.interval(0.6) == pytest.approx((1 / 2, 1.0))
    assert learned.interval(0.1) == pytest.approx((0.0, 2 / 3))


def test_it_holds_the_calibrated_mean_whatever_the_map_is():
    alpha, beta, correct = labelled(300)
    for kind in ("platt", "temperature", "isotonic", "histogram"):
        fitted = fit_map(kind, alpha, beta, correct, folds=0)
        for raw in (0.1, 0.5, 0.99):
            mean = fitted.map.apply(Beta(10 * raw, 10 * (1 - raw))).mean
            low, high = interval(fitted, raw, mean)
            assert 0.0 <= low <= mean <= high <= 1.0


def test_it_is_kept_with_the_map_and_absent_in_maps_that_were_stored_without():
    fitted = fit_map("platt", *labelled(200), folds=0)
    content = json.loads(json.dumps(fitted.to_dict()))
    assert FittedMap.from_dict(content).interval == fitted.interval
    del content["interval"]
    assert interval(FittedMap.from_dict(content), 0.5, 0.5) is None
    assert interval(None, 0.5, 0.5) is None


def test_labels_that_say_nothing_are_refused():
    with pytest.raises(NotEnoughData):
        learn_intervals(np.array([0.5, 0.6]), np.array([1.0, 1.0]))
