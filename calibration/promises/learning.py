"""Finds thresholds that keep all wishes at once, from labelled answers, or the number of labels that is needed.

The wishes share the probability of error equally (Bonferroni); one that is granted at every threshold passes its part
on. Then the lowest thresholds are taken at which every wish is kept: a set of answers whose share wrong is known to be
at most 5 % also keeps a promise of 20 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..arrays import FloatArray, probabilities, sample
from ..errors import RangeError
from .certificate import Promise, ServingThresholds
from .testing import (
    THRESHOLDS,
    Kept,
    Tails,
    abstaining_within,
    binomial_p_value,
    highest_allowed,
    lowest,
    plain_and_wrong_within,
    share_wrong_within,
    start_levels,
    upper_bound,
)
from .wishes import Wish

# Estimates how many labels are needed: the power of the tests if more labels look like the present ones.

POWER = 0.8
"""Probability that the estimated number of labels is enough, if the estimated shares are right."""
PRIOR = 20.0
"""Weight of the confidences, in labels: a few hundred labels alone make the best of many thresholds look too good."""
CAUTION = 0.6
"""Quantile of the posterior (Jeffreys) of a share that is used as a cautious estimate."""
NEARER = 0.2
"""Largest part of the distance to the limit that caution may use up.

The number of labels grows with the inverse square of the rest.
"""
TRIED = 5
"""Number of thresholds for which the number of labels is computed exactly."""
MOST = 10_000_000
"""A need of more labels than this counts as impossible."""


def labels_needed(tails: Tails, wish: Wish, level: float, *, at_least: float = 0.0) -> int | None:
    """Total number of labels, including the present ones, with which a wish will probably be granted at some threshold.

    Parameters
    ----------
    tails : Tails
    wish : Wish
        Of the share wrong.
    level : float
        Probability of error of the wish, in (0, 1).
    at_least : float
        Thresholds below it do not help.

    Returns
    -------
    int or None
        Rounded up to two digits. None: at every threshold the answers above are too often wrong, as far as these labels go.

    Notes
    -----
    **Source**: ours. For each threshold the smallest number of labels with which an exact binomial test, at about its
    level, succeeds with `POWER` if the share wrong is as the labels and the confidences suggest; the smallest of all
    thresholds. It is an estimate: the share is unknown, and near the limit twice the distance needs a quarter of the
    labels. Simulated in `benchmarks.evidence.promises`.
    """
    limit = wish.limit or 0.0
    if wish.subject == "plain_and_wrong":
        return _joint(tails, limit, level, wish.on_average)
    levels = np.cumsum(start_levels(wish, level)) / 2.0 + start_levels(wish, level) / 2.0
    n, thresholds = tails.n, np.array(THRESHOLDS)
    wrong, of = tails.wrong + PRIOR * _expected(tails), n + PRIOR
    (usable,) = np.nonzero((n > 0) & (thresholds >= at_least) & (levels > 0.0) & (wrong / of < limit))
    shares = _cautious(wrong, of, limit)
    rough = _rough_size(limit, shares[usable], levels[usable]) * tails.total / n[usable]
    best = usable[np.argsort(rough)[:TRIED]]
    sizes = [smallest_size(limit, shares[i], levels[i]) * tails.total / n[i] for i in best]
    return _rounded(min(sizes, default=float("inf")))


def _expected(tails: Tails) -> FloatArray:
    """The share wrong above each threshold by the confidences, scaled to the overall share; 1 where none are above."""
    confidence = -np.sort(-tails.confidence)
    above = np.concatenate([[0.0], np.cumsum(1.0 - confidence)])[tails.n.astype(np.int64)]
    share = np.divide(above, tails.n, out=np.ones_like(above), where=tails.n > 0)
    return np.asarray(np.minimum(share * (tails.wrong[-1] + 1.0) / (above[-1] + 1.0), 1.0))


def _cautious(wrong: FloatArray, n: FloatArray, limit: float) -> FloatArray:
    """The share wrong, raised a little, since the best of many thresholds looks better than it is.

    It stays below the limit if the observed share does.
    """
    nearer = (1.0 - NEARER) * wrong / n + NEARER * limit
    return np.asarray(np.minimum(special.betaincinv(wrong + 0.5, n - wrong + 0.5, CAUTION), nearer))


def _rough_size(limit: float, share: FloatArray, level: FloatArray) -> FloatArray:
    """An approximation of `smallest_size` by the normal distribution, to select thresholds for the exact one."""
    reach = special.ndtri(1.0 - level) * np.sqrt(limit * (1.0 - limit)) + special.ndtri(POWER) * np.sqrt(
        share * (1.0 - share)
    )
    return np.asarray((reach / (limit - share)) ** 2)


def _joint(tails: Tails, limit: float, level: float, on_average: bool) -> int | None:
    if tails.wrong[0] / tails.total >= limit:
        return None
    share = float(_cautious(tails.wrong[:1], np.array([float(tails.total)]), limit)[0])
    return _rounded(1.0 / (limit - share) if on_average else smallest_size(limit, share, level))


def smallest_size(limit: float, share: float, level: float) -> float:
    """Smallest number of labels for which a binomial test shows a limit with `POWER` at a true share below it.

    Examples
    --------
    >>> smallest_size(0.05, 0.0, 0.05), smallest_size(0.05, 0.02, 0.05)
    (59.0, 260.0)
    """
    low, high = 1, 2
    while not _enough(high, limit, share, level):
        low, high = high, high * 2
        if high > MOST:
            return float("inf")
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if _enough(middle, limit, share, level) else (middle, high)
    return float(high)


def _enough(n: int, limit: float, share: float, level: float) -> bool:
    most = np.floor(special.bdtrik(level, n, limit) + 1e-9) if special.bdtr(0, n, limit) <= level else -1.0
    while most >= 0 and special.bdtr(most, n, limit) > level:
        most -= 1
    return bool(most >= 0 and special.bdtr(most, n, share) >= POWER)


def _rounded(size: float) -> int | None:
    return two_digits(size) if size <= MOST else None


def two_digits(size: float) -> int:
    """A number rounded up to two digits, since it is only an estimate.

    Examples
    --------
    >>> two_digits(56_774), two_digits(101), two_digits(7)
    (57000, 110, 7)
    """
    unit = int(10 ** max(0, int(log10(max(size, 1.0))) - 1))
    return ceil(size / unit) * unit


FEW = 20
"""Fewest answers for a note on the share wrong among the most confident ones."""
COPIES, NEAR = 1e-6, 11
"""Probability of so many equal labels by chance, below which rows are copies; and how many confidences share the right answers of those near them."""
UNCLEAR = 0.05
"""p-value above which the labels do not rule out that the limit can be kept."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A wish that the labels do not support.

    Attributes
    ----------
    wish : Wish
    reason : str
        Why, as a clause.
    labels_needed : int or None
        How many more labels would probably be enough; None: no number would, or these labels do not tell.
    """

    wish: Wish
    reason: str
    labels_needed: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result: what can be promised.

    Attributes
    ----------
    promises : tuple[Promise, ...]
        The wishes that are granted, in the order of their sets.
    refused : tuple[Refused, ...]
        Those that are not.
    thresholds : ServingThresholds or None
        They keep all promises together; None unless every wish is granted.
    n : int
        Labelled answers.
    share_plain, share_answered : float or None
        Share of them at or above the thresholds; None where there is no such threshold.
    notes : tuple[str, ...]
        What is remarkable about the labels, in words.
    """

    promises: tuple[Promise, ...]
    refused: tuple[Refused, ...]
    thresholds: ServingThresholds | None
    n: int
    share_plain: float | None
    share_answered: float | None
    notes: tuple[str, ...]

    @property
    def certified(self) -> bool:
        """Whether every wish is granted."""
        return self.thresholds is not None

    @property
    def labels_needed(self) -> int | None:
        """How many more labels would probably be enough for all wishes.

        0 if none are needed, None if no number would be enough or can be estimated.
        """
        needed = [refused.labels_needed for refused in self.refused]
        return None if None in needed else max((n for n in needed if n is not None), default=0)


