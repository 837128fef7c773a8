"""Linear functions of embedding and plain features, by ridge regression with a cross-validated penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from ..arrays import FloatArray
from .discovery import Indices
from .vectors import Vectors

COMPONENTS = 48
"""Number of principal components of the embeddings; at most one per eight questions."""
FOLDS = 5
PENALTIES = (30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Penalties for the log-odds of a question and for the expected share; chosen by cross-validation."""
PLAIN_SCALE = 2.0
"""Scale of plain features relative to components: there are few, and each is more informative.

Chosen on half of the questions of one data set.
"""


def ridge_logistic(columns: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """Weights of a logistic regression; the first column, the intercept, is not penalised."""
    at, penalties = np.zeros(columns.shape[1]), np.full(columns.shape[1], penalty)
    penalties[0] = 1e-6
    for _ in range(15):
        p = special.expit(columns @ at)
        hessian = columns.T @ (columns * (p * (1.0 - p))[:, None]) + np.diag(penalties)
        step = np.linalg.solve(hessian, columns.T @ (p - y) + penalties * at)
        at = at - step
        if np.abs(step).max() < 1e-6:
            break
    return at


def ridge(columns: FloatArray, y: FloatArray, penalty: float) -> FloatArray:
    """The same by least squares."""
    penalties = np.full(columns.shape[1], penalty)
    penalties[0] = 1e-6
    return np.asarray(np.linalg.solve(columns.T @ columns + np.diag(penalties), columns.T @ y), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Reader:
    """The columns for learning a linear function of embedding and plain features; converts its weights back."""

    mean: FloatArray
    directions: FloatArray
    centre: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, x: Vectors, plain: FloatArray) -> Reader:
        """From the embeddings, shape (n, d), and plain features, shape (n, f), of the questions to learn from."""
        mean = x.mean(axis=0).astype(np.float64)
        k = max(1, min(COMPONENTS, len(x) // 8, x.shape[1]))
        _, _, right = np.linalg.svd(x - mean, full_matrices=False)
        spread = ((x - mean) @ right[:k].T).std(axis=0)
        scale = plain.std(axis=0)
        useful = np.where(scale > 1e-9, PLAIN_SCALE / np.maximum(scale, 1e-9), 0.0)
        return cls(mean, right[:k].T / np.maximum(spread, 1e-9), plain.mean(axis=0), useful)

    def columns(self, x: Vectors, plain: FloatArray) -> FloatArray:
        """Columns: intercept, components and plain features."""
        return np.hstack([np.ones((len(x), 1)), (x - self.mean) @ self.directions, (plain - self.centre) * self.scale])

    def weights(self, learned: FloatArray) -> tuple[FloatArray, tuple[float, ...]]:
        """Weights of the embedding, and of intercept and plain features in original units."""
        k = self.directions.shape[1]
        embedding, plain = self.directions @ learned[1 : k + 1], learned[k + 1 :] * self.scale
        constant = learned[0] - self.mean @ embedding - self.centre @ plain
        return embedding, (float(constant), *plain.tolist())


def cross_fitted(
    columns: FloatArray,
    at: FloatArray,
    y: FloatArray,
    fold: Indices,
    learn: Callable[[FloatArray, FloatArray, float], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Weights at the penalty with the lowest out-of-fold loss, and the out-of-fold values at `at`, shape (n, N).

    `columns` are (2 n, p), `at` (n, N, p), `y` (2 n,); the loss is the squared error of outcomes, through the sigmoid where `learn` is logistic.
    """
    both, link = np.tile(fold, 2), special.expit if learn is ridge_logistic else np.positive
    known = np.isfinite(y)
    losses, values = [], []
    for penalty in PENALTIES:
        out = np.empty(at.shape[:2])
        for held in range(FOLDS):
            rows = (both != held) & known
            out[fold == held] = at[fold == held] @ learn(columns[rows], y[rows], penalty)
        predicted = np.concatenate([out[:, 0], out[:, -1]])[known]
        losses.append(float(np.mean((link(predicted) - y[known]) ** 2)))
        values.append(out)
    best = int(np.argmin(losses))
    return learn(columns[known], y[known], PENALTIES[best]), values[best]
