"""Intervals for mean losses whose rare outcome may cost most and may by chance be missing from the answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from .bootstrap import Indices, Interval, require_resampling

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