def learn(confidence: ArrayLike, correct: ArrayLike, wishes: Sequence[Wish], *, level: float = 0.05) -> Outcome:
    """Thresholds on the calibrated confidence that keep every wish.

    They do so with probability 1 - `level` over the draw of the labels.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        Calibrated means in [0, 1], of a map that was not fitted on these labels.
    correct : array_like, shape (n,)
        Labels in [0, 1], 1 = right; grades between are allowed.
    wishes : sequence of Wish
        As `parse_all` gives them.
    level : float
        Probability, in (0, 1), that not all promises hold.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range, the shapes do not fit together, or every row occurs several times.

    Notes
    -----
    **Sources**: Angelopoulos, Bates, Candès, Jordan & Lei 2021 (Learn then Test) for shares among the answers above a threshold;
    Bates, Angelopoulos, Lei, Malik & Jordan 2021 and Angelopoulos, Bates, Fisch, Lei & Schuster 2022 (conformal risk control) for shares of all
    answers; Waudby-Smith & Ramdas 2024 where labels are graded. **Assumes** that labelled answers and those served later are exchangeable.

    Examples
    --------
    >>> from hedgerow.calibration.promises.wishes import parse_all
    >>> confidence, correct = [0.9] * 400 + [0.5] * 400, [1] * 392 + [0] * 8 + [1, 0] * 200
    >>> outcome = learn(confidence, correct, parse_all(["plain_wrong <= 5%"]))
    >>> outcome.thresholds.plain, outcome.share_plain
    (0.85, 0.5)
    >>> learn([0.9] * 20, [1] * 20, parse_all(["plain_wrong <= 5%"])).labels_needed
    370
    """
    p, y = sample(confidence=probabilities("confidence", confidence), correct=probabilities("correct", correct))
    if not 0.0 < level < 1.0:
        raise RangeError(f"level must be in (0, 1), got {level!r}")
    _refuse_repetitions(p, y)
    search = _Search(Tails.of(p, y), wishes, level)
    thresholds = search.run()
    tails = search.tails
    plain = None if thresholds is None or thresholds.plain is None else float(np.mean(p >= thresholds.plain))
    answered = None if thresholds is None else float(np.mean(p >= thresholds.answer))
    order = {wish: place for place, wish in enumerate(wishes)}
    promises = tuple(sorted(search.promises, key=lambda promise: order[promise.wish]))
    refused = tuple(search.refused)
    return Outcome(promises, refused, thresholds, tails.total, plain, answered, _notes(p, y))


