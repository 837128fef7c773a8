"""Finds the thresholds that keep one wish: one test per threshold, with a bound on the probability of any error.

The thresholds (`THRESHOLDS`) and the starting points are the same for all data: the order of the tests does not depend
on the labels. Testing goes down from each start while it succeeds, so that the level is divided among the starts and
not among all thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from ..arrays import FloatArray
from .bounds import (
    betting_p_value,
    betting_upper,
    binomial_p_value,
    clopper_pearson_upper,
)
from .wishes import Wish

THRESHOLDS: tuple[float, ...] = (
    0.999, 0.998, 0.996, 0.994, 0.992, *(round(0.99 - 0.005 * i, 3) for i in range(18)), *(round(0.9 - 0.01 * i, 2) for i in range(91)),
)  # fmt: skip
"""Confidences that are tried as thresholds, descending; the last is 0."""
STARTS: tuple[tuple[float, float], ...] = ((0.2, 0.15), (0.5, 0.25), (1.0, 0.25), (1.75, 0.2), (3.0, 0.15))
"""Starting points of the tests: (number of limits below 1, part of the level).

A calibrated confidence c is wrong with probability 1 - c.
"""


@dataclass(frozen=True, slots=True)
class Tails:
    """Labelled answers above each threshold; arrays of the length of `THRESHOLDS`.

    Attributes
    ----------
    n : ndarray
        Labels at or above each threshold.
    wrong : ndarray
        How many of these are wrong; grades count in part.
    graded : bool
        Whether any label lies between wrong and right.
    total : int
        All labels.
    """

    confidence: FloatArray
    badness: FloatArray
    n: FloatArray
    wrong: FloatArray
    graded: bool

    @property
    def total(self) -> int:
        """All labels."""
        return self.confidence.size

    @classmethod
    def of(cls, confidence: FloatArray, correct: FloatArray) -> Tails:
        """From the columns (confidence, correct), shape (n,); they are checked."""
        badness = 1.0 - correct
        order = np.argsort(-confidence, kind="stable")
        counts = np.searchsorted(-confidence[order], -np.array(THRESHOLDS), side="right")
        wrong = np.concatenate([[0.0], np.cumsum(badness[order])])[counts]
        graded = bool(((badness > 0.0) & (badness < 1.0)).any())
        return cls(confidence, badness, counts.astype(np.float64), wrong, graded)

    def inside(self, place: int) -> FloatArray:
        """1 - label of the answers at or above a threshold, in order."""
        return self.badness[self.confidence >= THRESHOLDS[place]]


@dataclass(frozen=True, slots=True)
class Kept:
    """A threshold that keeps a wish.

    Attributes
    ----------
    place : int
        Index into `THRESHOLDS`.
    level : float
        Probability of error of its test; 1 where the limit holds on average.
    """

    place: int
    level: float


def start_levels(wish: Wish, level: float) -> FloatArray:
    """The part of the level with which each of `THRESHOLDS` starts; they sum to `level`."""
    levels = np.zeros(len(THRESHOLDS))
    lowest = wish.words_from or 0.0
    for limits, part in STARTS:
        start = max(1.0 - limits * (wish.limit or 0.0), lowest, 0.0)
        place = next(i for i, threshold in enumerate(THRESHOLDS) if threshold <= start)
        levels[place - (place > 0 and THRESHOLDS[place] < lowest)] += part * level
    return levels


def share_wrong_within(tails: Tails, wish: Wish, level: float, inherited: float = 0.0) -> tuple[list[Kept], float]:
    """Thresholds above which the share wrong *of the answers above* is at most the wish's limit.

    Parameters
    ----------
    tails : Tails
    wish : Wish
        Its subject is "answered", "worded" (thresholds from its words on) or "plain".
    level : float
        Probability, in (0, 1), that any threshold is in the result whose true share is more than the limit.
    inherited : float
        More of it, from a wish that was granted at every threshold.

    Returns
    -------
    list of Kept, from above, and the level that the next wish inherits: that of the last test, if it succeeded.

    Notes
    -----
    **Source**: Learn then Test (Angelopoulos, Bates, Candès, Jordan & Lei 2021), with a risk that is conditional on the
    answer being in the set. Given the number of labels above a fixed threshold, the number of wrong ones is binomial
    (graded ones are bounded by betting), so each p-value is exact for the conditional risk. Family-wise control by the
    fallback procedure (Wiens 2003; as a graph Bretz, Maurer, Brannath & Posch 2009): from the highest threshold down,
    the level of a successful test is passed to the next; with several starts, since a single sequence that begins with
    few labels would end there.
    """
    limit = wish.limit or 0.0
    kept, carried = [], 0.0
    p = None if tails.graded else binomial_p_value(tails.wrong, tails.n, limit)
    for place, own in enumerate(start_levels(wish, level + inherited)):
        if THRESHOLDS[place] < (wish.words_from or 0.0):
            break
        available = float(own) + carried
        carried = 0.0
        if available == 0.0:
            continue
        value = betting_p_value(tails.inside(place), limit, level) if p is None else float(p[place])
        if value <= available:
            kept.append(Kept(place, available))
            carried = available
    return kept, carried


def plain_and_wrong_within(tails: Tails, wish: Wish, level: float) -> list[Kept]:
    """Thresholds above which the wrong answers are at most the wish's limit *of all answers*.

    Lower thresholds can only add wrong answers, so one sequence from the top down spends the whole level at each (Bates et al. 2021). On
    average: conformal risk control (Angelopoulos, Bates, Fisch, Lei & Schuster 2022), (wrong + 1) / (n + 1) <= limit, an expectation over the
    labels and the next answer.
    """
    limit = wish.limit or 0.0
    kept: list[Kept] = []
    for place in range(len(THRESHOLDS)):
        if wish.on_average:
            good, used = (tails.wrong[place] + 1.0) / (tails.total + 1.0) <= limit, 1.0
        elif tails.graded:
            outside = np.where(tails.confidence >= THRESHOLDS[place], tails.badness, 0.0)
            good, used = betting_p_value(outside, limit, level) <= level, level
        else:
            good, used = bool(binomial_p_value(tails.wrong[place], tails.total, limit) <= level), level
        if not good:
            break
        kept.append(Kept(place, used))
    return kept


def abstaining_within(tails: Tails, wish: Wish, level: float) -> list[Kept]:
    """Thresholds below which at most the wish's limit of all answers are; tested from 0 up in one sequence."""
    limit = wish.limit or 0.0
    kept = [Kept(len(THRESHOLDS) - 1, level)]
    for place in range(len(THRESHOLDS) - 2, -1, -1):
        below = tails.total - tails.n[place]
        if limit == 0.0 or binomial_p_value(below, tails.total, limit) > level:
            break
        kept.append(Kept(place, level))
    return kept


