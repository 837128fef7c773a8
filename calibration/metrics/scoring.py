"""Scores of confidences: expected Brier and log loss of one answer, intervals for mean losses, AUROC and the risk of giving only the most confident answers.

The confidence is a distribution, so the expected scores integrate over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray, confidence_sample, outcomes, parameters, same_shape
from ..errors import NotEnoughData
from .bootstrap import Indices, Interval, require_resampling


def _columns(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, ...]:
    return same_shape(
        alpha=parameters("alpha", alpha), beta=parameters("beta", beta), correct=outcomes("correct", correct)
    )


def expected_brier(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> FloatArray:
    """Expected Brier score E[(p - y)^2], p ~ Beta(alpha, beta), of each answer.

    Parameters
    ----------
    alpha, beta : array_like
        Finite, >= 1e-6.
    correct : array_like
        0 or 1.

    Returns
    -------
    ndarray of float64
        In [0, 1], lower = better; the mean over answers is the score of a model.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: RALC A.2.1: variance plus squared distance of the mean from y. **Deviates**: none in value.

    Examples
    --------
    >>> expected_brier([9.0, 9.0], [1.0, 1.0], [1, 0]).round(6).tolist()
    [0.018182, 0.818182]
    """
    a, b, y = _columns(alpha, beta, correct)
    k = a + b
    miss = np.where(y == 1.0, b / k, a / k)
    score: FloatArray = (a / k) * (b / k) / (k + 1.0) + miss * miss
    return score


def expected_nll(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> FloatArray:
    """Expected log loss E[-ln p(y)], p ~ Beta(alpha, beta), of each answer.

    Parameters and errors as for `expected_brier`.

    Returns
    -------
    ndarray of float64
        Nats, > 0, lower = better; up to 1e6 where the side that came true stands at the 1e-6 floor.

    Notes
    -----
    **Source**: RALC A.3: psi(alpha + beta) - psi(alpha) for y = 1, with beta for y = 0. **Deviates**: none. Where the other
    parameter is far below this one the difference of the digammas keeps an absolute, not a relative, 1e-15.

    Examples
    --------
    >>> expected_nll([9.0, 9.0], [1.0, 1.0], [1, 0]).round(6).tolist()
    [0.111111, 2.828968]
    """
    a, b, y = _columns(alpha, beta, correct)
    loss: FloatArray = special.digamma(a + b) - special.digamma(np.where(y == 1.0, a, b))
    return loss


# Intervals for mean losses whose rare outcome may cost most and may by chance be missing from the answers.

Loss = Callable[[ArrayLike, ArrayLike, ArrayLike], FloatArray]
"""The loss of each answer, from (alpha, beta, correct)."""
_IMPOSSIBLE = 1e-3
"""Mean up to which a confidence treats an outcome as nearly impossible, as unanimous samples do.

