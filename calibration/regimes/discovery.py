"""Finds regimes: kinds of questions whose answers are right more or less often than their confidence.

They are tested on held-out answers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from ..arrays import FloatArray
from .correction import DirectField, offset
from .features import find_centres, nearest
from .vectors import Vectors

EPSILON = 0.05
"""A question belongs to a regime if the field is at least this far from 0 (arXiv 2605.13484, section 5)."""
MOST = 4
"""Maximum number of regimes per sign."""
PLACED_ON = 150
"""Training answers required for each further regime of a sign."""
LEAST_SIZE = 30
"""Fewest held-out answers of a reported regime."""
LEVEL = 0.05
"""Probability of reporting any regime if there is none."""

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Columns:
    """Labelled answers as columns of equal length: embeddings (n, d), confidence, correct, and a number per question."""

    x: Vectors
    confidence: FloatArray
    correct: FloatArray
    prompt: Indices

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Columns:
        """The columns of some of the answers."""
        return Columns(self.x[rows], self.confidence[rows], self.correct[rows], self.prompt[rows])


@dataclass(frozen=True, slots=True)
class MeanGap:
    """A mean residual, its standard error (clustered by question) and its 95 % interval."""

    mean: float
    error: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - 1.96 * self.error

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + 1.96 * self.error


@dataclass(frozen=True, slots=True)
class Regime:
    """A kind of questions with miscalibrated answers.

    Attributes
    ----------
    sign : int
        -1: answers are less often right than a map of the confidence alone says (overconfident); +1: more often.
    rows : ndarray
        Held-out answers in it.
    gap : MeanGap
        Mean of correct minus what the map of the confidence alone says, on the held-out answers.
    raw_gap : MeanGap
        Mean of correct minus the confidence as it came.
    corrected_gap : MeanGap
        Mean of correct minus the corrected confidence: what is left.
    p_value : float
        One-sided, of a gap with this sign where there is none; not yet multiplied by the number of candidates.
    centre : ndarray, shape (d,)
    """

    sign: int
    rows: Indices
    gap: MeanGap
    raw_gap: MeanGap
    corrected_gap: MeanGap
    p_value: float
    centre: Vectors


@dataclass(frozen=True, slots=True)
class Discovery:
    """The result of the search.

    Attributes
    ----------
    regimes : tuple of Regime
        Confirmed; the largest gap times size first.
    candidates : int
        How many were tested.
    gain : MeanGap
        Brier score with the correction minus that of the map alone on the held-out answers; below 0 = the correction helps.
    hidden : ndarray
        The field beyond the confidence on the held-out answers.
    """

    regimes: tuple[Regime, ...]
    candidates: int
    gain: MeanGap
    hidden: FloatArray

    @property
    def helps(self) -> bool:
        """Whether the correction is better than the confidence map alone: the interval of the gain is below 0."""
        return self.gain.high < 0.0


def mean_gap(residual: FloatArray, prompt: Indices) -> MeanGap:
    """The mean of residuals and its standard error, clustered by question.

    Notes
    -----
    **Source**: the cluster-robust variance of a mean (Liang & Zeger 1986): the sum over questions of (sum of their deviations)^2, over n^2.
    **Deviates**: without the factor G / (G - 1) for G questions, which is 1.03 for 30 of them.
    """
    n = residual.size
    mean = float(residual.mean())
    _, place = np.unique(prompt, return_inverse=True)
    sums = np.bincount(place, residual - mean)
    return MeanGap(mean, float(np.sqrt((sums**2).sum()) / n))


def discover(
    field: DirectField, train: Columns, held: Columns, rng: np.random.Generator, *, epsilon: float = EPSILON
) -> Discovery:
    """Find regimes on the training answers and confirm them on held-out ones.

    A regime is reported where the whole correction beats the map of the confidence on the held-out answers (paired, 95 %), and the gap inside
    the regime has the sign that the training answers said, at a level of 5 % for all candidates together.
    """
    under = special.expit(offset(field.base, held.confidence))
    corrected = field.corrected(held.x, held.confidence)
    gain = mean_gap((held.correct - corrected) ** 2 - (held.correct - under) ** 2, held.prompt)
    hidden = corrected - under
    unconfirmed = Discovery((), 0, gain, hidden)
    if not unconfirmed.helps or not field.shift.parts:
        return unconfirmed
    candidates = _candidates(field, train, held, hidden, epsilon, rng)
    tested = [
        regime
        for sign, rows, centre in candidates
        if (regime := _regime(sign, rows, centre, held, under, corrected)) is not None
    ]
    confirmed = [regime for regime in tested if regime.p_value < LEVEL / max(len(tested), 1)]
    confirmed.sort(key=lambda regime: -abs(regime.gap.mean) * regime.rows.size)
    return Discovery(tuple(confirmed), len(tested), gain, hidden)


def _candidates(
    field: DirectField, train: Columns, held: Columns, hidden: FloatArray, epsilon: float, rng: np.random.Generator
) -> list[tuple[int, Indices, Vectors]]:
    """For each sign, groups of nearby questions beyond epsilon."""
    seen = field.hidden(train.x, train.confidence)
    candidates = []
    for sign in (-1, 1):
        inside = train.x[sign * seen > epsilon]
        here = np.flatnonzero(sign * hidden > epsilon)
        if len(inside) < LEAST_SIZE or len(here) < LEAST_SIZE:
            continue
        at = find_centres(inside, max(1, min(MOST, len(inside) // PLACED_ON)), rng).at
        group = nearest(held.x[here], at)
        candidates += [(sign, here[group == k], at[k]) for k in range(len(at))]
    return candidates


def _regime(
    sign: int, rows: Indices, centre: Vectors, held: Columns, under: FloatArray, corrected: FloatArray
) -> Regime | None:
    if rows.size < LEAST_SIZE:
        return None
    y, prompt = held.correct[rows], held.prompt[rows]
    gap = mean_gap(y - under[rows], prompt)
    return Regime(
        sign,
        rows,
        gap,
        mean_gap(y - held.confidence[rows], prompt),
        mean_gap(y - corrected[rows], prompt),
        float(stats.norm.sf(sign * gap.mean / max(gap.error, 1e-12))),
        centre,
    )