class _Search:
    """One search: the tests of all wishes, and the lowest thresholds that keep all of them."""

    def __init__(self, tails: Tails, wishes: Sequence[Wish], level: float) -> None:
        self.tails = tails
        self.level = level / max(1, _tested(wishes))
        self.promises: list[Promise] = []
        self.refused: list[Refused] = []
        of = {subject: [w for w in wishes if w.subject == subject and w.limit is not None] for subject in _SUBJECTS}
        self.nested = sorted([*of["answered"], *of["worded"], *of["plain"]], key=lambda wish: wish.rank)
        self.joint, self.abstaining = of["plain_and_wrong"], of["abstain"]
        self.kept: dict[Wish, list[Kept]] = {}
        inherited = 0.0
        for wish in self.nested:
            self.kept[wish], inherited = share_wrong_within(tails, wish, self.level, inherited)

    def run(self) -> ServingThresholds | None:
        """The thresholds; None if a wish had to be refused."""
        answer, plain, reached = 0.0, None, 0.0
        worded: list[tuple[float, float]] = []
        for wish in self.nested:
            if wish.subject == "plain":
                continue
            threshold = self._nested(wish, max(reached, wish.words_from or 0.0))
            if threshold is None:
                continue
            reached = threshold
            if wish.subject == "answered":
                answer = threshold
            else:
                worded.append((wish.words_from or 0.0, threshold))
        if self.joint or any(wish.subject == "plain" for wish in self.nested):
            plain = self._plain(reached)
        self._abstain(answer)
        return None if self.refused else ServingThresholds(answer, plain, tuple(worded))

    def _nested(self, wish: Wish, at_least: float) -> float | None:
        """The lowest threshold that keeps a wish about the share wrong above it; keeping a stricter wish also counts."""
        limit = wish.limit or 0.0
        fitting = [kept for other, all_kept in self.kept.items() if (other.limit or 0.0) <= limit for kept in all_kept]
        best = lowest(fitting, at_least, self.tails)
        if best is None:
            self._refuse(wish, at_least)
            return None
        self._grant(wish, best)
        return THRESHOLDS[best.place]

    def _plain(self, at_least: float) -> float | None:
        """The lowest threshold for plain answers that keeps all wishes about them."""
        for wish in self.joint:
            best = lowest(plain_and_wrong_within(self.tails, wish, self.level), at_least, self.tails)
            if best is None:
                self._refuse(wish, at_least)
                return None
            at_least = THRESHOLDS[best.place]
        threshold: float | None = at_least
        for wish in self.nested:
            if wish.subject == "plain":
                threshold = self._nested(wish, at_least)
        if threshold is not None:
            place = THRESHOLDS.index(threshold)
            for wish in self.joint:
                self._grant(wish, Kept(place, 1.0 if wish.on_average else self.level))
        return threshold

    def _abstain(self, answer: float) -> None:
        for wish in self.abstaining:
            if self.refused:
                self.refused.append(Refused(wish, "it depends on the wishes that cannot be granted", 0))
                continue
            kept = abstaining_within(self.tails, wish, self.level)
            if answer <= highest_allowed(kept):
                self._grant(wish, Kept(THRESHOLDS.index(answer), self.level))
                continue
            below = 1.0 - self.tails.n[THRESHOLDS.index(answer)] / self.tails.total
            why = f"what the other wishes ask for leaves {below:.0%} unanswered from these data: they contradict each other"
            self.refused.append(Refused(wish, why))

    def _grant(self, wish: Wish, kept: Kept) -> None:
        tails, place = self.tails, kept.place
        inside, wrong = float(tails.n[place]), float(tails.wrong[place])
        n, share = inside, inside / tails.total
        if wish.subject == "abstain":
            n, wrong, share = tails.total, tails.total - inside, 1.0 - share
        elif wish.subject == "plain_and_wrong":
            n = tails.total
        bound = upper_bound(tails, wish, kept)
        self.promises.append(Promise(wish, THRESHOLDS[place], int(n), wrong, bound, kept.level, share))

    def _refuse(self, wish: Wish, at_least: float) -> None:
        size = labels_needed(self.tails, wish, self.level, at_least=max(at_least, wish.words_from or 0.0))
        if size is not None:
            more = max(size - self.tails.total, 1)
            self.refused.append(
                Refused(wish, f"not with these data: about {two_digits(more):,} more labels would do", more)
            )
            return
        self.refused.append(Refused(wish, _hopeless(self.tails, wish.limit or 0.0, at_least)))


