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
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray, probabilities, sample
from ..errors import RangeError
from .wishes import Wish

# One-sided upper bounds of a share, valid for every finite number of labels: exact binomial, and by betting.
#
# The binomial ones are for labels 0 or 1, the betting ones for grades in [0, 1]. No normal approximation, because it
# fails for few labels and small shares.

_HALVINGS = 50


def binomial_p_value(wrong: ArrayLike, n: ArrayLike, limit: float) -> FloatArray:
    """Probability of at most `wrong` of `n` if the share equals the limit; small = the share is below the limit.

    Parameters
    ----------
    wrong, n : array_like, of one shape
        Whole numbers, 0 <= wrong <= n. Where n = 0 the result is 1.
    limit : float
        In (0, 1).

    Returns
    -------
    ndarray
        p-values of "the share is more than the limit", valid for every n: P(p <= x) <= x.

    Notes
    -----
    **Source**: the binomial tail, as in Bates, Angelopoulos, Lei, Malik & Jordan 2021 ("Distribution-free, risk-controlling prediction sets")
    for losses of 0 and 1.

    Examples
    --------
    >>> binomial_p_value([0, 0, 13], [20, 59, 412], 0.05).round(4).tolist()
    [0.3585, 0.0485, 0.0473]
    """
    k, size = np.broadcast_arrays(np.asarray(wrong, dtype=np.float64), np.asarray(n, dtype=np.float64))
    return np.where(size > 0, special.bdtr(np.floor(k), np.maximum(size, 1).astype(np.int64), limit), 1.0)


def clopper_pearson_upper(wrong: float, n: int, level: float) -> float:
    """Upper bound of a share after `wrong` of `n`; too small with probability at most `level`.

    Parameters
    ----------
    wrong : float
        Whole number, 0 <= wrong <= n.
    n : int
        >= 0; 0 gives 1.
    level : float
        Probability of error, in (0, 1).

    Notes
    -----
    **Source**: Clopper & Pearson 1934, one-sided.

    Examples
    --------
    >>> round(clopper_pearson_upper(0, 20, 0.05), 4), round(clopper_pearson_upper(9, 412, 0.05), 4)
    (0.1391, 0.0378)
    """
    _require_level(level)
    if not 0 <= wrong <= n:
        raise RangeError(f"wrong must be in [0, {n}], got {wrong!r}")
    return 1.0 if wrong >= n else float(special.betaincinv(wrong + 1.0, n - wrong, 1.0 - level))


def betting_p_value(values: ArrayLike, limit: float, level: float) -> float:
    """p-value of "the mean is above the limit" for values in [0, 1]; small = the mean is at most the limit.

    It is 1 / (the largest capital that a gambler against that hypothesis ever had).

    Parameters
    ----------
    values : array_like, shape (n,)
        In [0, 1], in the order in which they came; they may be of any distribution. Empty: 1.
    limit : float
        In (0, 1).
    level : float
        Probability of error that the bets are sized for, in (0, 1). The p-value is valid whatever it is.

    Notes
    -----
    **Source**: the one-sided Waudby-Smith-Ramdas bound of Bates, Angelopoulos, Lei, Malik & Jordan 2021 (section 3.1): predictable plug-in bets
    of Waudby-Smith & Ramdas 2024 ("Estimating means of bounded random variables by betting") for n values, at most 1, so that the bound is
    monotone in the limit; valid by Ville's inequality. **Deviates**: none.

    Examples
    --------
    >>> round(betting_p_value([0.0] * 70, 0.05, 0.05), 3), betting_p_value([0.5] * 70, 0.05, 0.05)
    (0.034, 1.0)
    """
    observed = _values(values)
    return 1.0 if observed.size == 0 else float(np.exp(-_most_owned(observed, _bets(observed, level), limit)))


def betting_upper(values: ArrayLike, level: float) -> float:
    """Upper bound of the mean of values in [0, 1]; too small with probability at most `level`.

    Parameters as for `betting_p_value`.

    Examples
    --------
    >>> round(betting_upper([0.0, 0.1] * 200, 0.05), 3)
    0.059
    """
    _require_level(level)
    observed = _values(values)
    if observed.size == 0:
        return 1.0
    bets = _bets(observed, level)
    if _most_owned(observed, bets, 1.0) < -np.log(level):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if _most_owned(observed, bets, middle) >= -np.log(level) else (middle, high)
    return high


def _bets(values: FloatArray, level: float) -> FloatArray:
    """The stake on each value, computed from the earlier values."""
    n = values.size
    counts = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(values)) / (counts + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (counts + 1)
    before = np.concatenate([[0.25], variances[:-1]])
    bets: FloatArray = np.minimum(1.0, np.sqrt(2.0 * np.log(1.0 / level) / (n * before)))
    return bets


def _most_owned(values: FloatArray, bets: FloatArray, limit: float) -> float:
    """Logarithm of the largest capital that the gambler ever had; the capital starts at 1."""
    factors = 1.0 + bets * (limit - values)
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.cumsum(np.log(np.maximum(factors, 0.0))).max()))


def _values(values: ArrayLike) -> FloatArray:
    array = probabilities("values", values)
    return array if array.size == 0 else sample(values=array)[0]


def _require_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise RangeError(f"level must be in (0, 1), got {level!r}")


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
