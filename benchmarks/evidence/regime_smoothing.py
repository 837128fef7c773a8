"""The miscalibration field by local averaging of residuals, and the correction that stays within [0, 1].

Residuals of a bank of labelled answers are smoothed by a Gaussian kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.calibration.arrays import FloatArray, numbers, outcomes, probabilities, same_shape
from hedgerow.calibration.errors import NotEnoughData, RangeError, ShapeError
from hedgerow.calibration.regimes.vectors import Vectors, squared_distances, vectors

BANK = 20_000
"""Maximum number of labelled answers in the bank; of more, a random sample is used."""

_BLOCK = 1024
"""Number of queries processed at a time, so that the whole kernel matrix is never in memory."""


@dataclass(frozen=True, slots=True)
class Smoothed:
    """The field at some queries.

    Attributes
    ----------
    delta : ndarray, shape (n,)
        Mean residual of the neighbourhood, in [-1, 1]; below 0 = overconfident there. 0 where nothing is near.
    mass : ndarray, shape (n,)
        Sum of the kernel over the bank: about how many labelled answers the mean rests on. The variance of delta is at most 1 / (4 mass).
    """

    delta: FloatArray
    mass: FloatArray


def residuals(confidence: ArrayLike, correct: ArrayLike) -> FloatArray:
    """Outcome minus confidence: above 0 = the answer was better than its confidence."""
    f, y = same_shape(confidence=probabilities("confidence", confidence), correct=outcomes("correct", correct))
    return np.asarray(y - f, dtype=np.float64)


def draw_bank(size: int, rng: np.random.Generator, limit: int = BANK) -> NDArray[np.int64]:
    """Indices of the bank's answers: all, or `limit` of them at random."""
    return np.arange(size) if size <= limit else np.sort(rng.choice(size, limit, replace=False))


def smooth(query: ArrayLike, bank: ArrayLike, residual: ArrayLike, *, bandwidth: float) -> Smoothed:
    """Nadaraya-Watson estimate of the miscalibration field.

    Parameters
    ----------
    query : array_like, shape (n, d)
        Where the field is wanted.
    bank : array_like, shape (m, d)
        Labelled answers, see `draw_bank`.
    residual : array_like, shape (m,)
        Theirs, see `residuals`.
    bandwidth : float
        > 0: sigma of exp(-|a - b|^2 / sigma^2).

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Kobalczyk & van der Schaar 2026 (arXiv 2605.13484), equation 2 and appendix D.4. **Deviates**: none.

    Examples
    --------
    >>> field = smooth([[0.0], [5.0]], [[0.0], [0.1], [5.0]], [-0.4, -0.2, 0.5], bandwidth=1.0)
    >>> field.delta.round(2).tolist(), field.mass.round(1).tolist()
    ([-0.3, 0.5], [2.0, 1.0])
    """
    if not bandwidth > 0.0:
        raise RangeError(f"bandwidth must be > 0, got {bandwidth!r}")
    q, b, r = vectors("query", query), vectors("bank", bank), numbers("residual", residual)
    if q.shape[1] != b.shape[1] or r.shape != (len(b),):
        raise ShapeError(f"shapes do not fit together: query {q.shape}, bank {b.shape}, residual {r.shape}")
    columns = np.stack([r, np.ones_like(r)], axis=1).astype(np.float32)
    sums = np.concatenate([_kernel(q[i : i + _BLOCK], b, bandwidth) @ columns for i in range(0, len(q), _BLOCK)])
    mass = sums[:, 1].astype(np.float64)
    return Smoothed(np.where(mass > 0.0, sums[:, 0] / np.maximum(mass, 1e-30), 0.0), mass)


def _kernel(a: Vectors, b: Vectors, bandwidth: float) -> Vectors:
    """exp(-|a - b|^2 / bandwidth^2) of every row of a with every row of b."""
    return np.asarray(np.exp(-squared_distances(a, b) / np.float32(bandwidth**2)), dtype=np.float32)


def correct_within(confidence: ArrayLike, delta: ArrayLike, *, scale: float = 1.0) -> FloatArray:
    """Confidences moved by the field without leaving [0, 1]: f - f tanh(a |d|) where d < 0, f + (1 - f) tanh(a d) elsewhere.

    Parameters
    ----------
    confidence, delta : array_like, of one shape
        f in [0, 1], and the field d; below 0 = overconfident.
    scale : float
        a > 0; larger = a longer way for the same d.

    Returns
    -------
    ndarray
        In [0, 1]; not less than f where d >= 0, not more where d < 0.

    Raises
    ------
    RangeError, ShapeError
        If a confidence is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: arXiv 2605.13484, equation 5. **Deviates**: none.

    Examples
    --------
    >>> correct_within([0.9, 0.5], [-0.4, 0.4]).round(3).tolist()
    [0.558, 0.69]
    """
    f, d = same_shape(confidence=probabilities("confidence", confidence), delta=numbers("delta", delta))
    share = np.tanh(scale * np.abs(d))
    return np.asarray(np.where(d < 0.0, f - f * share, f + (1.0 - f) * share), dtype=np.float64)


SCALES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Scales of the correction that are tried."""


def best_scale(confidence: ArrayLike, delta: ArrayLike, correct: ArrayLike) -> float:
    """The scale of `correct_within` with the lowest Brier score on validation answers."""
    y = outcomes("correct", correct)
    if y.size == 0:
        raise NotEnoughData("no validation answers to choose a scale on")
    return min(SCALES, key=lambda scale: float(np.mean((y - correct_within(confidence, delta, scale=scale)) ** 2)))


def proxy(confidence: ArrayLike, delta: ArrayLike, correct: ArrayLike) -> float:
    """Brier score of f + delta on validation answers, to choose a geometry (arXiv 2605.13484, equation 6).

    Lower is better.
    """
    return float(np.mean((residuals(confidence, correct) - numbers("delta", delta)) ** 2))
