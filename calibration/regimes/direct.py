"""The direct estimator: a confidence map, plus a penalised function of the question's embedding in log-odds.

The function is the average of three kinds of features (linear, and kernels of two widths). The penalty of each is
chosen by cross-validation over questions; a kind that does not help is left out. The average is scaled by its
out-of-fold slope, and each coarse group of questions adds an effect (one round of multicalibration). "No correction" is
one of the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..arrays import FloatArray, confidence_sample
from ..errors import CalibrationError, NotEnoughData, ShapeError
from ..maps.base import CalibrationMap, map_class
from .correction import NOTHING, Choice, DirectField, Shift, offset
from .features import Centres, Features, find_centres, kernel, linear, nearest
from .vectors import Vectors, vectors

BASES = ("platt-bounded", "platt", "isotonic")
"""Maps of the confidence that a correction may be based on."""
FALLBACKS = 2
"""Number of Platt maps to choose the fallback from, for questions about which nothing is known."""
PENALTIES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
WIDTHS = (2.0, 0.5)
"""Widths of the kernels, in units of the mean squared distance of questions from their mean."""
CENTRES = 256
PER_CENTRE = 6
"""Fewest answers per centre."""
FOLDS = 5
LEAST = 100
"""Fewest answers for learning a correction."""
CELLS = 16
"""Number of coarse groups of questions with an effect of their own."""
CELL_PRIOR = 5.0
"""Precision of the normal prior of those effects, about the weight of 20 answers."""

Done = Callable[[], None]


class _Design:
    """One kind of features on the training answers, decomposed once for all penalties, folds and label permutations."""

    def __init__(self, features: Features, x: Vectors, fold: NDArray[np.int64]) -> None:
        self.features, self._fold = features, fold
        self.columns = features(x)
        grams = [self._gram(fold == k) for k in range(FOLDS)]
        total = np.sum(grams, axis=0)
        self.full = np.linalg.eigh(total)
        self._folds = []
        for k in range(FOLDS):
            values, directions = np.linalg.eigh(total - grams[k])
            directions = directions.astype(np.float32)
            self._folds.append((values, directions, self.columns[fold == k] @ directions))

    def _gram(self, rows: NDArray[np.bool_]) -> FloatArray:
        held = self.columns[rows]
        return np.asarray(held.T @ held, dtype=np.float64)

    def out_of_fold(self, residual: Sequence[FloatArray], weight: float) -> FloatArray:
        """Out-of-fold shifts of all answers, one row per penalty; `residual` has one column per left-out fold."""
        shifts = np.empty((len(PENALTIES), len(self._fold)))
        for k, (values, directions, held) in enumerate(self._folds):
            without = np.where(self._fold == k, 0.0, residual[k]).astype(np.float32)
            along = directions.T @ (self.columns.T @ without)
            damped = along[:, None] / (weight * np.maximum(values, 0.0)[:, None] + np.array(PENALTIES))
            shifts[:, self._fold == k] = (held @ damped.astype(np.float32)).T
        return shifts

    def solve(self, residual: FloatArray, weight: float, penalty: float) -> FloatArray:
        """Weights for one penalty, fitted on all answers."""
        values, directions = self.full
        along = directions.T @ (self.columns.T @ residual.astype(np.float32)).astype(np.float64)
        return np.asarray(directions @ (along / (weight * np.maximum(values, 0.0) + penalty)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Part:
    """A kind of features at its best penalty."""

    design: _Design
    penalty: float
    brier: float
    out_of_fold: FloatArray


@dataclass(frozen=True, slots=True)
class _Bases:
    """The base maps for one set of labels: without each fold, and on all."""

    kind: str
    full: CalibrationMap
    residual: list[FloatArray]
    offset: FloatArray
    brier: float


class DirectEstimator:
    """Learns corrections from one set of questions; labels may be permuted without new decompositions.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Embeddings.
    confidence : array_like, shape (n,)
        In [0, 1].
    prompt : array_like, shape (n,)
        Equal for equal questions: they are never on both sides of a fold.
    rng : numpy.random.Generator
        Of folds and centres.
    done : callable
        Called after each step (a progress bar).

    Raises
    ------
    NotEnoughData
        Below 100 answers, or where all of them are to few questions.
    """

    def __init__(
        self,
        x: ArrayLike,
        confidence: ArrayLike,
        prompt: ArrayLike,
        rng: np.random.Generator,
        done: Done = lambda: None,
    ) -> None:
        self.x = vectors("x", x)
        self.confidence, _ = confidence_sample(confidence, np.zeros(np.size(confidence)))
        names, place = np.unique(np.asarray(prompt), return_inverse=True)
        if not len(self.x) == self.confidence.size == place.size:
            raise ShapeError(
                f"shapes do not fit together: x {self.x.shape}, confidence {self.confidence.shape}, prompt {place.shape}"
            )
        if place.size < LEAST or names.size < LEAST // 2:
            raise NotEnoughData(
                f"{place.size} answers to {names.size} different questions: a correction by questions needs at least "
                f"{LEAST} answers to {LEAST // 2}"
            )
        self._fold = (rng.permutation(names.size) % FOLDS)[place]
        self.centres: Centres = find_centres(self.x, min(CENTRES, max(1, len(self.x) // PER_CENTRE)), rng)
        done()
        self._cells = find_centres(self.x, CELLS, rng).at
        self._designs: list[_Design] = []
        for features in (linear(self.x), *(kernel(self.x, self.centres, width) for width in WIDTHS)):
            self._designs.append(_Design(features, self.x, self._fold))
            done()

    def fit(self, correct: ArrayLike) -> DirectField:
        """Learn from outcomes of shape (n,).

        Raises
        ------
        NotEnoughData
            If there is no base map for the outcomes.
        """
        _, y = confidence_sample(self.confidence, correct)
        candidates = [self._bases(kind, y) for kind in BASES]
        bases, fallback = min(candidates, key=_brier), min(candidates[:FALLBACKS], key=_brier).full
        parts = self._parts(bases, y)
        tried = {part.design.features.name: part.brier for part in parts}
        parts = [part for part in parts if part.brier < bases.brier]
        if not parts:
            return DirectField(
                fallback, bases.full, NOTHING, Choice(bases.kind, {}, 0.0, bases.brier, bases.brier, tried)
            )
        z = np.mean([part.out_of_fold for part in parts], axis=0)
        slope, bias = worth(z, bases.offset, y)
        known = bases.offset + slope * z + bias
        shift = self._shift(parts, bases, y, slope, bias, known)
        penalties = {part.design.features.name: part.penalty for part in parts}
        brier = float(np.mean((y - special.expit(known)) ** 2))
        return DirectField(fallback, bases.full, shift, Choice(bases.kind, penalties, slope, brier, bases.brier, tried))

    def _parts(self, bases: _Bases, y: FloatArray) -> list[_Part]:
        """Each kind of features at the penalty with the lowest out-of-fold Brier score."""
        weight, parts = float(y.mean() * (1.0 - y.mean())), []
        for design in self._designs:
            shifts = design.out_of_fold(bases.residual, weight)
            scores = np.mean((y - special.expit(bases.offset + shifts)) ** 2, axis=1)
            best = int(scores.argmin())
            parts.append(_Part(design, PENALTIES[best], float(scores[best]), shifts[best]))
        return parts

    def _shift(
        self, parts: Sequence[_Part], bases: _Bases, y: FloatArray, slope: float, bias: float, known: FloatArray
    ) -> Shift:
        """The parts fitted on all answers, plus the effects of groups that are missing out of fold."""
        residual = y - special.expit(offset(bases.full, self.confidence))
        weight, share = float(y.mean() * (1.0 - y.mean())), slope / len(parts)
        solved = tuple((p.design.features, share * p.design.solve(residual, weight, p.penalty)) for p in parts)
        p = special.expit(known)
        group, k = nearest(self.x, self._cells), len(self._cells)
        effects = np.bincount(group, y - p, k) / (np.bincount(group, p * (1.0 - p), k) + CELL_PRIOR)
        return Shift(solved, bias, self._cells, effects)

    def _bases(self, kind: str, y: FloatArray) -> _Bases:
        """A base map on all answers, and one without each fold."""
        options = {"allow_negative_slope": True} if kind.startswith("platt") else {}
        learn = map_class(kind).learn
        residual, out = [], np.empty(y.size)
        full = learn(self.confidence, y, **options).map
        for k in range(FOLDS):
            held = self._fold == k
            try:
                base = learn(self.confidence[~held], y[~held], **options).map
            except CalibrationError:  # one class is missing without this fold; use the map on all answers
                base = full
            z = offset(base, self.confidence)
            residual.append(y - special.expit(z))
            out[held] = z[held]
        return _Bases(kind, full, residual, out, float(np.mean((y - special.expit(out)) ** 2)))


def _brier(bases: _Bases) -> float:
    return bases.brier


def worth(z: FloatArray, under: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Slope in [0, 2] and bias of the logistic regression of outcomes on out-of-fold shifts over the base map.

    The bias is fitted with the clipped slope, so that the mean stays that of the outcomes.
    """
    slope, bias = _logistic(np.column_stack([z, np.ones_like(z)]), under, y)
    bounded = float(np.clip(slope, 0.0, 2.0))
    if bounded != slope:
        (bias,) = _logistic(np.ones((z.size, 1)), under + bounded * z, y)
    return bounded, float(bias)


def _logistic(columns: FloatArray, under: FloatArray, y: FloatArray) -> FloatArray:
    """Weights of a logistic regression, shape (columns,), with a fixed offset in log-odds, by Newton's method."""
    at = np.zeros(columns.shape[1])
    for _ in range(8):
        p = special.expit(under + columns @ at)
        hessian = columns.T @ (columns * (p * (1.0 - p))[:, None]) + 1e-3 * np.eye(at.size)
        at = at - np.linalg.solve(hessian, columns.T @ (p - y))
    return at
