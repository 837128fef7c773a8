"""Platt scaling on bounded log-odds with smoothed targets, so that neither unanimous samples nor luck appear as certainty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arrays import FloatArray
from .base import LOG_ODDS_LIMIT, Learned, log_odds
from .learning import learnable
from .platt import PlattMap

UNANIMITY = 3.044522437723423
"""ln 21, the empirical log-odds of ten of ten, 10.5 : 0.5 (Haldane, Anscombe): that all samples agree is evidence of this order, whatever
the 1e-6 floor makes of it."""


@dataclass(frozen=True, slots=True)
class BoundedPlattMap(PlattMap):
    """A Platt map that holds a limit of about ln 21; attributes as there.

    Examples
    --------
    >>> bounded = BoundedPlattMap(w=1.0, b=0.0)
    >>> round(bounded.means(0.9999).item(), 4)
    0.9545
    """

    kind: ClassVar[str] = "platt-bounded"

    limit: float = UNANIMITY

    @classmethod
    def learn(
        cls,
        mean: FloatArray,
        correct: FloatArray,
        *,
        allow_negative_slope: bool = False,
        limit: float = UNANIMITY,
        weights: FloatArray | None = None,
    ) -> Learned:
        """Learn w and b on log-odds within `limit`, to Platt's smoothed targets; errors and options as for `PlattMap.learn`.

        Where all means lie beyond the limit on one side, nothing would be left of their order, and they are taken as they are.

        Notes
        -----
        **Source**: RALC 4.1, equation 1. The targets are those of Platt 1999, 2.2: (r + 1) / (r + 2) for right answers and 1 / (w + 2)
        for wrong ones, r and w their numbers.

        **Deviates**: from RALC, whose 1e-6 floor puts unanimous samples at log-odds of 14 to 16, six times as far out as nine of ten: those
        points then set the slope. Any limit from 2.5 to 4 does about as well on recorded answers (docs/evidence.md, signal space).
        """
        mean, correct, weights = learnable(mean, correct, weights)
        limit = limit if np.ptp(log_odds(mean, limit)) > 0.0 else LOG_ODDS_LIMIT
        counts = np.ones_like(correct) if weights is None else weights
        right = (counts * correct).sum()
        wrong = counts.sum() - right
        targets = np.where(correct == 1.0, (right + 1.0) / (right + 2.0), 1.0 / (wrong + 2.0))
        return cls.learn_from_targets(mean, correct, targets, limit, allow_negative_slope, weights)
