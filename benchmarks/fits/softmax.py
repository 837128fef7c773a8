"""Fits the softmax of the reader (`lexicon/reading/softmax.py`): names of features and a vector, a normal prior, L-BFGS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import optimize, sparse

from hedgerow.lexicon.reading.softmax import Softmax, hashed


def fit_softmax(
    seen: Sequence[Sequence[str]],
    vectors: np.ndarray,
    y: np.ndarray,
    classes: Sequence[str],
    *,
    share: np.ndarray | None = None,
    fewest: int = 3,
    penalty: float = 2.0,
    dense_penalty: float = 2.0,
    dense_size: float = 1.0,
) -> Softmax:
    """Weights.

    Args:
        seen: the names of features of each example.
        vectors: (examples, dimensions); no dimension is fine.
        y: index of each example's class.
        classes: names of the classes.
        share: what each example weighs.
        fewest: examples that a name must stand in.
        penalty: the prior's precision of the weights of names; `dense_penalty` of those of the vector.
        dense_size: the standard deviation that a dimension of the vector is brought to.
    """
    share = np.ones(len(y)) if share is None else share
    keys = [hashed(names) for names in seen]
    every, counts = np.unique(np.concatenate(keys), return_counts=True)
    every = every[counts >= fewest]
    there = [np.searchsorted(every, k[np.isin(k, every)]) for k in keys]
    lengths = np.cumsum([0, *map(len, there)])
    x = sparse.csr_matrix((np.ones(lengths[-1]), np.concatenate(there), lengths), shape=(len(seen), len(every)))
    shift = vectors.mean(axis=0)
    scale = np.maximum(vectors.std(axis=0), 1e-6) / dense_size
    d = (vectors - shift) / scale
    k, n, m = len(classes), len(every), vectors.shape[1]
    target = np.eye(k)[y]
    prior = np.concatenate([np.full(n * k, penalty), np.full(m * k, dense_penalty), np.full(k, 1e-3)])

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ w[: n * k].reshape(n, k) + d @ w[n * k : (n + m) * k].reshape(m, k) + w[(n + m) * k :]
        top = z.max(axis=1, keepdims=True)
        log_p = z - top - np.log(np.exp(z - top).sum(axis=1, keepdims=True))
        off = share[:, None] * (np.exp(log_p) - target)
        gradient = np.concatenate([(x.T @ off).ravel(), (d.T @ off).ravel(), off.sum(axis=0)]) + prior * w
        return float(-(share[:, None] * target * log_p).sum() + 0.5 * (prior * w * w).sum()), gradient

    w = optimize.minimize(loss, np.zeros((n + m + 1) * k), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    weights = w[: n * k].reshape(n, k)
    kept = np.abs(weights).max(axis=1) >= 0.02
    return Softmax(tuple(classes), every[kept], weights[kept].astype(np.float32), w[n * k : (n + m) * k].reshape(m, k).astype(np.float32),
                   shift.astype(np.float32), scale.astype(np.float32), w[(n + m) * k :].astype(np.float32))  # fmt: skip
