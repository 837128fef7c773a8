"""The least share of labels that any way of choosing them could need, for a map of two numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ROUNDS = 3000


def least_share(x: Floats, p: Floats) -> float:
    """Labels that the best design needs over those that random ones need, for the same Brier score.

    Parameters
    ----------
    x : ndarray, shape (n,)
        Log-odds of the raw confidences that there are to ask about.
    p : ndarray, shape (n,)
        The map's probabilities, in (0, 1), taken to be true.

    Returns
    -------
    float
        In (0, 1]; 1 = drawing at random is the best there is.

    Notes
    -----
    With N labels whose x are distributed as D, the Brier score lies tr(A M(D)^-1) / N above its least: M(D) = E_D[w z z'], A = E[w^2 z z'] over all
    answers, z = (x, 1), w = p (1 - p). The D that makes this least is found by multiplicative steps. It knows the parameters that the labels are for and may ask
    about a level as often as it likes: no way of choosing can do better, as N grows.

    **Source**: Silvey, Titterington & Torsney 1978 (the steps); Pukelsheim, Optimal Design of Experiments, 1993, chapter 6 (linear criteria). **Deviates**: none.
    """
    levels, first, count = np.unique(x.round(9), return_index=True, return_counts=True)
    z, w, occurs = np.column_stack([levels, np.ones_like(levels)]), p[first] * (1.0 - p[first]), count / count.sum()
    a = (z.T * (occurs * w**2)) @ z

    def inverse(design: Floats) -> Floats:
        return np.asarray(np.linalg.inv((z.T * (design * w)) @ z))

    design = np.full(levels.size, 1.0 / levels.size)
    for _ in range(ROUNDS):
        known = inverse(design)
        design = design * np.sqrt(w * np.einsum("ij,jk,ik->i", z, known @ a @ known, z))
        design /= design.sum()
    return float(np.trace(a @ inverse(design)) / np.trace(a @ inverse(occurs)))
