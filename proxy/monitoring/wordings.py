"""How often answers were right, by the wording that they were served with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ...calibration.metrics import Interval, wilson_interval
from ...lexicon import load
from ...lexicon.perception.people import people_read
from ..audit.queries import UNWORDED, LabelledAnswers

MIN_VERDICTS = 10
"""Fewest verdicts for a row."""
SHOWN = 20
"""Most rows, those with the most verdicts."""


@dataclass(frozen=True, slots=True)
class WordingFigures:
    """One wording on one route.

    Attributes:
        wording: the hedge's phrase; its id, if it is of a lexicon of the user's own; "" for the model's own words.
        verdicts: number of answers served with it that have a verdict.
        right: share of them that was right, with Wilson's 95 % interval.
        people: the confidence that people read in the phrase; None if unknown.
    """

    route: str
    wording: str
    verdicts: int
    right: Interval
    people: float | None


def by_wording(labelled: LabelledAnswers) -> list[WordingFigures]:
    """The wordings with the most verdicts, most frequent first."""
    counted, right = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for route, wording, correct in zip(labelled.route, labelled.wording, labelled.correct, strict=True):
        if route is not None and wording is not None:
            counted[route, wording] += 1
            right[route, wording] += correct
    ordered = sorted(counted, key=lambda key: (-counted[key], key))
    return [_figures(*key, counted[key], right[key]) for key in ordered if counted[key] >= MIN_VERDICTS][:SHOWN]


def _figures(route: str, wording: str, verdicts: int, right: float) -> WordingFigures:
    low, high = wilson_interval(np.array([right / verdicts]), np.array([float(verdicts)]))
    interval = Interval(right / verdicts, float(low[0]), float(high[0]))
    entry = None if wording == UNWORDED else load().get(wording)
    phrase = wording if entry is None else entry.phrase
    return WordingFigures(route, phrase, verdicts, interval, people_read(phrase).mean if phrase else None)
