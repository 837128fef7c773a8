"""Compares signals and maps on the same answers, each answer calibrated by a map that was not fitted on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import FloatArray, beta_sample
from .errors import CalibrationError, NotEnoughData, RangeError
from .fitting import HeldOutError, MeasuredBy, out_of_fold, random_folds, shared_training
from .maps.base import map_class
from .metrics.bootstrap import Groups, Interval, groups_of, taken, too_few_groups
from .metrics.table import Betas
from .summary import summarise

SHOWN = ("smooth_ece", "generalised_ece", "faithfulness_divergence", "auroc")
"""Metrics shown for each candidate beside its Brier score."""
Pair = tuple[str, str]
"""A signal and a kind of map."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Raw confidences of one signal, shape (n,) each; `measured_by` as of `fit_map`."""

    alpha: FloatArray
    beta: FloatArray
    measured_by: MeasuredBy | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A signal with a kind of map.

    Attributes
    ----------
    brier : float
        Mean of (calibrated mean - outcome)^2, in [0, 1]; lower is better. Candidates are ranked by it, because it is a
        proper score: it measures both calibration and the separation of right from wrong answers.
    figures : Mapping[str, float]
        The metrics of `SHOWN` that the data allow.
    difference : Interval
        Its Brier score minus that of the reference; nominally, the intervals of all candidates hold together in 95 of 100 cases. Below 0 = better.
    """

    signal: str
    kind: str
    brier: float
    figures: Mapping[str, float]
    difference: Interval

    @property
    def verdict(self) -> str:
        """`better` or `worse` than the reference if its interval excludes 0; else `even`."""
        return "better" if self.difference.high < 0.0 else "worse" if self.difference.low > 0.0 else "even"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Candidates from best to worst.

    Attributes
    ----------
    reference : tuple[str, str]
        The signal and the kind that all are compared with.
    n, folds : int
        Number of answers measured, and of folds.
    failed : Mapping[tuple[str, str], str]
        Candidates that could not be learned, with the reason.
    """

    reference: Pair
    n: int
    folds: int
    accuracy: float
    candidates: tuple[Candidate, ...]
    failed: Mapping[Pair, str]


def compare(
    signals: Mapping[str, Signal],
    correct: FloatArray,
    *,
    kinds: Sequence[str],
    reference: Pair,
    folds: int = 5,
    resamples: int = 2000,
    rng: np.random.Generator,
    on_candidate: Callable[[], None] = lambda: None,
    groups: ArrayLike | None = None,
) -> Comparison:
    """Rank signals and kinds of maps by the Brier score of held-out answers.

    Parameters
    ----------
    signals : Mapping[str, Signal]
        By name; all of the same answers in the same order.
    correct : ndarray, shape (n,)
        0 or 1.
    kinds : Sequence[str]
        Names in `hedgerow.calibration.maps.KINDS`.
    reference : tuple[str, str]
        One of the signals and one of the kinds, chosen before the answers are looked at, such as the default of
        `hedgerow fit`. Intervals around the difference to the best candidate would be biased, because it was chosen on
        the same answers.
    folds, resamples : int
        >= 2; folds are dealt once, the same for all.
    rng : numpy.random.Generator
        Source of the resamples.
    on_candidate : callable, optional
        Called after each candidate.
    groups : array_like, shape (n,), optional
        Answers of one group are held out and resampled together.

    Raises
    ------
    CalibrationError
        If the reference cannot be learned, there are fewer than 20 groups, a value is out of range or shapes do not fit together.

    Notes
    -----
    Simultaneous intervals of all differences: estimate -+ c s_j, with s_j the standard error over paired bootstrap
    resamples and c the 95 % quantile of their largest |deviation| / s_j (Romano & Wolf, Econometrica 73 (2005), without
    their steps); s_j is widened by `shared_training`. docs/evidence/intervals.md has their measured coverage.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> agree = rng.integers(1, 10, 400).astype(float)
    >>> right = (rng.random(400) < (agree / 10) ** 3).astype(float)
    >>> ranked = compare({"semantic": Signal(agree, 10 - agree)}, right, kinds=("identity", "platt"), reference=("semantic", "platt"), rng=rng)
    >>> [(one.kind, one.verdict) for one in ranked.candidates]
    [('platt', 'even'), ('identity', 'worse')]
    """
    if reference[0] not in signals or reference[1] not in kinds:
        raise RangeError(f"the reference {' with '.join(reference)} is not among the compared candidates")
    columns = {name: beta_sample(signal.alpha, signal.beta, correct) for name, signal in signals.items()}
    fold, kept = _folds(columns[reference[0]], folds, groups)
    held, failed = _held_out(signals, columns, kinds, fold, folds, on_candidate)
    if reference in failed:
        raise CalibrationError(f"{' with '.join(reference)}: {failed[reference]}")
    y = columns[reference[0]][2][fold < folds]
    losses = np.stack([(alpha / (alpha + beta) - y) ** 2 for alpha, beta in held.values()], axis=1)
    change = losses - losses[:, [list(held).index(reference)]]
    intervals = together(change, resamples=resamples, rng=rng, widen=shared_training(folds), groups=kept)
    rows = zip(held, losses.mean(axis=0), intervals, strict=True)
    candidates = [Candidate(*pair, float(brier), _figures(held[pair], y), change) for pair, brier, change in rows]
    candidates.sort(key=lambda candidate: candidate.brier)
    return Comparison(reference, y.size, folds, float(y.mean()), tuple(candidates), failed)