def upper_bound(tails: Tails, wish: Wish, kept: Kept) -> float:
    """Upper bound of the share at the level of the test, at most the limit; at level 0.05 for a promise on average."""
    level = kept.level if kept.level < 1.0 else 0.05
    if wish.subject == "abstain":
        return clopper_pearson_upper(tails.total - tails.n[kept.place], tails.total, level)
    if wish.subject == "plain_and_wrong":
        values = np.where(tails.confidence >= THRESHOLDS[kept.place], tails.badness, 0.0)
    else:
        values = tails.inside(kept.place)
    if tails.graded:
        return min(betting_upper(values, level), 1.0 if wish.on_average else wish.limit or 1.0)
    return clopper_pearson_upper(float(values.sum()), values.size, level)


def lowest(kept: Sequence[Kept], at_least: float, tails: Tails) -> Kept | None:
    """The threshold >= `at_least` with the most labels above it; the highest of several with the same labels.

    Where no label lies between two thresholds nothing is gained by the lower one, and answers that come there later are not let through unseen.
    """
    fitting = [option for option in kept if THRESHOLDS[option.place] >= at_least]
    return max(fitting, key=lambda one: (tails.n[one.place], -one.place), default=None)


def highest_allowed(kept: Sequence[Kept]) -> float:
    """The highest threshold that keeps a wish to abstain; infinite if there is no such wish."""
    return max((THRESHOLDS[option.place] for option in kept), default=inf)
