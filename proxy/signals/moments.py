"""A Beta from scores by the method of moments, with what to do where the moments allow none."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, variance

from calibration import Beta


def from_scores(scores: Sequence[float]) -> Beta:
    """Beta with the mean and the (n - 1) variance of scores in [0, 1] (RALC A.1.1).

    Where no Beta has these moments (no spread, too much spread, or a mean of 0 or 1), each score counts as one
    observation: Beta(mean * n, (1 - mean) * n), floored.
    """
    mean, n = fmean(scores), len(scores)
    spread = variance(scores, mean) if n > 1 else 0.0
    limit = mean * (1.0 - mean)
    if not 0.0 < spread < limit:
        return Beta.from_mean(mean, n)
    return Beta.from_mean(mean, limit / spread - 1.0)
