"""Audits of regimes: permuted labels, other seeds, other thresholds, resampled answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from scipy import special

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.errors import CalibrationError
from hedgerow.calibration.metrics.smooth import smooth_ece
from hedgerow.calibration.regimes.correction import DirectField, offset
from hedgerow.calibration.regimes.direct import DirectEstimator
from hedgerow.calibration.regimes.discovery import Columns, Discovery, Indices, discover

THRESHOLDS = (0.01, 0.05, 0.1, 0.15)
RESAMPLES = 100
LEAST_SLICE = 20
"""Fewest held-out answers of a slice for its error to count."""

Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Slice:
    """The worse of the two slices (one per sign) at a threshold.

    Attributes
    ----------
    epsilon : float
    sign : int
        0 where neither slice has answers enough.
    share_over, share_under : float
        Of the held-out answers, in the overconfident and in the underconfident slice.
    gap : float
        Smooth ECE of the map of the confidence alone inside the slice, minus that on all held-out answers.
    low, high : float
        Bootstrap interval (95 %) of the gap, the slice as it is, answers resampled.
    brier_gap : float
        The same difference of Brier scores.
    corrected : float
        Smooth ECE inside the slice with the correction.
    """

    epsilon: float
    sign: int
    share_over: float
    share_under: float
    gap: float
    low: float
    high: float
    brier_gap: float
    corrected: float


@dataclass(frozen=True, slots=True)
class Permutation:
    """The same search on sets with labels permuted among all answers.

    Attributes
    ----------
    reported : int
        Permuted sets in which any regime was reported.
    sd, gap : float
        Of the real field: its standard deviation beyond the confidence, and the worst slice's gap.
    null_sd, null_gap : ndarray
        The same of each permuted set.
    """

    reported: int
    sd: float
    gap: float
    null_sd: FloatArray
    null_gap: FloatArray

    @property
    def p_value(self) -> float:
        """Share of sets, including the real one, whose field varies at least as much as the real one."""
        return float((1 + (self.null_sd >= self.sd).sum()) / (1 + self.null_sd.size))


@dataclass(frozen=True, slots=True)
class Seeds:
    """Fields from other folds and centres: pairwise correlation, agreement of signs, and number of regimes in each."""

    correlation: FloatArray
    agreement: FloatArray
    regimes: tuple[int, ...]


def worst_slice(
    discovery: Discovery,
    field: DirectField,
    held: Columns,
    epsilon: float,
    rng: np.random.Generator,
    *,
    resamples: int = 0,
) -> Slice:
    """The worse of the slices hidden < -epsilon and hidden > epsilon, by smooth ECE of the confidence map alone.

    Notes
    -----
    **Source**: arXiv 2605.13484, appendix F.4, and F.5 for the interval. **Deviates**: slices are of the field beyond a map of the confidence, not of the
    residuals of the raw confidence, and one with fewer than 20 answers does not count.
    """
    under = special.expit(offset(field.base, held.confidence))
    corrected = np.clip(under + discovery.hidden, 0.0, 1.0)
    overall = smooth_ece(under, held.correct)
    slices = {-1: np.flatnonzero(discovery.hidden < -epsilon), 1: np.flatnonzero(discovery.hidden > epsilon)}
    shares = {sign: rows.size / held.correct.size for sign, rows in slices.items()}
    errors = {
        sign: smooth_ece(under[rows], held.correct[rows]) for sign, rows in slices.items() if rows.size >= LEAST_SLICE
    }
    if not errors:
        return Slice(epsilon, 0, shares[-1], shares[1], 0.0, 0.0, 0.0, 0.0, 0.0)
    sign = max(errors, key=lambda one: errors[one])
    rows = slices[sign]
    brier = (held.correct - under) ** 2
    gap = errors[sign] - overall
    low, high = _interval(under, held, rows, rng, resamples) if resamples else (gap, gap)
    return Slice(
        epsilon, sign, shares[-1], shares[1], gap, low, high,
        float(brier[rows].mean() - brier.mean()), smooth_ece(corrected[rows], held.correct[rows]),
    )  # fmt: skip


def _interval(
    under: FloatArray, held: Columns, rows: Indices, rng: np.random.Generator, resamples: int
) -> tuple[float, float]:
    """Percentiles of the gap over resampled answers."""
    inside = np.zeros(held.correct.size, dtype=bool)
    inside[rows] = True
    gaps = []
    for _ in range(resamples):
        drawn = rng.integers(0, held.correct.size, held.correct.size)
        sliced = drawn[inside[drawn]]
        if sliced.size:
            gaps.append(smooth_ece(under[sliced], held.correct[sliced]) - smooth_ece(under[drawn], held.correct[drawn]))
    low, high = np.quantile(gaps, [0.025, 0.975])
    return float(low), float(high)


def permute(
    estimator: DirectEstimator,
    train: Columns,
    held: Columns,
    discovery: Discovery,
    worst: Slice,
    rngs: Iterable[np.random.Generator],
    *,
    done: Done = lambda: None,
) -> Permutation:
    """Search again in sets with labels permuted among all answers.

    Parameters
    ----------
    rngs : iterable of numpy.random.Generator
        One for each set.
    done : callable
        Called after each set.

    Notes
    -----
    **Source**: arXiv 2605.13484, appendix F.3. **Deviates**: held-out labels are exchanged as well, and all of them together, not split by split. What
    is asked is how often a regime is reported where there is none; with true labels there, a field of noise can hit upon a true regime.
    """
    reported, spread, gaps = 0, [], []
    for has_regime, sd, gap in map(partial(_search_permuted, estimator, train, held, worst.epsilon), rngs):
        done()
        reported += has_regime
        spread.append(sd)
        gaps.append(gap)
    return Permutation(reported, float(discovery.hidden.std()), worst.gap, np.array(spread), np.array(gaps))


def _search_permuted(
    estimator: DirectEstimator, train: Columns, held: Columns, epsilon: float, rng: np.random.Generator
) -> tuple[bool, float, float]:
    """For a set with permuted labels: whether it has a regime, the standard deviation of its field, its worst gap."""
    shuffled, n = rng.permutation(np.concatenate([train.correct, held.correct])), train.correct.size
    mine = Columns(train.x, train.confidence, shuffled[:n], train.prompt)
    theirs = Columns(held.x, held.confidence, shuffled[n:], held.prompt)
    try:
        field = estimator.fit(mine.correct)
    except CalibrationError:  # no confidence map fits these labels: nothing is reported
        return False, 0.0, 0.0
    null = discover(field, mine, theirs, rng)
    gap = worst_slice(null, field, theirs, epsilon, rng).gap
    return bool(null.regimes), float(null.hidden.std()), gap


def compare_seeds(train: Columns, held: Columns, seeds: Sequence[int], *, done: Done = lambda: None) -> Seeds:
    """Learn again with other folds and centres, and compare the fields on the held-out answers."""
    fields, regimes = [], []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        field = DirectEstimator(train.x, train.confidence, train.prompt, rng).fit(train.correct)
        discovery = discover(field, train, held, rng)
        fields.append(discovery.hidden)
        regimes.append(len(discovery.regimes))
        done()
    pairs = list(combinations(fields, 2))
    correlation = [float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else 0.0 for a, b in pairs]
    agreement = [float(np.mean(np.sign(a) == np.sign(b))) for a, b in pairs]
    return Seeds(np.array(correlation), np.array(agreement), tuple(regimes))
