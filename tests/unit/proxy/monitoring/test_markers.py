"""What hedges mean, a model's own and those that clients were served, in one period beside the one before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hedgerow.proxy.audit.counts import Sums
from hedgerow.proxy.audit.hours import MARKER, SERVED_MARKER
from hedgerow.proxy.audit.spoken import SERVED
from hedgerow.proxy.monitoring.markers import MarkerDrift, drift, in_steps

EDGES = [0.0, 1.0, 2.0]


def sums(confidences, marker="probably", route="a", kind=MARKER):
    held = np.asarray(confidences, float)
    return (kind, route, marker), Sums(held.size, float(held.sum()), float((held**2).sum()))


def drifts(before, now, graded=None) -> list[MarkerDrift]:
    asked = {(kind, at, *of): each for at, half in enumerate((before, now)) for (kind, *of), each in half}
    return drift(in_steps(asked, 2), EDGES, graded or {})


def test_mean_and_change_have_the_intervals_of_welch():
    rng = np.random.default_rng(5)
    before, now = rng.uniform(0.5, 1.0, 400), rng.uniform(0.2, 0.9, 500)
    (row,) = drifts([sums(before)], [sums(now)])
    assert (row.answers, row.before) == (500, 400)
    assert row.mic.estimate == pytest.approx(now.mean())
    of_mean = stats.norm.interval(0.95, now.mean(), stats.sem(now))
    assert (row.mic.low, row.mic.high) == pytest.approx(of_mean, abs=1e-4)
    theirs = stats.ttest_ind(now, before, equal_var=False).confidence_interval()
    assert (row.change.low, row.change.high) == pytest.approx((theirs.low, theirs.high), abs=1e-3)
    assert row.drifts
    assert [step.answers for step in row.curve] == [400, 500]


def test_the_same_confidence_is_not_drift_and_few_answers_before_are_not_compared():
    held = np.tile([0.6, 0.8, 1.0], 20)
    (same,) = drifts([sums(held)], [sums(held)])
    assert (same.change.estimate, same.drifts) == (pytest.approx(0.0), False)
    (new,) = drifts([sums(held[:19])], [sums(held)])
    assert (new.before, new.earlier, new.change, new.drifts) == (19, None, None, False)
    (sure,) = drifts([], [sums(np.append(np.full(19, 1.0), 0.9))])
    assert sure.mic.high == 1.0
    (whole,) = drift(in_steps({(MARKER, 0, "a", "probably"): sums(held)[1]}, 1), (), {})
    assert (whole.answers, whole.before, whole.curve) == (60, 0, ())


def test_rare_markers_and_drafts_with_several_are_left_out_and_routes_are_kept_apart():
    held = np.full(30, 0.7)
    now = [sums(held[:19], "perhaps"), sums(held, "<several>"), sums(held[:25], "seem"), sums(held, "seem", "b")]
    rows = drifts([sums(held, "seem", "a")], now)
    assert [(row.route, row.marker, row.before) for row in rows] == [("b", "seem", 0), ("a", "seem", 30)]


def test_a_hedge_that_was_served_goes_by_its_words_with_verdicts_and_peoples_reading():
    """An entry of the lexicon and the draft's own word are one marker; an entry of a lexicon of one's own goes by its id."""
    now = [
        (np.full(20, 0.6), "i-am-fairly-sure"),
        (np.full(10, 0.3), "fairly sure"),
        (np.full(20, 0.5), "house-style-7"),
    ]
    graded = {(SERVED, "a", "fairly sure"): (8, 6.0)}
    made = drifts([], [sums(held, name, kind=SERVED_MARKER) for held, name in now], graded)
    rows = {row.marker: row for row in made}
    sure = rows["fairly sure"]
    assert (sure.words, sure.answers, sure.mic.estimate) == (SERVED, 30, pytest.approx(0.5))
    assert (sure.graded, sure.right.estimate) == (8, 0.75)
    assert sure.right.low < 0.75 < sure.right.high
    assert 0.5 < sure.people < 0.9
    assert (rows["house-style-7"].people, rows["house-style-7"].right) == (None, None)
