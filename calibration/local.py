"""Correction of a confidence by what is known of its neighbourhood, inside [0, 1] without clipping."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.calibration.arrays import FloatArray, numbers, probabilities, same_shape
from hedgerow.calibration.errors import RangeError


def range_aware_correction(mean: ArrayLike, residual: ArrayLike, *, scale: float = 1.0) -> FloatArray:
    """Move means towards 0 or 1 by the local mean of (outcome - confidence).

    Parameters
    ----------
    mean : array_like
        Confidences, in [0, 1].
    residual : array_like
        Estimated local miscalibration, in [-1, 1]; above 0 = underconfident there.
    scale : float
        > 0; chosen on held-out data. Larger = bolder.

    Returns
    -------
    ndarray of float64
        In [0, 1]; monotone in the residual, equal to the mean where that is 0.

    Raises
    ------
    RangeError, ShapeError
        If a value is out of range or the shapes do not fit together.

    Notes
    -----
    **Source**: Hidden miscalibration regimes (arXiv 2605.13484), equation 5: down by m tanh(scale |r|), up by
    (1 - m) tanh(scale |r|). **Deviates**: none.

    Examples
    --------
    >>> range_aware_correction([0.8, 0.8], [-0.2, 0.2], scale=2.0).round(4).tolist()
    [0.496, 0.876]
    """
    if not (np.isfinite(scale) and scale > 0.0):
        raise RangeError(f"scale must be finite and > 0, got {scale!r}")
    m, r = same_shape(mean=probabilities("mean", mean), residual=numbers("residual", residual))
    if not (np.abs(r) <= 1.0).all():
        raise RangeError("residual must be in [-1, 1]")
    step = np.tanh(scale * np.abs(r))
    return np.where(r < 0.0, m - m * step, m + (1.0 - m) * step)
