"""What a model means by its own hedges, in one period beside the one before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hedgerow.proxy.audit.counts import MarkerSums
from hedgerow.proxy.monitoring.markers import compared


def sums(confidences, marker="probably", route="a"):
    held = np.asarray(confidences, float)
    return MarkerSums(route, marker, held.size, float(held.sum()), float((held**2).sum()))


def test_mean_and_change_have_the_intervals_of_welch():
    rng = np.random.default_rng(5)
    before, now = rng.uniform(0.5, 1.0, 400), rng.uniform(0.2, 0.9, 500)
    (found,) = compared([sums(now)], [sums(before)])
    assert (found.answers, found.before) == (500, 400)
    assert found.mic.estimate == pytest.approx(now.mean())
    of_mean = stats.norm.interval(0.95, now.mean(), stats.sem(now))
    assert (found.mic.low, found.mic.high) == pytest.approx(of_mean, abs=1e-4)
    theirs = stats.ttest_ind(now, before, equal_var=False).confidence_interval()
    assert (found.change.low, found.change.high) == pytest.approx((theirs.low, theirs.high), abs=1e-3)
    assert found.drifts


def test_the_same_confidence_is_no_drift_and_few_answers_before_are_not_compared():
    held = np.tile([0.6, 0.8, 1.0], 20)
    (same,) = compared([sums(held)], [sums(held)])
    assert (same.change.estimate, same.drifts) == (pytest.approx(0.0), False)
    (new,) = compared([sums(held)], [sums(held[:19])])
    assert (new.before, new.earlier, new.change, new.drifts) == (19, None, None, False)


def test_rare_markers_and_drafts_with_several_are_left_out_and_routes_are_kept_apart():
    held = np.full(30, 0.7)
    now = [sums(held[:19], "perhaps"), sums(held, "<several>"), sums(held[:25], "seem"), sums(held, "seem", "b")]
    found = compared(now, [sums(held, "seem", "a")])
    assert [(row.route, row.marker, row.before) for row in found] == [("b", "seem", 0), ("a", "seem", 30)]
