"""Thins labels drawn with unequal probabilities, for tests that need equally likely labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import probabilities, sample
from ..errors import RangeError


def thinned(drawn: ArrayLike, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which labels to keep so that every answer had the same probability to be labelled and kept.

    Parameters
    ----------
    drawn : array_like, shape (n,)
        Probability, in (0, 1], with which each answer was drawn to be labelled. It may depend on all that was known of the answer, never on
        whether it was right.
    rng : numpy.random.Generator
        Source of randomness. Use a fixed seed, so that nobody can choose among several draws.

    Returns
    -------
    ndarray of bool, shape (n,)
        Each label is kept with probability least / drawn, where least is the smallest of `drawn`; all where these are equal.

    Raises
    ------
    RangeError, ShapeError
        If a probability is not in (0, 1], or there is none.

    Notes
    -----
    An answer is labelled and kept with probability drawn * least / drawn = least, which is the same for all. So the
    kept labels are a simple random sample of all answers, and every test of shares is exact on them, for any n.
    **Source**: the acceptance-rejection method of von Neumann 1951. **Deviates**: weights of 1 / drawn (Horvitz &
    Thompson 1952) use all labels, but the counts are then not binomial: the tests would have to bet on weighted losses,
    whose bounds are wider if most labels have equal weights, and conformal risk control would need weights of future
    answers. Of n labels about n times the harmonic share least * mean(1 / drawn) are kept.

    Examples
    --------
    >>> thinned([0.5, 0.5, 0.5], rng=np.random.default_rng(0)).tolist()
    [True, True, True]
    >>> int(thinned([0.1] * 500 + [1.0] * 5000, rng=np.random.default_rng(0)).sum())
    1022
    """
    (p,) = sample(drawn=probabilities("drawn", drawn))
    if p.min() <= 0.0:
        raise RangeError("drawn must be > 0")
    kept: NDArray[np.bool_] = rng.random(p.size) < p.min() / p
    return kept
