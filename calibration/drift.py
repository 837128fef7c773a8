"""Tests whether a fitted map is still right; the false alarms are bounded over the whole life of a map.

Both tests are valid however often one looks. `sequential_test` watches labelled answers: is an answer called 70 % sure
right 70 % of the time? `input_test` watches raw confidences, which need no labels: do they still look like those that
the map was fitted on?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from .arrays import FloatArray, numbers, probabilities, sample
from .errors import RangeError, ShapeError

ALTERNATIVES: tuple[tuple[float, float], ...] = (
    *((1.0, shift) for shift in (-1.5, -0.7, -0.3, 0.3, 0.7, 1.5)),
    *((slope, 0.0) for slope in (0.5, 0.7, 1.4, 2.0)),
)
"""The alternatives that the sequential test bets on: Platt maps (slope, shift of log-odds) that would correct a map."""

EXACT: tuple[tuple[float, float], ...] = ((1.0, 0.0),)
"""The exact null hypothesis: the means as stated, without tolerance."""

PATIENCE = 100.0
"""Number of labelled answers after which half of the stake is placed.

Larger = slower at first, but faster for a late change.
"""

CELLS = 101
"""Cells of `raw_histogram`: means rounded to whole percent."""

_MAX_LOG_ODDS = 35.0
"""Means are clipped to [1e-15, 1 - 1e-15]; this changes expectations by less than that."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Evidence that calibrated means are wrong, after each answer.

    Attributes
    ----------
    log_e : ndarray, shape (n,)
        Natural logarithm of the e-process after each answer; higher = more evidence against the map. 0 where nothing was seen.
    threshold : float
        ln(1 / alpha); the alarm is raised where `log_e` reaches it.
    alarm_at : int or None
        Index of the first answer at which it did.
    """

    log_e: FloatArray
    threshold: float
    alarm_at: int | None


def sequential_test(
    mean: ArrayLike, correct: ArrayLike, *, alpha: float = 0.01, nulls: Sequence[tuple[float, float]] = EXACT
) -> SequentialTest:
    """Test "each answer is right with the probability that was stated", two-sided, valid at every moment.

    Parameters
    ----------
    mean : array_like, shape (n,)
        Calibrated means as they were stated, in [0, 1], in the order in which the outcomes became known.
    correct : array_like, shape (n,)
        Outcomes in [0, 1], 1 = right; grades between are allowed.
    alpha : float
        Probability, in (0, 1), of ever raising an alarm while the means are right.
    nulls : sequence of (slope, shift)
        What counts as right: the means as stated, and as these Platt maps on top would correct them (`plausible` for the error of a
        fit). Evidence is against all of them together.

    Returns
    -------
    SequentialTest

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together, or `nulls` is empty.

    Notes
    -----
    **Source**: Ville 1939 (a nonnegative martingale that begins at 1 reaches 1 / alpha with probability at most alpha); the bets are
    likelihood ratios as in Arnold, Henzi & Ziegel 2023 (sequentially valid tests for forecast calibration), with the stake spread
    over starting times as in the mixtures of Shin, Ramdas & Rinaldo 2023 (e-detectors).

    An alternative predicts q = sigmoid(w logit(p) + b) where the map predicts p. Its bet multiplies by
    y q / p + (1 - y)(1 - q) / (1 - p), whose expectation is 1 if E[y] = p. With several nulls the idle capital is their
    mean likelihood, and the whole is divided by the largest of them, as in universal inference (Wasserman, Ramdas &
    Balakrishnan 2020): a martingale divided by at least its own null. A grade y between 0 and 1 multiplies by
    (q / p)^y ((1 - q) / (1 - p))^(1 - y), which is at most the sum above, so bets remain ratios of likelihoods. Before
    answer s (from 1) the share T / (T + s - 1) - T / (T + s) of the capital, T = `PATIENCE`, is staked, spread evenly
    over `ALTERNATIVES`; the rest stays idle. So a change after v answers needs about 2 ln(v / T) nats more evidence, not
    an amount that grows with v.

    **Deviates**: e-detectors with a bounded average run length are faster after a late change; a bound on the
    probability of any false alarm in the life of a map is easier to understand.

    Tested *given that an outcome is reported*: choosing by confidence is fine, reporting wrong answers more often is not.

    Examples
    --------
    >>> sequential_test([0.9] * 60, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0] * 6).alarm_at is None
    True
    >>> sequential_test([0.9] * 60, [1, 0, 1, 0, 1, 0] * 10).alarm_at
    23
    """
    p, y = sample(mean=probabilities("mean", mean), correct=probabilities("correct", correct))
    if not 0.0 < alpha < 1.0:
        raise RangeError(f"alpha must be in (0, 1), got {alpha!r}")
    if len(nulls) == 0:
        raise ShapeError("nulls must have at least one map; (1, 0) is for the means as stated")
    right = np.cumsum(_log_bets(p, y, nulls), axis=0)
    idle = special.logsumexp(right, axis=1) - np.log(len(nulls))
    won = np.cumsum(_log_bets(p, y, ALTERNATIVES), axis=0)
    rows = np.arange(p.size, dtype=np.float64)
    stakes = PATIENCE / (PATIENCE + rows) - PATIENCE / (PATIENCE + rows + 1.0)
    placed = (np.log(stakes / len(ALTERNATIVES)) + _before(idle))[:, None] - _before(won)
    capital = won + np.logaddexp.accumulate(placed, axis=0)
    idle += np.log(PATIENCE / (PATIENCE + rows + 1.0))
    log_e = np.logaddexp(idle, special.logsumexp(capital, axis=1)) - right.max(axis=1)
    threshold = float(-np.log(alpha))
    reached = np.flatnonzero(log_e >= threshold)
    return SequentialTest(log_e, threshold, int(reached[0]) if reached.size else None)


def _before(path: FloatArray) -> FloatArray:
    """The state before each answer; 0 before the first."""
    return np.concatenate([np.zeros_like(path[:1]), path[:-1]])


def _log_bets(p: FloatArray, y: FloatArray, maps: Sequence[tuple[float, float]]) -> FloatArray:
    """Logarithm of the factor by which each alternative multiplies its stake, shape (n, maps)."""
    odds = np.clip(special.logit(p), -_MAX_LOG_ODDS, _MAX_LOG_ODDS)[:, None]
    slope, shift = np.array(maps).T
    other = slope * odds + shift
    right = special.log_expit(other) - special.log_expit(odds)
    wrong = special.log_expit(-other) - special.log_expit(-odds)
    bets: FloatArray = y[:, None] * right + (1.0 - y)[:, None] * wrong
    return bets


def information(mean: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, float, float]:
    """Fisher information of the answers of a fit about a Platt map on top of the fitted one, at the identity.

    Parameters
    ----------
    mean : array_like, shape (n,)
        Fitted means of the answers that the map was learned from, in [0, 1].
    weights : array_like, shape (n,), optional
        >= 0: how many answers each stands for; one by default.

    Returns
    -------
    tuple of float
        Entries (slope, slope), (slope, shift), (shift, shift); >= 0 on the diagonal.

    Examples
    --------
    >>> information([0.5] * 100)
    (0.0, 0.0, 25.0)
    """
    p = np.atleast_1d(probabilities("mean", mean))
    odds = np.clip(special.logit(p), -_MAX_LOG_ODDS, _MAX_LOG_ODDS)
    weight = p * (1.0 - p) * (1.0 if weights is None else numbers("weights", weights))
    return float(weight @ odds**2), float(weight @ odds), float(weight.sum())


def plausible(information: Sequence[float], *, alpha: float = 0.01) -> tuple[tuple[float, float], ...]:
    """Platt maps on top of a fitted map that its data do not rule out: nulls that tolerate the error of the fit.

    Parameters
    ----------
    information : sequence of 3 floats
        Of the fit, as `information` gives it.
    alpha : float
        Probability, in (0, 1), that the truth is not among them.

    Returns
    -------
    tuple of (slope, shift)
        The identity, 48 maps on three ellipses inside the confidence region of level 1 - alpha, and those of `ALTERNATIVES` that lie in it.

    Notes
    -----
    **Source**: Wald's region, chi-squared with two degrees of freedom: -2 ln(alpha). A direction without information
    (all means equal) stays at the identity. The probability of ever raising a false alarm is at most the sum of both
    alphas for the listed maps. **Deviates**: the region is covered by these maps, not filled. For a truth between them
    the nearest counts. An alternative in the region would in the end win against it, so every such alternative is also
    a null.

    Examples
    --------
    >>> maps = plausible((100.0, 0.0, 25.0))
    >>> len(maps), maps[0], maps[49:]
    (52, (1.0, 0.0), ((1.0, -0.3), (1.0, 0.3), (0.7, 0.0)))
    """
    if not 0.0 < alpha < 1.0:
        raise RangeError(f"alpha must be in (0, 1), got {alpha!r}")
    if len(information) != 3:
        raise ShapeError(f"information must have 3 entries, got {len(information)}")
    first, mixed, last = numbers("information", information)
    matrix = np.array([[first, mixed], [mixed, last]])
    values, axes = np.linalg.eigh(matrix)
    known = values > values.max() * 1e-12
    reach = np.sqrt(-2.0 * np.log(alpha)) / np.sqrt(np.where(known, values, np.inf))
    angle = np.arange(16) * np.pi / 8.0
    circle = np.stack([np.cos(angle), np.sin(angle)])
    steps = np.concatenate([radius * (axes * reach) @ circle for radius in (0.3, 0.65, 1.0)], axis=1)
    ellipses = ((1.0 + float(slope), float(shift)) for slope, shift in steps.T)
    off = np.array(ALTERNATIVES) - EXACT
    inside = known.all() & (np.einsum("ij,jk,ik->i", off, matrix, off) <= -2.0 * np.log(alpha))
    return (*EXACT, *ellipses, *(other for other, lies in zip(ALTERNATIVES, inside, strict=True) if lies))


def raw_histogram(mean: ArrayLike) -> tuple[int, ...]:
    """Histogram of means rounded to 0 %, 1 %, ..., 100 %, stored with a map to compare later confidences with.

    Parameters
    ----------
    mean : array_like, shape (n,)
        In [0, 1].

    Returns
    -------
    tuple of int, length 101

    Examples
    --------
    >>> counts = raw_histogram([0.1, 0.1, 1.0])
    >>> counts[10], counts[100], sum(counts)
    (2, 1, 3)
    """
    cells = np.rint(np.atleast_1d(probabilities("mean", mean)) * (CELLS - 1)).astype(np.int64)
    return tuple(np.bincount(cells.ravel(), minlength=CELLS).tolist())


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance between two samples of confidences.

    Attributes
    ----------
    ks : float
        Largest distance of their distribution functions, in [0, 1].
    w1 : float
        1-Wasserstein distance, in [0, 1]: how far the typical confidence has moved.
    p_value : float
        Probability of a `ks` at least as large if both come from one source, in [0, 1].
    """

    ks: float
    w1: float
    p_value: float


