"""cMFG of what was served, by voice and over time."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.proxy.audit.spoken import SpokenAnswers
from hedgerow.proxy.monitoring.faithful import OWN, PLAIN, SERVED, over_time, voices


def said(served, calibrated, own=None, raw=None, times=None):
    n = len(calibrated)
    nothing = np.full(n, np.nan)
    return SpokenAnswers(
        created_at=np.arange(n, dtype=float) if times is None else np.asarray(times, float),
        route=np.array(["a"] * n, dtype=object),
        raw=np.asarray(calibrated if raw is None else raw, float),
        calibrated=np.asarray(calibrated, float),
        served=np.asarray(served, float),
        own=nothing if own is None else np.asarray(own, float),
        abstained=0,
        complete=True,
    )


def test_plain_answers_are_at_one_half_and_words_at_the_confidence_near_one():
    confidence = (np.arange(200) + 0.5) / 200
    plain = np.full(200, 0.95)  # people read a plain assertion at .93: nothing is held back
    measured = voices(said(confidence, confidence, own=plain))
    assert measured[PLAIN].figures.cmfg.estimate == pytest.approx(0.5, abs=0.01)
    assert measured[OWN].figures.cmfg.estimate == pytest.approx(0.5, abs=0.01)
    assert measured[SERVED].figures.cmfg.estimate > 0.99
    assert measured[SERVED].figures.cmfg.low <= measured[SERVED].figures.cmfg.estimate


def test_own_words_that_were_not_read_have_no_voice_and_few_answers_have_none():
    confidence = (np.arange(200) + 0.5) / 200
    assert OWN not in voices(said(confidence, confidence))
    assert voices(said([0.5] * 19, [0.5] * 19)) == {}


def test_words_that_drift_from_the_confidence_show_over_time():
    confidence = np.tile((np.arange(50) + 0.5) / 50, 8)
    served = np.concatenate([confidence[:200], np.ones(200)])
    chart = over_time(said(served, confidence, own=np.ones(400), times=np.arange(400)))["cmfg"]
    times, low, high, of_served, own = chart
    assert len(times) == 10
    assert min(of_served[:5]) > 0.9
    assert max(of_served[-4:]) < 0.65
    assert all(a <= b <= c for a, b, c in zip(low, of_served, high, strict=True))
    assert own[0] == pytest.approx(0.5, abs=0.1)


def test_a_period_without_answers_has_no_chart():
    assert over_time(said([], [])) == {"cmfg": []}
