"""Embeddings of answers as rows of numbers, and the distances of every pair."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RangeError, ShapeError

Vectors = NDArray[np.float32]


def vectors(name: str, values: ArrayLike) -> Vectors:
    """Rows of finite numbers; raises an error that names the argument."""
    array = np.asarray(values, dtype=np.float32)
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(f"{name} must be rows of numbers, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise RangeError(f"{name} must be finite")
    return array


def squared_distances(a: Vectors, b: Vectors) -> Vectors:
    """|a_i - b_j|^2 of every pair of rows, shape (n, m)."""
    squared = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2.0 * (a @ b.T)
    return np.asarray(np.maximum(squared, 0.0), dtype=np.float32)
