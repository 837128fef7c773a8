"""Chooses which answers to ask a verdict on next, so that few verdicts give a good map."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import probabilities
from .errors import ShapeError

DISTINCT = 21
"""Up to this many distinct confidences (shares of twenty samples) are levels of their own.

More are grouped into `TENTHS` by rank.
"""
TENTHS = 10

Indices = NDArray[np.int64]


def levels(confidence: ArrayLike) -> Indices:
    """The level of each confidence, shape (n,): one per distinct value if there are few, else its tenth by rank.

    Examples
    --------
    >>> levels([0.9, 0.4, 0.9, 1.0]).tolist()
    [1, 0, 1, 2]
    """
    p = probabilities("confidence", confidence)
    values, place = np.unique(p.round(6), return_inverse=True)
    if values.size > DISTINCT:
        rank = np.empty(p.size, np.int64)
        rank[np.argsort(p, kind="stable")] = np.arange(p.size)
        place = rank * TENTHS // p.size
    return np.asarray(place, dtype=np.int64)


def spread(level: ArrayLike, asked: ArrayLike, lot: ArrayLike) -> Indices:
    """The order in which to ask: after every verdict, each level has been asked in proportion to its size.

    Parameters
    ----------
    level : array_like of int, shape (n,)
        Level of every answer, see `levels`; numbers from 0.
    asked : array_like of bool, shape (n,)
        Whether it has a verdict already.
    lot : array_like, shape (n,)
        Random numbers, independent of the answers: within a level the smallest comes first.

    Returns
    -------
    ndarray of int
        Indices of the answers without a verdict.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Notes
    -----
    **Source**: proportional allocation in stratified sampling (Cochran, Sampling Techniques, 1977, 5.3-5.6), one draw
    at a time. Up to rounding, every answer is equally likely to be asked. So means over the asked answers estimate
    those of all answers, with a variance of at most that of a simple random sample; and a map of the wrong form is
    fitted where the answers are. **Deviates**: none.

    Examples
    --------
    >>> spread([0, 0, 0, 1, 1, 1], [False] * 6, [0.3, 0.1, 0.2, 0.9, 0.8, 0.7]).tolist()
    [1, 5, 2, 4, 0, 3]
    """
    levels_, done, lots = np.asarray(level, np.int64), np.asarray(asked, bool), np.asarray(lot, np.float64)
    if not levels_.shape == done.shape == lots.shape or levels_.ndim != 1:
        raise ShapeError(f"shapes differ: level {levels_.shape}, asked {done.shape}, lot {lots.shape}")
    if done.all():
        return np.empty(0, np.int64)
    share = np.bincount(levels_) / levels_.size
    count = np.bincount(levels_[done], minlength=share.size).astype(np.float64)
    open_rows = np.flatnonzero(~done)
    by_lot = open_rows[np.argsort(lots[open_rows], kind="stable")]
    waiting = [by_lot[levels_[by_lot] == k] for k in range(share.size)]
    remaining, order = np.array([rows.size for rows in waiting]), []
    for number in range(int(done.sum()) + 1, levels_.size + 1):
        behind = np.where(remaining > 0, share * number - count, -np.inf)
        k = int(behind.argmax())
        order.append(waiting[k][-remaining[k]])
        remaining[k] -= 1
        count[k] += 1.0
    return np.array(order, dtype=np.int64)