def _folds(
    columns: tuple[FloatArray, FloatArray, FloatArray], folds: int, groups: ArrayLike | None
) -> tuple[NDArray[np.int64], Groups]:
    """The fold of each answer, and the groups of those that take part."""
    each = groups_of(groups, columns[2].size)
    if (reason := too_few_groups(each)) is not None:
        raise NotEnoughData(reason)
    fold = random_folds(*columns, folds, each)
    return fold, taken(each, fold < folds)


def _held_out(
    signals: Mapping[str, Signal],
    columns: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]],
    kinds: Sequence[str],
    fold: NDArray[np.int64],
    folds: int,
    on_candidate: Callable[[], None],
) -> tuple[dict[Pair, Betas], dict[Pair, str]]:
    """Held-out calibrated confidences of each candidate; and the candidates that could not be learned, with the reason."""
    held, failed = dict[Pair, Betas](), dict[Pair, str]()
    for name, signal in signals.items():
        for kind in kinds:
            try:
                _, held[name, kind] = out_of_fold(map_class(kind).learn, columns[name], fold, folds, signal.measured_by)
            except HeldOutError as error:
                failed[name, kind] = str(error)
            on_candidate()
    return held, failed


def _figures(betas: Betas, correct: FloatArray) -> dict[str, float]:
    figures = summarise(*betas, correct)
    return {name: figures[name] for name in SHOWN if name in figures}


def together(
    values: NDArray[np.float64],
    *,
    resamples: int,
    rng: np.random.Generator,
    level: float = 0.95,
    widen: float = 1.0,
    groups: Groups = None,
) -> list[Interval]:
    """Means of columns with simultaneous intervals; constant columns get intervals of width 0.

    Parameters
    ----------
    values : ndarray, shape (n, m)
        One row per answer.
    resamples : int
        >= 2.
    rng : numpy.random.Generator
        Source of the resamples.
    level : float
        In (0, 1).
    widen : float
        > 0; factor of the standard errors, 1 for independent rows.
    groups : ndarray, shape (n,), optional
        Rows of one group are drawn together.

    Notes
    -----
    **Source**: as of `compare`.
    """
    n, m = values.shape
    means = values.mean(axis=0)
    deviations = np.empty((resamples, m))
    _, place = np.unique(np.arange(n) if groups is None else groups, return_inverse=True)
    lots = int(place.max()) + 1
    for i in range(resamples):
        drawn = rng.multinomial(lots, np.full(lots, 1.0 / lots))[place]
        deviations[i] = drawn @ values / drawn.sum() - means
    errors = np.sqrt((deviations**2).mean(axis=0))
    moving = errors > 1e-15
    widest = np.abs(deviations[:, moving] / errors[moving]).max(axis=1, initial=0.0)
    reach = widen * float(np.quantile(widest, level)) * np.where(moving, errors, 0.0)
    return [Interval(float(e), float(e - r), float(e + r)) for e, r in zip(means, reach, strict=True)]
