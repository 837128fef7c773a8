"""Does the served wording match the confidence? cMFG and decisiveness by confidence, of the drafts' own words and of the served words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...calibration.arrays import FloatArray
from ...calibration.metrics import (
    DecisivenessCurve,
    FaithfulnessFigures,
    decisiveness_curve,
    faithfulness_figures,
)
from ...lexicon.perception.decisive import decisiveness
from ..audit.spoken import OWN_WORDS, SERVED, SpokenAnswers
from ..types import Json
from .figures import inside, stretches

MIN_ANSWERS = 20
"""Fewest answers that an estimate is made from."""
RESAMPLES = 200
PLAIN, OWN = "plain answer", OWN_WORDS
VOICES = (PLAIN, OWN, SERVED)
"""The three wordings: the answer without a hedge, the model's own, and the served one."""


@dataclass(frozen=True, slots=True)
class Voice:
    """The figures of one wording."""

    figures: FaithfulnessFigures
    curve: DecisivenessCurve


def columns(spoken: SpokenAnswers) -> Mapping[str, tuple[FloatArray, FloatArray]]:
    """(decisiveness, confidence) for each wording; for the model's own words only where they were measured."""
    confidence = spoken.calibrated
    known = ~np.isnan(spoken.own)
    return {
        PLAIN: (np.ones(confidence.size), confidence),
        OWN: (decisiveness(spoken.own[known]), confidence[known]),
        SERVED: (decisiveness(spoken.served), confidence),
    }


def voices(spoken: SpokenAnswers, resamples: int = RESAMPLES) -> dict[str, Voice]:
    """Every wording with enough answers."""
    by_voice = columns(spoken).items()
    return {name: voice(*pair, resamples) for name, pair in by_voice if pair[0].size >= MIN_ANSWERS}


def voice(decisive: FloatArray, confidence: FloatArray, resamples: int = RESAMPLES) -> Voice:
    """The figures of one wording. Confidences are rounded to three digits, so that equal ones are resampled together, which is faster."""
    decisive, confidence = np.round(decisive, 3), np.round(confidence, 3)
    faithful, rng = 1.0 - np.abs(decisive - confidence), np.random.default_rng(0)
    measured = faithfulness_figures(decisive, confidence, faithful, rng=rng, resamples=resamples)
    return Voice(measured, decisiveness_curve(decisive, confidence))


def over_time(spoken: SpokenAnswers) -> Json:
    """CMFG over time as [times, low, high, served, own words]; empty without enough answers for two intervals."""
    parts = stretches(spoken.created_at, MIN_ANSWERS)
    rows = [_stretch(spoken.where(inside(spoken.created_at, part))) for part in parts]
    if all(row[0] is None for row in rows):
        return {"cmfg": []}
    times = [(low + high) / 2 for low, high in parts]
    return {"cmfg": [times, *map(list, zip(*rows, strict=True))]}


def _stretch(spoken: SpokenAnswers) -> list[float | None]:
    """Lower end, upper end and estimate for the served words, and the estimate for the drafts' own words."""
    by_voice = columns(spoken)
    served, own = by_voice[SERVED], by_voice[OWN]
    if served[0].size < MIN_ANSWERS:
        return [None, None, None, None]
    cmfg = voice(*served).figures.cmfg
    of_own = voice(*own, resamples=0).figures.cmfg.estimate if own[0].size >= MIN_ANSWERS else None
    return [cmfg.low, cmfg.high, cmfg.estimate, of_own]