def compare(reference: ArrayLike, counts: ArrayLike) -> Distance:
    """Two-sample Kolmogorov-Smirnov test of two histograms of `raw_histogram`.

    Parameters
    ----------
    reference, counts : array_like, shape (101,)
        Counts >= 0, not all 0.

    Raises
    ------
    RangeError, ShapeError
        If a count is negative, a histogram is empty, or it does not have 101 cells.

    Notes
    -----
    **Source**: Smirnov 1948; the p-value is that of the limit distribution. **Deviates**: equal values (few samples give few
    distinct confidences) make the test conservative, which is the side to err on.

    Examples
    --------
    >>> compare(raw_histogram([0.5] * 100), raw_histogram([0.7] * 100)).w1
    0.2
    """
    first, second = _histogram("reference", reference), _histogram("counts", counts)
    n, m = float(first.sum()), float(second.sum())
    gap = np.abs(np.cumsum(first) / n - np.cumsum(second) / m)
    ks = float(gap.max())
    w1 = float(round(gap[:-1].sum() / (CELLS - 1), 12))
    return Distance(ks, w1, float(special.kolmogorov(np.sqrt(n * m / (n + m)) * ks)))


@dataclass(frozen=True, slots=True)
class InputTest:
    """Whether raw confidences still look like those of the fit.

    Attributes
    ----------
    distances : tuple[Distance, ...]
        One for each full window that was given, oldest first.
    thresholds : tuple[float, ...]
        The p-value below which each window raises the alarm.
    alarm_at : int or None
        Index of the first window with an alarm.
    """

    distances: tuple[Distance, ...]
    thresholds: tuple[float, ...]
    alarm_at: int | None


