"""Do the words that were served mean the confidence behind them? cMFG and decisiveness by confidence, of the drafts' own words and of ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.calibration.metrics import (
    DecisivenessCurve,
    FaithfulnessFigures,
    decisiveness_curve,
    faithfulness_figures,
)
from hedgerow.lexicon.perception.decisive import decisiveness
from hedgerow.proxy.audit.spoken import OWN_WORDS, SERVED, SpokenAnswers
from hedgerow.proxy.monitoring.figures import inside, stretches
from hedgerow.proxy.types import Json

Against = Literal["calibrated", "raw"]
Floats = NDArray[np.float64]
MIN_ANSWERS = 20
"""Fewest answers that an estimate is made from."""
RESAMPLES = 200
PLAIN, OWN = "plain answer", OWN_WORDS
VOICES = (PLAIN, OWN, SERVED)
"""The answer without a hedge, as the model worded it, as the client got it."""


@dataclass(frozen=True, slots=True)
class Voice:
    """One way of saying the answers."""

    figures: FaithfulnessFigures
    curve: DecisivenessCurve


def columns(spoken: SpokenAnswers, against: Against = "calibrated") -> Mapping[str, tuple[Floats, Floats]]:
    """(decisiveness, confidence) of each voice; of the own words where they were read."""
    confidence = spoken.calibrated if against == "calibrated" else spoken.raw
    known = ~np.isnan(spoken.own)
    return {
        PLAIN: (np.ones(confidence.size), confidence),
        OWN: (decisiveness(spoken.own[known]), confidence[known]),
        SERVED: (decisiveness(spoken.served), confidence),
    }


def voices(spoken: SpokenAnswers, against: Against = "calibrated", resamples: int = RESAMPLES) -> dict[str, Voice]:
    """Every voice with answers enough."""
    by_voice = columns(spoken, against).items()
    return {name: voice(*pair, resamples) for name, pair in by_voice if pair[0].size >= MIN_ANSWERS}


def voice(decisive: Floats, confidence: Floats, resamples: int = RESAMPLES) -> Voice:
    """The figures of one. Confidences count to three digits: equal ones are drawn together, which keeps a page quick."""
    decisive, confidence = np.round(decisive, 3), np.round(confidence, 3)
    faithful, rng = 1.0 - np.abs(decisive - confidence), np.random.default_rng(0)
    measured = faithfulness_figures(decisive, confidence, faithful, rng=rng, resamples=resamples)
    return Voice(measured, decisiveness_curve(decisive, confidence))


def over_time(spoken: SpokenAnswers) -> Json:
    """CMFG by time as [times, low, high, served, own words]; empty where there are not answers enough for two stretches."""
    parts = stretches(spoken.created_at, MIN_ANSWERS)
    rows = [_stretch(spoken.where(inside(spoken.created_at, part))) for part in parts]
    if all(row[0] is None for row in rows):
        return {"cmfg": []}
    times = [(low + high) / 2 for low, high in parts]
    return {"cmfg": [times, *map(list, zip(*rows, strict=True))]}


def _stretch(spoken: SpokenAnswers) -> list[float | None]:
    """Low, high and estimate of what was served, and the estimate of the drafts' own words."""
    by_voice = columns(spoken)
    served, own = by_voice[SERVED], by_voice[OWN]
    if served[0].size < MIN_ANSWERS:
        return [None, None, None, None]
    cmfg = voice(*served).figures.cmfg
    of_own = voice(*own, resamples=0).figures.cmfg.estimate if own[0].size >= MIN_ANSWERS else None
    return [cmfg.low, cmfg.high, cmfg.estimate, of_own]