def _tested(wishes: Sequence[Wish]) -> int:
    """Number of wishes that share the probability of error.

    Wishes to leave nothing unanswered, or on average, need none of it.
    """
    withheld = any(wish.subject == "answered" for wish in wishes)
    return sum(
        wish.limit is not None and not wish.on_average and (withheld or wish.subject != "abstain") for wish in wishes
    )


_SUBJECTS = ("answered", "worded", "plain", "plain_and_wrong", "abstain")


def _hopeless(tails: Tails, limit: float, at_least: float) -> str:
    """Why more labels would not help, or why the number cannot be estimated."""
    shares = [
        (tails.wrong[place] / tails.n[place], place)
        for place in range(len(THRESHOLDS))
        if tails.n[place] >= min(FEW, tails.total) and THRESHOLDS[place] >= at_least
    ]
    if not shares:
        return f"hardly an answer has a confidence of {at_least:g} or more"
    share, place = min(shares)
    n = int(tails.n[place])
    least = f"of the {n} answers from {THRESHOLDS[place]:g} on {share:.0%} are wrong, and nowhere fewer"
    if binomial_p_value(n - tails.wrong[place], n, 1.0 - limit) > UNCLEAR:
        return f"not with these data: {least}; they are too few to say how many more would do"
    return f"not with this confidence: {least}; more labels would not change that"