Means from 1 minus this do so for the other outcome.
"""
_UNSEEN = 1.0 / 3.0
"""Pseudo-answers with each outcome that such confidences get; so the median of the posterior is the observed share."""


def loss_change(
    loss: Loss,
    before: tuple[FloatArray, FloatArray],
    after: tuple[FloatArray, FloatArray],
    correct: FloatArray,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 200,
    on_resample: Callable[[], None] | None = None,
    groups: ArrayLike | None = None,
) -> tuple[Interval, Interval, Interval]:
    """The mean losses of two confidences on the same answers, and their difference, each with an interval.

    Parameters
    ----------
    loss : callable
        One value per answer, such as `faithfulness_divergence`; may be unbounded.
    before, after : tuple[ndarray, ndarray], shape (n,) each
        (alpha, beta) of every answer, in the same order.
    correct : ndarray, shape (n,)
        0 or 1.
    rng : numpy.random.Generator
        Source of the resamples.
    level : float
        In (0, 1).
    resamples : int
        >= 2.
    on_resample : callable, optional
        Called after each resample.
    groups : array_like, shape (n,), optional
        Answers of one group, such as claims of one text, get equal weights.

    Raises
    ------
    RangeError
        If `level` or `resamples` is out of range.

    Notes
    -----
    A wrong answer among thirty unanimous ones would cost more than all others together, but a bootstrap only repeats
    what was observed. So confidences that treat an outcome as nearly impossible also get a third of a right and a third
    of a wrong answer with their average losses; all get random weights. **Source**: the Bayesian bootstrap of Rubin,
    Annals of Statistics 9 (1981), with the neutral prior of Kerman, Electronic Journal of Statistics 5 (2011), for the
    share of right answers; intervals are extended to the estimate as for a share (Brown, Cai & DasGupta 2001, 4.1.2).
    **Deviates**: none. docs/evidence/intervals.md has the measured coverage.

    Examples
    --------
    >>> from hedgerow.calibration.divergence import faithfulness_divergence
    >>> raw, mapped = (np.full(35, 10.0), np.full(35, 1e-6)), (np.full(35, 9.0), np.full(35, 1.0))
    >>> before, after, change = loss_change(faithfulness_divergence, raw, mapped, np.ones(35), rng=np.random.default_rng(0))
    >>> before.estimate < 1e-6, before.high > 1.0, change.estimate > 0.0 > change.low
    (True, True, True)
    """
    require_resampling(level, resamples)
    losses = _losses(loss, before, after, correct)
    shape, place = _weighed(correct.size, losses.shape[1] - correct.size, groups)
    means = np.empty((resamples, len(losses)))
    for i in range(resamples):
        weights = rng.standard_gamma(shape)[place]
        means[i] = losses @ weights / weights.sum()
        if on_resample is not None:
            on_resample()
    estimates = losses[:, : correct.size].mean(axis=1)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    one, other, change = (
        Interval(float(e), float(min(a, e)), float(max(b, e))) for e, a, b in zip(estimates, low, high, strict=True)
    )
    return one, other, change


def _weighed(n: int, unseen: int, groups: ArrayLike | None) -> tuple[FloatArray, Indices]:
    """(number of answers behind each random weight, index of the weight of each answer and each unseen outcome)."""
    _, place = np.unique(np.arange(n) if groups is None else np.asarray(groups), return_inverse=True)
    seen = int(place.max()) + 1
    return np.repeat([1.0, _UNSEEN], [seen, unseen]), np.concatenate([place, seen + np.arange(unseen)])


def _losses(
    loss: Loss, before: tuple[FloatArray, FloatArray], after: tuple[FloatArray, FloatArray], correct: FloatArray
) -> FloatArray:
    """Losses before, after, and their difference, shape (3, n + unseen): by answer, then means of unseen outcomes."""
    mean = before[0] / (before[0] + before[1])
    extremes = [at for at in (mean < _IMPOSSIBLE, mean > 1.0 - _IMPOSSIBLE) if at.any()]
    columns = []
    for alpha, beta in (before, after):
        by_outcome = [loss(alpha, beta, np.full(correct.shape, outcome)) for outcome in (0.0, 1.0)]
        unseen = [one[at].mean() for at in extremes for one in by_outcome]
        columns.append(np.concatenate([np.where(correct == 1.0, by_outcome[1], by_outcome[0]), unseen]))
    return np.stack([*columns, columns[1] - columns[0]])


# How well a confidence separates right from wrong answers: AUROC, and the risk of giving only the most confident ones.


def auroc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Probability that a right answer is more confident than a wrong one, ties counting half.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        In [0, 1]; for distributions, their means (RALC E.1).
    correct : array_like, shape (n,)
        0 or 1; both must occur.

    Returns
    -------
    float
        In [0, 1]; higher = better, 0.5 = chance.

    Raises
    ------
    NotEnoughData
        If all answers are right or all are wrong.
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Hanley & McNeil 1982; the Mann-Whitney statistic. **Deviates**: none.

    Examples
    --------
    >>> auroc([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    0.875
    """
    p, y = confidence_sample(confidence, correct)
    right = int(y.sum())
    wrong = p.size - right
    if right == 0 or wrong == 0:
        raise NotEnoughData(f"auroc needs right and wrong answers, got {right} right and {wrong} wrong")
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2.0
    return float((rank[place] @ y - right * (right + 1) / 2.0) / (right * wrong))


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """Risk if only the most confident answers are given; arrays of one shape, coverage ascending.

    Attributes
    ----------
    coverage : ndarray
        Share of questions answered, in (0, 1]; one entry for each distinct confidence.
    risk : ndarray
        Share of wrong answers among those given.
    threshold : ndarray
        Lowest confidence that is still answered.
    """

    coverage: FloatArray
    risk: FloatArray
    threshold: FloatArray


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """Selective risk by coverage, one point per threshold.

    Parameters and errors as for `aurc`.

    Notes
    -----
    **Source**: El-Yaniv & Wiener 2010; Geifman & El-Yaniv 2017. **Deviates**: answers of one confidence are given together
    or not at all, since no threshold separates them.

    Examples
    --------
    >>> curve = risk_coverage([0.9, 0.8, 0.8, 0.1], [1, 1, 0, 0])
    >>> curve.coverage.tolist(), curve.risk.round(3).tolist(), curve.threshold.tolist()
    ([0.25, 0.75, 1.0], [0.0, 0.333, 0.5], [0.9, 0.8, 0.1])
    """
    p, y = confidence_sample(confidence, correct)
    values, place, counts = np.unique(-p, return_inverse=True, return_counts=True)
    answered = np.cumsum(counts)
    wrong = np.cumsum(np.bincount(place, 1.0 - y))
    return RiskCoverage(coverage=answered / p.size, risk=wrong / answered, threshold=-values)


def aurc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Area under the risk-coverage curve: the mean risk over all coverages 1/n, 2/n, ..., 1.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        In [0, 1]; only its order matters.
    correct : array_like, shape (n,)
        0 or 1.

    Returns
    -------
    float
        In [0, 1]; lower = better.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Geifman, Uziel & El-Yaniv 2019. **Deviates**: among answers of one confidence the order is that of chance, so the
    expected number of wrong ones grows evenly; the value does not depend on the order of the records.

    Examples
    --------
    >>> round(aurc([0.9, 0.8, 0.7, 0.1], [1, 1, 0, 0]), 6)
    0.208333
    """
    p, y = confidence_sample(confidence, correct)
    _, place, counts = np.unique(-p, return_inverse=True, return_counts=True)
    wrong = np.bincount(place, 1.0 - y)
    each = np.repeat(wrong / counts, counts)
    return float(np.mean(np.cumsum(each) / np.arange(1, p.size + 1)))
