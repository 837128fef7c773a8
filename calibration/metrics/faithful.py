"""Faithfulness of wording to confidence: does an answer sound as sure as the model is?"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, probabilities, same_shape, sample
from hedgerow.calibration.errors import RangeError


def faithfulness(decisiveness: ArrayLike, confidence: ArrayLike) -> FloatArray:
    """Faithfulness of responses: 1 - mean over the assertions of |decisiveness - confidence|.

    Parameters
    ----------
    decisiveness : array_like, shape (..., assertions)
        How sure each assertion sounds, in [0, 1]; higher = more decisive. One response is one-dimensional.
    confidence : array_like, shape (..., assertions)
        How sure the model is of it, in [0, 1].

    Returns
    -------
    ndarray of float64, shape (...)
        In [0, 1]; higher = more faithful.

    Raises
    ------
    RangeError
        If a value is out of range, or nothing is asserted (a refusal has no faithfulness).
    ShapeError
        If the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, definition 1. **Deviates**: none.

    Examples
    --------
    >>> faithfulness([1.0, 0.6], [0.8, 0.6]).tolist()
    0.9
    """
    d, c = same_shape(
        decisiveness=np.atleast_1d(probabilities("decisiveness", decisiveness)),
        confidence=np.atleast_1d(probabilities("confidence", confidence)),
    )
    if d.shape[-1] == 0:
        raise RangeError("a response without assertions has no faithfulness")
    return np.asarray(1.0 - np.abs(d - c).mean(axis=-1))


def cmfg(decisiveness: ArrayLike, confidence: ArrayLike, *, bins: int = 10) -> float:
    """Conditional mean faithfulness: mean faithfulness within bins of confidence, then the mean over bins.

    Parameters
    ----------
    decisiveness : array_like, shape (n,)
        How sure each response sounds, in [0, 1].
    confidence : array_like, shape (n,)
        How sure the model is of it, in [0, 1].
    bins : int
        Bins of equal width, >= 1; upper ends included, the first bin holds 0 as well.

    Returns
    -------
    float
        In [0, 1]; higher = more faithful. 0.5 for wording that ignores the confidence, where all bins are filled.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Yona, Aharoni & Geva 2024, section 4 (cMFG; "10 equally-sized bins", read as equal width, since the metric is to
    simulate confidences spread evenly over [0, 1]). **Deviates**: empty bins are left out of the mean.

    Examples
    --------
    >>> round(cmfg([1.0, 1.0, 1.0], [0.95, 0.92, 0.15]), 4)
    0.5425
    """
    if bins < 1:
        raise RangeError(f"bins must be >= 1, got {bins!r}")
    d, c = sample(
        decisiveness=probabilities("decisiveness", decisiveness), confidence=probabilities("confidence", confidence)
    )
    place = np.maximum(np.searchsorted(np.arange(bins + 1) / bins, c, side="left") - 1, 0)
    counts = np.bincount(place, minlength=bins)
    sums = np.bincount(place, 1.0 - np.abs(d - c), bins)
    return float(np.mean(sums[counts > 0] / counts[counts > 0]))
