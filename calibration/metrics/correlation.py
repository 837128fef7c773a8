"""Correlations, and their average."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray, numbers, sample
from ..errors import RangeError

FISHER_LIMIT = 0.9999
"""Correlations are clipped to this magnitude before Fisher's transformation, which is infinite at 1."""


def fisher_mean(correlations: ArrayLike) -> float:
    """Mean of correlations: tanh of the mean of their Fisher transforms, arctanh r.

    Parameters
    ----------
    correlations : array_like, shape (n,)
        In [-1, 1], n >= 1.

    Notes
    -----
    **Source**: Fisher 1915; Liu & Cohan, footnotes 7 and 19, whose published code cuts to `FISHER_LIMIT` as well. **Deviates**: none.

    Examples
    --------
    >>> round(fisher_mean([0.9, 0.1]), 4)
    0.6563
    """
    array = np.atleast_1d(numbers("correlations", correlations))
    if not array.size or not (np.abs(array) <= 1.0).all():
        raise RangeError("correlations must be one or more numbers in [-1, 1]")
    return float(np.tanh(np.arctanh(np.clip(array, -FISHER_LIMIT, FISHER_LIMIT)).mean()))


def pearson(x: ArrayLike, y: ArrayLike) -> float | None:
    """Pearson's correlation of two columns of shape (n,), in [-1, 1].

    None for fewer than two pairs, or if one column is constant.

    Examples
    --------
    >>> round(pearson([1, 2, 3], [1, 2, 4]), 4)
    0.982
    """
    a, b = sample(x=numbers("x", x), y=numbers("y", y))
    if a.size < 2 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return None
    a, b = _standard(a), _standard(b)
    return float(np.clip(a @ b, -1.0, 1.0))


def _standard(values: FloatArray) -> FloatArray:
    """Centred and of length 1; scaled first, so that squares of tiny differences do not underflow."""
    centred = values - values.mean()
    centred = centred / np.abs(centred).max()
    return np.asarray(centred / np.linalg.norm(centred))


def spearman(x: ArrayLike, y: ArrayLike) -> float | None:
    """Spearman's correlation: Pearson's of the ranks, ties at their mean rank; None where `pearson` is None.

    Examples
    --------
    >>> round(spearman([0.1, 0.5, 0.9], [0.2, 0.3, 0.4]), 9)
    1.0
    """
    return pearson(ranks(x), ranks(y))


def ranks(values: ArrayLike) -> FloatArray:
    """Ranks from 1; ties get their mean rank.

    Examples
    --------
    >>> ranks([0.3, 0.1, 0.3]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, counts = np.unique(numbers("values", values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[place])
