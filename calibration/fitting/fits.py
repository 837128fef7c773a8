"""The fits: a learner, its provenance, and what it does to each metric on records that it did not see."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, beta_sample
from hedgerow.calibration.drift import information, raw_histogram
from hedgerow.calibration.errors import CalibrationError, RangeError
from hedgerow.calibration.fitted import FittedMap, Provenance
from hedgerow.calibration.fitting import learners
from hedgerow.calibration.fitting.learners import Learned
from hedgerow.calibration.maps import apply_map
from hedgerow.calibration.summary import summarise

Learner = Callable[[FloatArray, FloatArray], Learned]

CROSS_VALIDATED = 20_000
"""Cross-validation works on at most so many records, evenly spaced in the data: its figures are exact enough then."""


def fit_platt(
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    *,
    allow_negative_slope: bool = False,
    signal: str = "",
    model: str = "",
    fitted_at: datetime | None = None,
    folds: int = 5,
) -> FittedMap:
    """Fit m' = sigmoid(w logit(m) + b) by maximum likelihood: the paper's map.

    Parameters
    ----------
    alpha, beta : array_like, shape (n,)
        Raw confidences, finite and >= 1e-6.
    correct : array_like, shape (n,)
        0 or 1; both must occur.
    allow_negative_slope : bool
        Accept w < 0, which turns the order of confidence round.
    signal, model : str
        Written into the provenance: what measured the confidence, and who answered.
    fitted_at : datetime, optional
        Written into the provenance; now (UTC) by default.
    folds : int
        Folds of the cross-validation, 0 for none; on a million records it takes about a third of the time.

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
        If w < 0 and that is not allowed.
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: RALC 4.1, equation 1; Platt 1999 without his smoothed targets. Newton's method on two parameters.

    **Deviates**: below 30 records, and where a threshold divides right from wrong answers (there is no maximum then), the fit is
    the mode under a normal prior of precision 1 around the identity (w = 1, b = 0), and a note in the provenance says so.
    Log-odds are limited to +-logit(1 - 1e-7).

    Examples
    --------
    >>> fitted = fit_platt([9.0] * 60 + [4.0] * 40, [1.0] * 60 + [6.0] * 40, [1] * 48 + [0] * 12 + [1] * 8 + [0] * 32)
    >>> fitted.map.means([0.9, 0.4]).round(6).tolist()
    [0.8, 0.2]
    """

    def learn(mean: FloatArray, y: FloatArray) -> Learned:
        return learners.learn_platt(mean, y, allow_negative_slope=allow_negative_slope)

    return _fit(learn, alpha, beta, correct, signal, model, fitted_at, folds)


def fit_bounded_platt(
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    *,
    allow_negative_slope: bool = False,
    signal: str = "",
    model: str = "",
    fitted_at: datetime | None = None,
    folds: int = 5,
) -> FittedMap:
    """Fit Platt's map on log-odds within +-ln 21 to Platt's smoothed targets: neither unanimous samples nor luck look like certainty.

    Parameters, errors and result as for `fit_platt`; the map is a `PlattMap` that holds the limit.

    Notes
    -----
    **Source**: RALC 4.1, equation 1. The targets are those of Platt 1999, 2.2: (r + 1) / (r + 2) for right answers and 1 / (w + 2) for wrong ones,
    r and w their numbers. The limit is the empirical log-odds of ten of ten, 10.5 : 0.5 (Haldane, Anscombe).

    **Deviates**: from RALC, whose 1e-6 floor puts unanimous samples at log-odds of 14 to 16, six times as far out as nine of ten: those
    points then set the slope. Any limit from 2.5 to 4 does about as well on recorded answers (docs/evidence.md, signal space).

    Examples
    --------
    >>> fitted = fit_bounded_platt([10.0] * 50 + [5.0] * 50, [1e-6] * 50 + [5.0] * 50, [1] * 45 + [0] * 5 + [1] * 20 + [0] * 30)
    >>> fitted.map.means([1.0, 0.9, 0.5]).round(3).tolist()
    [0.889, 0.803, 0.41]
    """

    def learn(mean: FloatArray, y: FloatArray) -> Learned:
        return learners.learn_bounded_platt(mean, y, allow_negative_slope=allow_negative_slope)

    return _fit(learn, alpha, beta, correct, signal, model, fitted_at, folds)


def fit_histogram(
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    *,
    bins: int = 10,
    signal: str = "",
    model: str = "",
    fitted_at: datetime | None = None,
    folds: int = 5,
) -> FittedMap:
    """Histogram binning in `bins` bins of equal mass. Parameters and errors else as for `fit_platt`."""
    if bins < 1:
        raise RangeError(f"bins must be >= 1, got {bins!r}")

    def learn(mean: FloatArray, y: FloatArray) -> Learned:
        return learners.learn_histogram(mean, y, bins=bins)

    return _fit(learn, alpha, beta, correct, signal, model, fitted_at, folds)


def _plain(learn: Learner, summary: str) -> Callable[..., FittedMap]:
    """A `fit_*` of a learner without options of its own."""

    def fit(
        alpha: ArrayLike,
        beta: ArrayLike,
        correct: ArrayLike,
        *,
        signal: str = "",
        model: str = "",
        fitted_at: datetime | None = None,
        folds: int = 5,
    ) -> FittedMap:
        return _fit(learn, alpha, beta, correct, signal, model, fitted_at, folds)

    fit.__doc__ = f"{summary} Parameters, returns and errors as for `fit_platt`."
    return fit


fit_identity = _plain(learners.learn_identity, "The identity with a provenance: how good is the raw confidence?")
fit_temperature = _plain(learners.learn_temperature, "Temperature scaling (Guo et al. 2017) by maximum likelihood.")
fit_isotonic = _plain(learners.learn_isotonic, "Isotonic regression (Zadrozny & Elkan 2002).")
fit_beta_calibration = _plain(learners.learn_beta_calibration, "Beta calibration (Kull et al. 2017).")
fit_venn_abers = _plain(learners.learn_venn_abers, "Inductive Venn-Abers (Vovk et al. 2015).")

FITS: Mapping[str, Callable[..., FittedMap]] = {
    "platt": fit_platt,
    "platt-bounded": fit_bounded_platt,
    "temperature": fit_temperature,
    "isotonic": fit_isotonic,
    "histogram": fit_histogram,
    "beta": fit_beta_calibration,
    "venn-abers": fit_venn_abers,
    "identity": fit_identity,
}
"""Every fit by the kind of its map."""


def fit_map(kind: str, alpha: ArrayLike, beta: ArrayLike, correct: ArrayLike, **options: object) -> FittedMap:
    """Fit a map by the name of its kind ("platt", "isotonic", ...); options as for that fit.

    Raises
    ------
    RangeError
        If there is no such kind; else as for the fit.
    """
    if kind not in FITS:
        raise RangeError(f"unknown kind of map {kind!r}; there are {', '.join(FITS)}")
    return FITS[kind](alpha, beta, correct, **options)


def _fit(
    learn: Learner,
    alpha: ArrayLike,
    beta: ArrayLike,
    correct: ArrayLike,
    signal: str,
    model: str,
    fitted_at: datetime | None,
    folds: int,
) -> FittedMap:
    a, b, y = beta_sample(alpha, beta, correct)
    learned = learn(a / (a + b), y)
    validation, remarks = _cross_validate(learn, a, b, y, folds) if folds else ({}, ())
    provenance = Provenance(
        n=y.size,
        accuracy=float(y.mean()),
        data_hash=data_hash(a, b, y),
        signal=signal,
        model=model,
        fitted_at=fitted_at or datetime.now(UTC),
        libraries=_libraries(),
        standard_errors=dict(learned.standard_errors),
        cross_validation=validation,
        notes=(*learned.notes, *remarks),
        raw_histogram=raw_histogram(a / (a + b)),
        information=information(learned.map.means(a / (a + b))),
    )
    return FittedMap(learned.map, provenance)


def _cross_validate(
    learn: Learner, a: FloatArray, b: FloatArray, y: FloatArray, folds: int
) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Metrics before and after, each record calibrated by a map that did not see it.

    Folds go round robin through the records sorted by (outcome, confidence): every fold has its share of both, and the
    figures do not depend on the order of the records.
    """
    if folds < 2:
        raise RangeError(f"folds must be 0 or >= 2, got {folds!r}")
    step = -(-y.size // CROSS_VALIDATED)
    remarks = (f"cross-validation on every {step}th record",) if step > 1 else ()
    a, b, y = a[::step], b[::step], y[::step]
    fold = np.empty(y.size, dtype=np.int64)
    fold[np.lexsort((b, a, y))] = np.arange(y.size) % folds
    after_a, after_b = np.empty_like(a), np.empty_like(b)
    for held in range(folds):
        out = fold == held
        try:
            learned = learn((a / (a + b))[~out], y[~out])
        except CalibrationError as error:
            return {}, (*remarks, f"no cross-validation: without one fold, {error}")
        after_a[out], after_b[out] = apply_map(learned.map, a[out], b[out])
    before, after = summarise(a, b, y), summarise(after_a, after_b, y)
    return {name: {"before": before[name], "after": after[name]} for name in before}, remarks


def data_hash(alpha: FloatArray, beta: FloatArray, correct: FloatArray) -> str:
    """SHA-256 of the three columns as little-endian doubles, one after the other."""
    digest = hashlib.sha256()
    for column in (alpha, beta, correct):
        digest.update(np.ascontiguousarray(column, dtype="<f8").tobytes())
    return digest.hexdigest()


def _libraries() -> dict[str, str]:
    found = {}
    for name in ("hedgerow", "numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
