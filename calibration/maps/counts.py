"""The inputs of an adaptive map: counts of agreeing answers, the question's log-odds, token probabilities; and the beta-binomial distribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray

OF_COUNTS, OF_QUESTION, OF_TOKENS = 6, 4, 4
"""Weights of the counts (a constant among them), of the question, and of token probabilities."""
TOKEN_BOUND = 0.02
"""Token probabilities are kept at least this far from 0 and 1."""
SHARES = (0.05, 0.97)
"""Bounds of expected shares."""
NONE = 1e-4
"""Counts below this are zero: a Beta of n : 0 has a parameter of 1e-6."""
LEAST_ALONE = 2
"""Minimum number of answers if only counts are known."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known about a question before its answers are counted.

    Attributes
    ----------
    lean : float
        Log-odds of being right that the question and the draft give.
    share : float
        Share of answers that should agree with the draft, in (0, 1).
    """

    lean: float
    share: float


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token probabilities of the answers that agree, each in [0, 1].

    Attributes
    ----------
    likeliest : float
        Probability of the likeliest wording as a whole.
    mean : float
        Mean probability of a token.
    """

    likeliest: float
    mean: float

    def log_odds(self) -> tuple[float, float]:
        """Of both, within bounds."""
        low, high = (min(1.0 - TOKEN_BOUND, max(TOKEN_BOUND, p)) for p in (self.likeliest, self.mean))
        return log(low / (1.0 - low)), log(high / (1.0 - high))


def count_columns(agreeing: ArrayLike, drawn: ArrayLike) -> FloatArray:
    """Columns of the counts, shape (..., 6); the first is the constant."""
    k, n = np.broadcast_arrays(np.asarray(agreeing, np.float64), np.asarray(drawn, np.float64))
    u = np.log((k + 0.5) / (n - k + 0.5))
    return np.stack(
        [np.ones_like(u), u, u / n, 1.0 / n, (n - k < NONE).astype(float), (np.abs(k - 1.0) < NONE).astype(float)],
        axis=-1,
    )


def spread_columns(values: FloatArray, drawn: ArrayLike) -> FloatArray:
    """Each column v together with v / n, shape (..., 2 p), for values of shape (..., p)."""
    n = np.asarray(drawn, np.float64)[..., None]
    return np.stack([values, values / n], axis=-1).reshape(*values.shape[:-1], -1)


def bounded_share(share: float) -> float:
    """An expected share within (.05, .97)."""
    return min(SHARES[1], max(SHARES[0], share))


def log_beta_binomial(m: int, a: FloatArray, b: FloatArray) -> FloatArray:
    """Natural logarithm of the chance that 0, 1, ... m of m draws agree where the share is Beta(a, b), shape (q, m + 1) for a and b of shape (q, 1)."""
    t = np.arange(m + 1)
    ways = special.gammaln(m + 1) - special.gammaln(t + 1) - special.gammaln(m - t + 1)
    return np.asarray(ways + special.betaln(a + t, b + m - t) - special.betaln(a, b), dtype=np.float64)
