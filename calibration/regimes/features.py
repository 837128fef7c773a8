"""Features of a question for a correction: its embedding, or its nearness to centres of earlier questions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .vectors import Vectors, squared_distances, vectors

ROUNDS = 6
"""Rounds of Lloyd's algorithm; enough for centres that are used as features."""
LEAST_OF_CENTRE = 3
"""Fewest questions per centre, so that stored centres reveal no single question."""
_SAMPLE = 20_000
"""Maximum number of rows for finding centres; of more, a random sample is used."""
_BLOCK = 8192
_TINY = 1e-5
"""Directions of the kernel with an eigenvalue below this share of the largest are left out."""


@dataclass(frozen=True, slots=True)
class Centres:
    """Centres of questions: means of k groups; not of single questions if most groups have several.

    Attributes
    ----------
    at : ndarray, shape (k, d)
    count : ndarray, shape (k,)
        Questions of each group.
    spread : float
        Mean squared distance of a question from its centre.
    """

    at: Vectors
    count: NDArray[np.float64]
    spread: float


def nearest(x: Vectors, at: Vectors) -> NDArray[np.int64]:
    """The nearest centre of every row."""
    half = 0.5 * (at**2).sum(axis=1)
    parts = [np.argmax(x[i : i + _BLOCK] @ at.T - half, axis=1) for i in range(0, len(x), _BLOCK)]
    return np.concatenate(parts)


def find_centres(x: ArrayLike, k: int, rng: np.random.Generator) -> Centres:
    """At most k centres of the rows by Lloyd's algorithm with k-means++ starts.

    Groups of fewer than three are dropped if most are larger.
    """
    rows = vectors("x", x)
    if len(rows) > _SAMPLE:
        rows = rows[np.sort(rng.choice(len(rows), _SAMPLE, replace=False))]
    at = _starts(rows, k, rng)
    for _ in range(ROUNDS):
        at, count = _means(rows, nearest(rows, at), len(at))
    at, count = _means(rows, nearest(rows, at), len(at))
    at, count = _of_several(at, count)
    spread = float(((rows - at[nearest(rows, at)]) ** 2).sum(axis=1).mean())
    return Centres(at, count, max(spread, 1e-9))


def _of_several(at: Vectors, count: NDArray[np.float64]) -> tuple[Vectors, NDArray[np.float64]]:
    """Without the centres of one or two questions, which would nearly be those questions; all if most are such."""
    kept = count >= LEAST_OF_CENTRE
    return (at[kept], count[kept]) if kept.mean() > 0.5 else (at, count)


def _starts(rows: Vectors, k: int, rng: np.random.Generator) -> Vectors:
    """Initial rows far from each other; fewer than k if rows repeat."""
    chosen = [int(rng.integers(len(rows)))]
    away = squared_distances(rows, rows[chosen])[:, 0].astype(np.float64)
    while len(chosen) < k and (total := away.sum()) > 1e-6 * len(rows):
        chosen.append(int(np.searchsorted(np.cumsum(away), rng.random() * total)))
        away = np.minimum(away, squared_distances(rows, rows[chosen[-1:]])[:, 0])
    return rows[chosen]


def _means(rows: Vectors, group: NDArray[np.int64], k: int) -> tuple[Vectors, NDArray[np.float64]]:
    order, count = np.argsort(group, kind="stable"), np.bincount(group, minlength=k)
    filled = count > 0
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])[filled]
    sums = np.add.reduceat(rows[order], starts, axis=0)
    return (sums / count[filled, None]).astype(np.float32), count[filled].astype(np.float64)


@dataclass(frozen=True, slots=True)
class Features:
    """A map from embeddings to feature columns; equal settings give equal columns.

    Attributes
    ----------
    name : str
        "linear", or "kernel" and its width.
    centres : Centres or None
        Of a kernel.
    precision : float
        Of a kernel: exp(-precision |x - c|^2).
    mean : ndarray, shape (d,)
        Subtracted from embeddings first, since the base map handles a shift common to all questions.
    whitening : ndarray, shape (k, r)
        Of a kernel: transforms kernel values to columns of equal prior weight.
    scale : float
        Root mean square length of the columns; they are divided by it, so that penalties are comparable between kinds.
    """

    name: str
    mean: Vectors
    centres: Centres | None = None
    precision: float = 0.0
    whitening: Vectors = field(default_factory=lambda: np.empty((0, 0), np.float32))
    scale: float = 1.0

    def __call__(self, x: Vectors) -> Vectors:
        """Columns of rows of embeddings, shape (n, r)."""
        bare = x if self.centres is None else self._whitened(x)
        return np.asarray((bare - self.mean) / np.float32(self.scale), dtype=np.float32)

    def _whitened(self, x: Vectors) -> Vectors:
        blocks = (self.kernel(x[i : i + _BLOCK]) @ self.whitening for i in range(0, len(x), _BLOCK))
        return np.concatenate(list(blocks))

    def kernel(self, x: Vectors) -> Vectors:
        """Nearness to every centre, in [0, 1]."""
        if self.centres is None:
            return np.empty((len(x), 0), dtype=np.float32)
        return np.asarray(np.exp(-np.float32(self.precision) * squared_distances(x, self.centres.at)), dtype=np.float32)


def _scaled(bare: Features, x: Vectors) -> Features:
    """The features with mean and scale fitted on these rows."""
    columns = bare(x)
    mean = columns.mean(axis=0)
    length = float(np.sqrt(((columns - mean) ** 2).sum(axis=1).mean()))
    return replace(bare, mean=mean, scale=max(length, 1e-6))


def linear(x: Vectors) -> Features:
    """Linear features: the embedding itself."""
    return _scaled(Features("linear", np.zeros(x.shape[1], np.float32)), x)


def kernel(x: Vectors, centres: Centres, width: float) -> Features:
    """Nystrom features of a Gaussian kernel.

    `width` is in units of the mean squared distance of questions from their mean.

    Notes
    -----
    **Source**: Williams & Seeger 2001; Zhang et al. 2008 for centres in place of drawn rows. **Deviates**: directions below 1e-5 of the
    largest eigenvalue are left out.
    """
    scale = float(((x - x.mean(axis=0)) ** 2).sum(axis=1).mean())
    precision = 1.0 / (width * max(scale, 1e-12))
    values, directions = np.linalg.eigh(
        np.exp(-precision * squared_distances(centres.at, centres.at)).astype(np.float64)
    )
    kept = values > _TINY * values[-1]
    whitening = (directions[:, kept] / np.sqrt(values[kept])).astype(np.float32)
    none = np.zeros(whitening.shape[1], np.float32)
    return _scaled(Features(f"kernel {width:g}", none, centres, precision, whitening), x)
