"""Fits a map and measures every metric on records that the fit did not use."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import FloatArray, beta_sample
from .drift import information, raw_histogram
from .errors import CalibrationError, NotEnoughData, RangeError
from .fitted import FittedMap, Provenance, learn_intervals
from .maps.base import Learned, apply_map, map_class
from .maps.nonparametric import VennAbersMap
from .metrics.bootstrap import Groups, groups_of, taken, too_few_groups
from .metrics.table import HEADLINE, METRICS, Betas, Paired, paired

# All metrics of a set of answers, for one confidence or for two.


def summarise(alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike) -> dict[str, float]:
    """All metrics of `METRICS` that are defined on the data (no AUROC of one class, no ten bins of nine records).

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Examples
    --------
    >>> summary = summarise([9.0, 9.0], [1.0, 1.0], [1, 0])
    >>> round(summary["generalised_ece"], 6), "ece_equal_mass" in summary
    (0.400195, False)
    """
    a, b, y = beta_sample(alpha, beta, correct)
    figures = {}
    for name, metric in METRICS.items():
        try:
            figures[name] = float(metric(a, b, y))
        except NotEnoughData:  # left out, as the docstring says
            continue
    return figures


def paired_metrics(
    before: Betas,
    after: Betas,
    correct: FloatArray,
    names: Iterable[str],
    *,
    resamples: int,
    rng: np.random.Generator,
    on_resample: Callable[[], None] | None = None,
    groups: Groups = None,
) -> dict[str, Paired]:
    """These metrics with intervals; without those that are undefined on most resamples."""
    changes = {}
    for name in names:
        try:
            changes[name] = paired(
                name, before, after, correct, rng=rng, resamples=resamples, on_resample=on_resample, groups=groups
            )
        except NotEnoughData:
            continue
    return changes


Learner = Callable[[FloatArray, FloatArray], Learned]
MeasuredBy = Callable[[NDArray[np.bool_]], tuple[FloatArray, FloatArray]]

CROSS_VALIDATED = 20_000
"""Maximum number of records for cross-validation; of more, a random sample is used, which is precise enough."""


def fit_map(
    kind: str,
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    *,
    signal: str = "",
    model: str = "",
    folds: int = 5,
    measured_by: MeasuredBy | None = None,
    resamples: int = 0,
    groups: ArrayLike | None = None,
    **options: Any,
) -> FittedMap:
    """Fit a map of a kind to raw confidences and outcomes.

    Parameters
    ----------
    kind : str
        A name in `hedgerow.calibration.maps.KINDS`.
    alpha, beta : array_like, shape (n,)
        Raw confidences, finite and >= 1e-6.
    correct : array_like, shape (n,)
        0 or 1; both must occur.
    signal, model : str
        Stored in the provenance: the signal, and the model that answered.
    folds : int
        Folds of the cross-validation, 0 for none; on a million records it takes about a third of the time.
    measured_by : callable, optional
        For raw confidences that were themselves learned from outcomes, such as a weighted sum of signals: given a mask of shape (n,),
        the raw (alpha, beta) of all records as measured by what is learned on the masked ones alone. Without it, the cross-validation
        would measure records by weights that have seen them.
    resamples : int
        Bootstrap resamples for the intervals of what the cross-validation finds changed in the headline metrics, 0 for none.
    groups : array_like, shape (n,), optional
        Records of one group, such as the claims of one text, are held out and resampled together. The map counts every record alike.
    **options
        Options of the kind, as of its class's `learn`: `allow_negative_slope` of the Platt maps, `bins` of the histogram, `weights` of every kind
        (with `folds=0`: they are not dealt into folds).

    Returns
    -------
    FittedMap
        The map and its provenance: n, accuracy, data hash, standard errors, and every metric before and after in
        cross-validation.

    Raises
    ------
    NotEnoughData
        If all answers are right, or all wrong, or all confidences equal.
    NegativeSlope
        If the map would turn the order of confidence round and that is not allowed.
    RangeError, ShapeError
        If there is no such kind, a value is out of range or the shapes do not fit together.

    Examples
    --------
    >>> alpha, beta = [9.0] * 60 + [4.0] * 40, [1.0] * 60 + [6.0] * 40
    >>> fitted = fit_map("platt", alpha, beta, [1] * 48 + [0] * 12 + [1] * 8 + [0] * 32)
    >>> fitted.map.means([0.9, 0.4]).round(6).tolist()
    [0.8, 0.2]
    """
    learn = partial(map_class(kind).learn, **options)
    a, b, y = beta_sample(alpha, beta, correct)
    learned = learn(a / (a + b), y)
    each = groups_of(groups, y.size)
    validation, remarks = _cross_validate(learn, (a, b, y), folds, measured_by, resamples, each) if folds else ({}, ())
    fitted = described(learned, (a, b, y), signal, model, options.get("weights"), each)
    notes = (*learned.notes, *remarks)
    return replace(fitted, provenance=replace(fitted.provenance, cross_validation=validation, notes=notes))


def described(
    learned: Learned,
    columns: tuple[FloatArray, FloatArray, FloatArray],
    signal: str,
    model: str,
    weights: FloatArray | None = None,
    groups: Groups = None,
) -> FittedMap:
    """The fitted map with its provenance, as of now; columns are alpha, beta and correct, weights those of the fit.

    Its information is that of one record of each group: a fit on dependent records knows at least as much as on these, and not more for certain.
    """
    a, b, y = columns
    mean = learned.map.means(a / (a + b))
    first = slice(None) if groups is None else np.unique(groups, return_index=True)[1]
    provenance = Provenance(
        n=y.size,
        accuracy=float(np.average(y, weights=weights)),
        data_hash=data_hash(a, b, y),
        signal=signal,
        model=model,
        fitted_at=datetime.now(UTC),
        libraries=_libraries(),
        standard_errors=dict(learned.standard_errors),
        raw_histogram=raw_histogram(a / (a + b)),
        information=information(mean[first], None if weights is None else weights[first]),
    )
    return FittedMap(learned.map, provenance, interval=_intervals(a / (a + b), y, weights))


def _intervals(mean: FloatArray, correct: FloatArray, weights: FloatArray | None) -> VennAbersMap | None:
    """The intervals of the raw means; None if the records do not separate any."""
    try:
        return learn_intervals(mean, correct, weights)
    except NotEnoughData:
        return None


def _cross_validate(
    learn: Learner,
    columns: tuple[FloatArray, FloatArray, FloatArray],
    folds: int,
    measured_by: MeasuredBy | None,
    resamples: int,
    groups: Groups,
) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Metrics before and after, each record calibrated by a map that was not fitted on it; and intervals of the change."""
    a, b, y = columns
    if groups is not None and (n := np.unique(groups).size) < folds:
        few = "all records are of one cluster" if n == 1 else f"the records are of {n} clusters"
        return {}, (f"no cross-validation: {few}; at least {folds} are needed",)
    fold = random_folds(a, b, y, folds, groups)
    step = -(-y.size // CROSS_VALIDATED)
    remarks = [f"cross-validation on one of {step} records"] if step > 1 else []
    if groups is not None:
        remarks.append(f"{y.size} records of {np.unique(groups).size} clusters; those of one are taken together")
    try:
        before, after = out_of_fold(learn, columns, fold, folds, measured_by)
    except HeldOutError as error:
        return {}, (*remarks, f"no cross-validation: without one fold, {error}")
    kept = taken(groups, fold < folds)
    y = y[fold < folds]
    raw, mapped = summarise(*before, y), summarise(*after, y)
    figures = {name: {"before": raw[name], "after": mapped[name]} for name in raw}
    if resamples and (reason := too_few_groups(kept)) is not None:
        remarks.append(f"no intervals: {reason}")
    elif resamples:
        how: dict[str, Any] = {"rng": np.random.default_rng(0), "resamples": resamples, "groups": kept}
        wider = shared_training(folds)
        for name, change in paired_metrics(before, after, y, HEADLINE, **how).items():
            held = change.difference
            figures[name] |= {
                "change_low": held.estimate - wider * (held.estimate - held.low),
                "change_high": held.estimate + wider * (held.high - held.estimate),
            }
    return figures, tuple(remarks)


class HeldOutError(CalibrationError):
    """Nothing can be learned without one of the folds; the message says why."""


def out_of_fold(
    learn: Learner,
    columns: tuple[FloatArray, FloatArray, FloatArray],
    fold: NDArray[np.int64],
    folds: int,
    measured_by: MeasuredBy | None = None,
) -> tuple[Betas, Betas]:
    """Confidences before and after maps learned without each record's fold, for the records that take part, in order.

    Parameters
    ----------
    learn : callable
        Learns a map from (mean, correct).
    columns : tuple[ndarray, ...], shape (n,) each
        Raw alpha and beta, and outcomes.
    fold, folds
        As of `random_folds`.
    measured_by : callable, optional
        As of `fit_map`.

    Raises
    ------
    HeldOutError
        If nothing can be learned without one of the folds.
    """
    a, b, y = columns
    kept = fold < folds
    before, after = (np.empty((2, y.size)) for _ in range(2))
    for held in range(folds):
        out, rest = fold == held, kept & (fold != held)
        try:
            raw_a, raw_b = (a, b) if measured_by is None else measured_by(rest)
            learned = learn((raw_a / (raw_a + raw_b))[rest], y[rest])
        except (CalibrationError, ValueError) as error:
            raise HeldOutError(str(error)) from error
        before[:, out] = raw_a[out], raw_b[out]
        after[:, out] = apply_map(learned.map, raw_a[out], raw_b[out])
    return (before[0, kept], before[1, kept]), (after[0, kept], after[1, kept])


def random_folds(
    alpha: FloatArray, beta: FloatArray, correct: FloatArray, folds: int, groups: Groups = None
) -> NDArray[np.int64]:
    """The fold of each record, in [0, folds): random among the right and among the wrong records, or by group.

    Random, because folds of records in order of their confidence would be copies of each other, and metrics would look
    better than on fresh records. The seed is computed from the records: the same records get the same folds in any
    order. Of more than `CROSS_VALIDATED` records, an even share takes part; the others are in fold `folds`.

    Raises
    ------
    RangeError
        If there are fewer than two folds.
    """
    if folds < 2:
        raise RangeError(f"folds must be 0 or >= 2, got {folds!r}")
    order = np.lexsort((beta, alpha, correct))
    seed = int(data_hash(alpha[order], beta[order], correct[order])[:16], 16)
    rng = np.random.default_rng(seed)
    step = -(-correct.size // CROSS_VALIDATED)
    if groups is not None:
        _, place = np.unique(groups, return_inverse=True)
        of_group = np.full(int(place.max()) + 1, folds, dtype=np.int64)
        among = rng.permutation(of_group.size)[::step]
        of_group[among] = np.arange(among.size) % folds
        return of_group[place]
    fold = np.full(correct.size, folds, dtype=np.int64)
    dealt = 0
    for outcome in (0.0, 1.0):
        among = rng.permutation(order[correct[order] == outcome])[::step]
        fold[among] = (np.arange(among.size) + dealt) % folds
        dealt += among.size
    return fold


def shared_training(folds: int) -> float:
    """Factor on the standard error of a cross-validated difference, since folds share training data; 1.5 for 5 folds.

    Notes
    -----
    An answer is measured in one fold and used for training in the others. If two maps are about equally good, the
    difference of their scores is a sum over pairs of answers in which each pair occurs twice, once with either answer
    measured; treating the answers as independent counts half of that variance. **Source**: the corrected variance of
    Nadeau & Bengio, Inference for the Generalization Error, Machine Learning 52 (2003), section 3: (1/K +
    n_test/n_train) S^2 in place of S^2/K. **Deviates**: S^2 is estimated from single answers, not from the means of K
    folds, which are few. If the maps differ much, the result is wider than necessary.

    >>> shared_training(5)
    1.5
    """
    return math.sqrt(1.0 + folds / (folds - 1.0))


def first_part(n: int, fraction: float) -> int:
    """The number of records in the first `fraction` of `n`, rounded down.

    Examples
    --------
    >>> int(100 * 0.29), first_part(100, 0.29)
    (28, 29)
    """
    return int(n * fraction + 1e-9)


def unseen(n: int, train: int, groups: Groups) -> NDArray[np.bool_]:
    """Mask of the n records that a fit on the first `train` did not use, nor any record of their group."""
    each = np.arange(n) if groups is None else groups
    return ~np.isin(each, each[:train])


def data_hash(*columns: FloatArray) -> str:
    """SHA-256 of columns such as (alpha, beta, correct), concatenated as little-endian doubles."""
    digest = hashlib.sha256()
    for column in columns:
        digest.update(np.ascontiguousarray(column, dtype="<f8").tobytes())
    return digest.hexdigest()


def _libraries() -> dict[str, str]:
    return {name: _version(name) for name in ("hedgerow", "numpy", "scipy")}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