def _refuse_repetitions(confidence: FloatArray, correct: FloatArray) -> None:
    """Refuse data that were put together from copies: every row occurs several times, or equal confidences have equal labels far too often."""
    _, counts = np.unique(confidence + 1j * correct, return_counts=True)
    times = int(np.gcd.reduce(counts))
    if counts.size >= FEW and times > 1:
        raise RangeError(
            f"every labelled answer occurs {times} times or a multiple of that: copies are not evidence; keep one of each"
        )
    _, place, size = np.unique(confidence, return_inverse=True, return_counts=True)
    right = np.bincount(place, correct) / size
    several = size > 1
    if several.sum() < FEW or not np.isin(right[several], (0.0, 1.0)).all():
        return
    near_right, near_all = (np.convolve(column, np.ones(NEAR), mode="same")[several] for column in (right * size, size))
    near = (near_right + 0.5) / (near_all + 1.0)
    if np.log(near ** size[several] + (1.0 - near) ** size[several]).sum() < np.log(COPIES):
        raise RangeError(
            f"{int(size[several].sum()):,} of {correct.size:,} labelled answers share their confidence, and always the label too: they are copies, "
            "which are not evidence; keep one of each"
        )


def _notes(confidence: FloatArray, correct: FloatArray) -> tuple[str, ...]:
    """Notes on unusual properties of the labels."""
    notes = []
    if (correct == 1.0).all():
        notes.append(f"Not one of the {correct.size} labels says wrong: make sure that wrong answers get labels too.")
    if (correct == 0.0).all():
        notes.append(
            f"All {correct.size} labels say wrong, as where only complaints are labelled; a promise needs labels on a random share of the answers."
        )
    if ((correct > 0.0) & (correct < 1.0)).any():
        notes.append("Some labels lie between wrong and right; they count in part, and bounds are those of betting.")
    if confidence.min() == confidence.max():
        notes.append("All answers have one confidence: a threshold can only take all of them or none.")
    return tuple(notes)


# Thins labels drawn with unequal probabilities, for tests that need equally likely labels.


def thinned(drawn: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which labels to keep so that every answer had the same probability to be labelled and kept.

    Parameters
    ----------
    drawn : array_like, shape (n,)
        Probability, in (0, 1], with which each answer was drawn to be labelled. It may depend on all that was known of the answer, never on
        whether it was right.
    rng : numpy.random.Generator
        Source of randomness. Use a fixed seed, so that nobody can choose among several draws.

    Returns
    -------
    ndarray of bool, shape (n,)
        Each label is kept with probability least / drawn, where least is the smallest of `drawn`; all where these are equal.

    Raises
    ------
    RangeError, ShapeError
        If a probability is not in (0, 1], or there is none.

    Notes
    -----
    An answer is labelled and kept with probability drawn * least / drawn = least, which is the same for all. So the
    kept labels are a simple random sample of all answers, and every test of shares is exact on them, for any n.
    **Source**: the acceptance-rejection method of von Neumann 1951. **Deviates**: weights of 1 / drawn (Horvitz &
    Thompson 1952) use all labels, but the counts are then not binomial: the tests would have to bet on weighted losses,
    whose bounds are wider if most labels have equal weights, and conformal risk control would need weights of future
    answers. Of n labels about n times the harmonic share least * mean(1 / drawn) are kept.

    Examples
    --------
    >>> thinned([0.5, 0.5, 0.5], rng=np.random.default_rng(0)).tolist()
    [True, True, True]
    >>> int(thinned([0.1] * 500 + [1.0] * 5000, rng=np.random.default_rng(0)).sum())
    1022
    """
    (p,) = sample(drawn=probabilities("drawn", drawn))
    if p.min() <= 0.0:
        raise RangeError("drawn must be > 0")
    kept: NDArray[np.bool_] = rng.random(p.size) < p.min() / p
    return kept
