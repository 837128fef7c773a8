"""An interval for each confidence by Venn-Abers prediction: narrow where a map had many labels, wide where few."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import FloatArray
from ..maps.venn_abers import VennAbersMap

if TYPE_CHECKING:
    from ..fitted import FittedMap

STEPS = 100
"""Raw means are rounded to whole percent: 101 values are fast to fit, small to store, and precise enough."""


def learn_intervals(mean: FloatArray, correct: FloatArray, weights: FloatArray | None = None) -> VennAbersMap:
    """Learn the intervals of raw means, from the same answers as the map.

    Parameters
    ----------
    mean, correct : ndarray, shape (n,)
        Raw means in [0, 1] and outcomes, 0 or 1.
    weights : ndarray, shape (n,), optional
        How many answers each stands for; the new answer is one.

    Raises
    ------
    NotEnoughData
        If all answers are right, or all wrong, or all means equal once rounded.

    Notes
    -----
    **Source**: inductive Venn-Abers prediction (Vovk & Petej 2014; Vovk, Petej & Fedorova 2015): the new answer is
    added to the labelled ones once as wrong and once as right, and the isotonic fit is evaluated at its confidence both
    times. One of the two ends is perfectly calibrated for any data; their distance shows how much one answer changes
    the fit there. It is not an interval that contains the true probability with a stated probability.
    """
    rounded = np.rint(mean * STEPS) / STEPS
    learned: VennAbersMap = VennAbersMap.learn(rounded, correct, weights=weights).map  # type: ignore[assignment]
    return learned


def interval(fitted: FittedMap | None, raw_mean: float, mean: float) -> tuple[float, float] | None:
    """The interval of an answer, widened to include the calibrated mean; None if its map has no intervals.

    Parameters
    ----------
    fitted : FittedMap or None
        What calibrated the answer; None: nothing did.
    raw_mean, mean : float
        Of the answer before and after that map, in [0, 1].

    Examples
    --------
    >>> from hedgerow.calibration.fitting import fit_map
    >>> few = fit_map("platt", [9.0, 4.0] * 10, [1.0, 6.0] * 10, [1, 0] * 8 + [0, 1] * 2, folds=0)
    >>> many = fit_map("platt", [9.0, 4.0] * 500, [1.0, 6.0] * 500, ([1, 0] * 8 + [0, 1] * 2) * 50, folds=0)
    >>> [tuple(round(end, 3) for end in interval(fitted, 0.9, 0.8)) for fitted in (few, many)]
    [(0.727, 0.818), (0.798, 0.8)]
    """
    if fitted is None or fitted.interval is None:
        return None
    low, high = fitted.interval.interval(round(raw_mean * STEPS) / STEPS)
    return min(low, mean), max(high, mean)
