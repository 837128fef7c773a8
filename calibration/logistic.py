"""Logistic regression on a few columns by Newton's method, with an optional Gaussian prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from .arrays import FloatArray

_STEPS = 100
_TOLERANCE = 1e-10
"""Newton stops if the expected gain of the next step (half the squared Newton decrement) is below this times n."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic regression.

    Attributes
    ----------
    coefficients : ndarray, shape (p,)
    standard_errors : ndarray, shape (p,)
        Square roots of the diagonal of the inverse Fisher information (of the posterior's, with a prior).
    converged : bool
        False where the maximum lies at infinity (separable data) or is not unique (collinear columns).
    """

    coefficients: FloatArray
    standard_errors: FloatArray
    converged: bool


def fit_logistic(
    columns: Sequence[FloatArray],
    correct: FloatArray,
    *,
    prior_mean: FloatArray,
    prior_precision: FloatArray | float = 0.0,
    weights: FloatArray | None = None,
) -> Logistic:
    """Fit P(y = 1) = sigmoid(sum c_j x_j) by maximum likelihood, or by the mode under a normal prior.

    The prior's precision is one number, or one per coefficient (0 leaves a coefficient, such as the bias, unpenalised).
    `weights` >= 0, shape (n,), are the number of records that each one stands for. Newton's method with step halving,
    from the prior's mean. It takes a few passes over the data and copies only the linear predictor.
    """
    counts = np.ones(len(correct)) if weights is None else weights
    state = _State(columns, correct, counts, prior_mean, np.broadcast_to(prior_precision, prior_mean.shape))
    coefficients = prior_mean.copy()
    loss = state.loss(coefficients)
    for _ in range(_STEPS):
        gradient, hessian = state.derivatives(coefficients)
        if not np.isfinite(hessian).all() or np.linalg.cond(hessian) > 1e13:
            return Logistic(coefficients, np.full(len(columns), np.nan), False)
        step = np.asarray(np.linalg.solve(hessian, gradient), dtype=np.float64)
        if gradient @ step < 2.0 * _TOLERANCE * _TOLERANCE * len(correct):
            return Logistic(coefficients - step, np.sqrt(np.diag(np.linalg.inv(hessian))), True)
        coefficients, loss, moved = _descend(state, coefficients, loss, step)
        if not moved:  # the loss cannot decrease further in double precision
            return Logistic(coefficients, np.sqrt(np.diag(np.linalg.inv(hessian))), True)
    return Logistic(coefficients, np.full(len(columns), np.nan), False)


def _descend(state: _State, coefficients: FloatArray, loss: float, step: FloatArray) -> tuple[FloatArray, float, bool]:
    """The longest of step, step / 2, step / 4, ... that reduces the loss."""
    for halvings in range(40):
        proposal = coefficients - step * 0.5**halvings
        proposed = state.loss(proposal)
        if proposed < loss:
            return proposal, proposed, True
    return coefficients, loss, False


@dataclass(frozen=True, slots=True)
class _State:
    """The data of one regression."""

    columns: Sequence[FloatArray]
    correct: FloatArray
    counts: FloatArray
    prior_mean: FloatArray
    prior_precision: FloatArray

    def _predictor(self, coefficients: FloatArray) -> FloatArray:
        total = np.zeros(len(self.correct))
        for column, coefficient in zip(self.columns, coefficients, strict=True):
            total += coefficient * column
        return total

    def loss(self, coefficients: FloatArray) -> float:
        """Negative log posterior: -ln sigmoid(z) for y = 1; z more for y = 0."""
        z = self._predictor(coefficients)
        away = coefficients - self.prior_mean
        data = (self.counts * ((1.0 - self.correct) * z - special.log_expit(z))).sum()
        return float(data + 0.5 * (self.prior_precision * away) @ away)

    def derivatives(self, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian of the loss."""
        p = special.expit(self._predictor(coefficients))
        residual, weight = self.counts * (p - self.correct), self.counts * p * (1.0 - p)
        size = len(self.columns)
        gradient, hessian = np.empty(size), np.empty((size, size))
        for i, first in enumerate(self.columns):
            gradient[i] = (residual * first).sum()
            weighted = weight * first
            for j in range(i + 1):
                hessian[i, j] = hessian[j, i] = (weighted * self.columns[j]).sum()
        gradient += self.prior_precision * (coefficients - self.prior_mean)
        return gradient, hessian + np.diag(self.prior_precision)
