"""A learned correction: a map of the confidence, and what the question adds to its log-odds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from hedgerow.calibration.arrays import FloatArray
from hedgerow.calibration.maps.base import CalibrationMap
from hedgerow.calibration.maps.local import CLIP
from hedgerow.calibration.regimes.features import Features, nearest
from hedgerow.calibration.regimes.smoothing import Vectors, vectors


@dataclass(frozen=True, slots=True)
class Shift:
    """What a question adds to the log-odds; without parts and cells it adds nothing.

    Attributes
    ----------
    parts : tuple of (Features, ndarray)
        Linear functions of features, which are added.
    bias : float
    cells : ndarray, shape (k, d)
        Centres of coarse groups of questions.
    effects : ndarray, shape (k,)
        What a question of each group gets on top.
    """

    parts: tuple[tuple[Features, FloatArray], ...] = ()
    bias: float = 0.0
    cells: Vectors = field(default_factory=lambda: np.empty((0, 0), np.float32))
    effects: FloatArray = field(default_factory=lambda: np.empty(0))

    def __call__(self, x: Vectors) -> FloatArray:
        """Shift of rows of embeddings, shape (n,)."""
        total = np.full(len(x), self.bias)
        for features, weights in self.parts:
            total += features(x) @ weights
        return total + self.effects[nearest(x, self.cells)] if self.effects.size else total


NOTHING = Shift()


@dataclass(frozen=True, slots=True)
class Choice:
    """What cross-validation chose.

    Attributes
    ----------
    base : str
        Kind of the map under the correction.
    penalties : Mapping[str, float]
        Of the kinds of features that are averaged; empty where no correction was best.
    slope : float
        What the average is multiplied by: what out-of-fold shifts were worth.
    brier : float
        Out-of-fold Brier score of the average.
    brier_base : float
        The same of the base map alone.
    tried : Mapping[str, float]
        The lowest out-of-fold Brier score of each kind of features.
    """

    base: str
    penalties: Mapping[str, float]
    slope: float
    brier: float
    brier_base: float
    tried: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class DirectField:
    """A confidence map and the correction on top of it.

    Attributes
    ----------
    fallback : CalibrationMap
        The map where nothing is known of the question.
    base : CalibrationMap
        The map under the shift.
    """

    fallback: CalibrationMap
    base: CalibrationMap
    shift: Shift
    choice: Choice

    def corrected(self, x: ArrayLike, confidence: ArrayLike) -> FloatArray:
        """Probabilities of being right, shape (n,)."""
        return np.asarray(special.expit(offset(self.base, confidence) + self.shift(vectors("x", x))), dtype=np.float64)

    def hidden(self, x: ArrayLike, confidence: ArrayLike) -> FloatArray:
        """What the question says beyond the confidence: corrected minus the base map's mean; below 0 = overconfident there."""
        return self.corrected(x, confidence) - special.expit(offset(self.base, confidence))


def offset(base: CalibrationMap, confidence: ArrayLike) -> FloatArray:
    """Log-odds of the base map's means, within +-logit(.99)."""
    return np.asarray(special.logit(np.clip(base.means(confidence), CLIP, 1.0 - CLIP)), dtype=np.float64)
