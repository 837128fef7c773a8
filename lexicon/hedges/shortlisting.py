"""The nearest of many vectors by L1 distance: by FAISS where there are many, by numpy where there are few."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...calibration.arrays import FloatArray

Search = Callable[[FloatArray, int], tuple[NDArray[np.int64], NDArray[np.float32]]]
"""(query of shape (d,), count) -> indices of so many of the nearest vectors, and their distances, in any order."""

FAISS_FROM = 2_000
"""Vectors from which on FAISS searches. Below, numpy takes at most 50 microseconds longer for a search, and the process neither imports
FAISS (10 MB, 25 ms) nor keeps an index; from 5,000 on FAISS is twenty times as fast (benchmarks/performance/retrieval.py)."""


def l1_search(vectors: FloatArray, faiss_from: int = FAISS_FROM) -> Search:
    """A search among vectors.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
        n, d >= 1; compared with single precision.
    faiss_from : int
        Vectors from which on FAISS searches.
    """
    singles = np.ascontiguousarray(vectors, dtype=np.float32)
    if len(singles) < faiss_from:
        return partial(_by_numpy, singles)
    import faiss

    faiss.omp_set_num_threads(1)  # one query at a time: waking threads costs a thousand times the search
    dimensions = singles.shape[1]
    index = faiss.IndexFlat1D() if dimensions == 1 else faiss.IndexFlat(dimensions, faiss.METRIC_L1)
    index.add(singles)
    return partial(_by_faiss, index)


def _by_numpy(
    vectors: NDArray[np.float32], query: FloatArray, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    distances = np.abs(vectors - query.astype(np.float32)).sum(axis=1)
    nearest = np.argsort(distances, kind="stable")[:count]
    return nearest, distances[nearest]


def _by_faiss(index: Any, query: FloatArray, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    distances, nearest = index.search(query.astype(np.float32)[None, :], min(count, index.ntotal))
    return nearest[0], distances[0]
