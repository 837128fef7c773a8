"""Weights of a logistic regression on named features, as the gates of requests and of sentences use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from scipy import optimize, sparse, special

NO_WEIGHT = 0.03
"""Smaller weights are left out of a file."""


def fit_weights(
    seen: Sequence[Collection[str]], y: np.ndarray, share: np.ndarray, *, fewest: int, penalty: float
) -> dict[str, float]:
    """Weights by feature, two digits each.

    Args:
        seen: the features of each example.
        y: 1 or 0 for each.
        share: what each weighs.
        fewest: examples that a feature must stand in.
        penalty: the precision of the normal prior of each weight.
    """
    counts = Counter(name for names in seen for name in names)
    column = {name: at for at, name in enumerate(sorted(name for name, count in counts.items() if count >= fewest))}
    there = [sorted(column[name] for name in names if name in column) for names in seen]
    ends = np.cumsum([0, *map(len, there)])
    x = sparse.csr_matrix((np.ones(ends[-1]), np.concatenate(there), ends), shape=(len(seen), len(column)))

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ w
        value = float(share @ (np.logaddexp(0.0, z) - y * z) + 0.5 * penalty * w @ w)
        return value, x.T @ (share * (special.expit(z) - y)) + penalty * w

    start = np.zeros(len(column))
    w = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    return {name: round(float(value), 2) for name, value in zip(column, w, strict=True) if abs(value) >= NO_WEIGHT}
