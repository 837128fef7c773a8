"""Evaluates maps on answers that they were not fitted on: one map on the last part of the records, or several signals and maps on the same answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import FloatArray, beta_sample
from .errors import CalibrationError, NotEnoughData, RangeError
from .fitted import FittedMap
from .fitting import (
    HeldOutError,
    MeasuredBy,
    first_part,
    fit_map,
    out_of_fold,
    paired_metrics,
    random_folds,
    shared_training,
    summarise,
    unseen,
)
from .maps.base import apply_map, map_class
from .metrics.bootstrap import Groups, Interval, groups_of, taken, too_few_groups
from .metrics.table import Betas, Paired


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The metrics of a map on records that it was not fitted on.

    Attributes
    ----------
    fitted : FittedMap
        The map, learned on the first records.
    correct : ndarray, shape (n,)
        Outcomes of the records measured.
    raw, calibrated : tuple[ndarray, ndarray]
        (alpha, beta) of the same records before and after the map.
    before, after : Mapping[str, float]
        Every metric that is defined on the data.
    changes : Mapping[str, Paired]
        The same metrics and their change by the map, with 95 % intervals; empty if none were requested.
    """

    fitted: FittedMap
    correct: FloatArray
    raw: tuple[FloatArray, FloatArray]
    calibrated: tuple[FloatArray, FloatArray]
    before: Mapping[str, float]
    after: Mapping[str, float]
    changes: Mapping[str, Paired]


def evaluate(
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    *,
    kind: str = "platt",
    train_fraction: float = 0.3,
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    on_resample: Callable[[], None] | None = None,
    groups: ArrayLike | None = None,
    **options: Any,
) -> Evaluation:
    """Fit on the first `train_fraction` of the records, in their order, and measure on the rest.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Raw confidences, finite and >= 1e-6.
    correct : array_like, shape (n,)
        0 or 1.
    kind : str
        Kind of the map, a name in `hedgerow.calibration.maps.KINDS`.
    train_fraction : float
        In (0, 1).
    resamples : int
        Bootstrap resamples for intervals, 0 for none; needs `rng`.
    rng : numpy.random.Generator
        Source of the resamples.
    on_resample : callable, optional
        Called after each resample of each metric, of both confidences.
    groups : array_like, shape (n,), optional
        Records of one group, such as claims of one text, are resampled together, and not measured if any of them was used
        for the fit. With fewer than 20 groups to measure there are no intervals; a note of the map says so.
    **options
        As for the fit.

    Raises
    ------
    NotEnoughData
        If nothing is left to fit on or to measure, or the fit has too little data.
    RangeError, ShapeError, NegativeSlope
        As for the fit.

    Notes
    -----
    **Source**: RALC 5.3.1, the first 30 % of each data set. **Deviates**: none.
    """
    a, b, y = beta_sample(alpha, beta, correct)
    if not 0.0 < train_fraction < 1.0:
        raise RangeError(f"train_fraction must be in (0, 1), got {train_fraction!r}")
    each = groups_of(groups, y.size)
    train, rest = _parts(y.size, train_fraction, each)
    fitted = _fit_first(kind, (a[:train], b[:train], y[:train]), y.size, groups=taken(each, slice(train)), **options)
    a, b, y, measured = a[rest], b[rest], y[rest], taken(each, rest)
    mapped = apply_map(fitted.map, a, b)
    before, after = summarise(a, b, y), summarise(*mapped, y)
    changes: dict[str, Paired] = {}
    if resamples and (reason := too_few_groups(measured)) is not None:
        notes = (*fitted.provenance.notes, f"no intervals: {reason}")
        fitted = replace(fitted, provenance=replace(fitted.provenance, notes=notes))
    elif resamples and rng is not None:
        how: dict[str, Any] = {"resamples": resamples, "rng": rng, "on_resample": on_resample, "groups": measured}
        changes = paired_metrics((a, b), mapped, y, before, **how)
    return Evaluation(fitted, y, (a, b), mapped, before, after, changes)


def _parts(n: int, train_fraction: float, groups: Groups) -> tuple[int, NDArray[np.bool_]]:
    """The number of records to learn from, and which records are measured."""
    train = first_part(n, train_fraction)
    share = f"train_fraction {train_fraction:g} of {n} labelled answers"
    if train == 0:
        raise NotEnoughData(f"{share} leaves none to fit on; label more of them")
    rest = unseen(n, train, groups)
    if not rest.any():
        why = "" if groups is None else ": all are parts of an answer that the fit has seen"
        raise NotEnoughData(f"{share} leaves none to measure{why}")
    return train, rest


def _fit_first(kind: str, columns: tuple[FloatArray, FloatArray, FloatArray], n: int, **options: Any) -> FittedMap:
    """Fit a map on the first records, with an error message that says so if they are insufficient."""
    try:
        return fit_map(kind, *columns, **options)
    except NotEnoughData as error:
        first = columns[0].size
        raise NotEnoughData(f"{error}; the map is fitted on the first {first} of {n} answers") from error


# Compares signals and maps on the same answers, each answer calibrated by a map that was not fitted on it.

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
