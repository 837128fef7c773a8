"""A learned correction: a confidence map, plus a shift of its log-odds that depends on the question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray
from ..maps.base import CalibrationMap
from ..maps.local import CLIP
from .features import Features, nearest
from .vectors import Vectors, vectors


@dataclass(frozen=True, slots=True)
class Shift:
    """The shift that a question adds to the log-odds; 0 without parts and cells.

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
        """Shift for rows of embeddings, shape (n,)."""
        total = np.full(len(x), self.bias)
        for features, weights in self.parts:
            total += features(x) @ weights
        return total + self.effects[nearest(x, self.cells)] if self.effects.size else total


NOTHING = Shift()


@dataclass(frozen=True, slots=True)
class Choice:
    """The result of cross-validation.

    Attributes
    ----------
    base : str
        Kind of the map under the correction.
    penalties : Mapping[str, float]
        Penalties of the kinds of features that are averaged; empty if no correction was best.
    slope : float
        Factor of the average, fitted on out-of-fold shifts.
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
    """A confidence map with the correction on top of it.

    Attributes
    ----------
    fallback : CalibrationMap
        The map used if nothing is known about the question.
    base : CalibrationMap
        The map under the shift.
    """

    fallback: CalibrationMap
    base: CalibrationMap
    shift: Shift
    choice: Choice

    def corrected(self, x: ArrayLike, confidence: ArrayLike) -> FloatArray:
        """Probabilities in [0, 1] that the answers are right, shape (n,)."""
        return np.asarray(special.expit(offset(self.base, confidence) + self.shift(vectors("x", x))), dtype=np.float64)

    def hidden(self, x: ArrayLike, confidence: ArrayLike) -> FloatArray:
        """The effect of the question: corrected minus the base map's mean; below 0 = overconfident there."""
        return self.corrected(x, confidence) - special.expit(offset(self.base, confidence))


def offset(base: CalibrationMap, confidence: ArrayLike) -> FloatArray:
    """Log-odds of the base map's means, clipped to +-logit(.99)."""
    return np.asarray(special.logit(np.clip(base.means(confidence), CLIP, 1.0 - CLIP)), dtype=np.float64)