def input_test(
    reference: ArrayLike, mean: ArrayLike, *, window: int = 500, alpha: float = 0.01, tested: int = 0
) -> InputTest:
    """Test successive windows of raw means against those of the fit.

    Parameters
    ----------
    reference : array_like, shape (101,)
        The fit's `raw_histogram`.
    mean : array_like, shape (n,)
        Raw means since the map became active, oldest first, in [0, 1], without those of windows already tested. An
        incomplete last window is not tested yet.
    window : int
        Answers in a window, >= 1.
    alpha : float
        Probability, in (0, 1), of ever raising an alarm while nothing has changed.
    tested : int
        Number of windows already tested, >= 0: the first one here is number tested + 1, which determines its level.

    Returns
    -------
    InputTest

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    Window k (from 1) is tested at level alpha / k(k + 1); the levels sum to alpha, so the bound holds however the windows depend on each
    other (Bonferroni). Windows do not overlap, and each is tested once.

    A change means that the questions are different, or that the model answers differently. Whether the map is wrong for
    them, only outcomes can show.

    Examples
    --------
    >>> reference = raw_histogram([0.5, 0.6, 0.7, 0.8] * 100)
    >>> input_test(reference, [0.5, 0.6, 0.7, 0.8] * 100, window=200).alarm_at is None
    True
    >>> input_test(reference, [0.5, 0.5, 0.5, 0.8] * 100, window=200).alarm_at
    0
    """
    if not 0.0 < alpha < 1.0:
        raise RangeError(f"alpha must be in (0, 1), got {alpha!r}")
    if window < 1:
        raise RangeError(f"window must be >= 1, got {window!r}")
    if tested < 0:
        raise RangeError(f"tested must be >= 0, got {tested!r}")
    p = probabilities("mean", mean)
    if p.ndim != 1:
        raise ShapeError(f"mean must be one-dimensional, got shape {p.shape}")
    distances, thresholds, alarm = [], [], None
    for index, start in enumerate(range(0, p.size - window + 1, window)):
        k = tested + index + 1
        distances.append(compare(reference, raw_histogram(p[start : start + window])))
        thresholds.append(alpha / (k * (k + 1)))
        if alarm is None and distances[-1].p_value < thresholds[-1]:
            alarm = index
    return InputTest(tuple(distances), tuple(thresholds), alarm)


def _histogram(name: str, counts: ArrayLike) -> NDArray[np.float64]:
    cells = numbers(name, counts)
    if cells.shape != (CELLS,):
        raise ShapeError(f"{name} must have {CELLS} cells, got shape {cells.shape}")
    if not (cells >= 0.0).all() or cells.sum() == 0.0:
        raise RangeError(f"{name} must have counts >= 0 that are not all 0")
    return cells
