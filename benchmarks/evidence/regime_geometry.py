"""A learned geometry in which answers with equal miscalibration are near each other: the paper's phi.

Trained with torch, applied with numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from benchmarks.evidence.regime_smoothing import (
    Smoothed,
    best_scale,
    correct_within,
    draw_bank,
    proxy,
    smooth,
)
from hedgerow.calibration.arrays import FloatArray, confidence_sample
from hedgerow.calibration.errors import NotEnoughData, ShapeError
from hedgerow.calibration.regimes.vectors import Vectors, vectors

Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Training:
    """The settings for learning a geometry.

    The defaults are those of arXiv 2605.13484 for language models (appendix D).

    Attributes
    ----------
    bandwidth : float
        sigma of the kernel, > 0.
    penalty : float
        lambda, >= 0: what neighbourhoods of less than `least_mass` cost.
    width, out : int
        Of the two hidden layers, and of the space.
    """

    bandwidth: float = 0.2
    penalty: float = 1e-3
    least_mass: float = 20.0
    width: int = 512
    out: int = 128
    dropout: float = 0.1
    learning_rate: float = 3e-5
    weight_decay: float = 7e-6
    batch: int = 1024
    clip: float = 1.0
    epochs: int = 100
    patience: int = 20


@dataclass(frozen=True, slots=True)
class Geometry:
    """phi: two hidden layers with GELU, a projection, and normalisation to unit length.

    Attributes
    ----------
    weights, biases : tuple of ndarray
        Of the three layers, shapes (out, in) and (out,).
    """

    weights: tuple[NDArray[np.float32], ...]
    biases: tuple[NDArray[np.float32], ...]

    def __call__(self, x: ArrayLike) -> Vectors:
        """The rows in the learned space, of length 1."""
        h = vectors("x", x)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            h = h @ weight.T + bias
            h = (0.5 * h * (1.0 + special.erf(h / np.sqrt(2.0)))).astype(np.float32)
        h = h @ self.weights[-1].T + self.biases[-1]
        return np.asarray(h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class LearnedField:
    """A geometry with its bank of labelled answers: the paper's estimator.

    Attributes
    ----------
    training : Training
        What it was learned with; of several, the one that validation chose.
    scale : float
        alpha of the range-aware correction, chosen on the validation answers.
    proxy : float
        Brier score of the additively corrected validation answers.
    epochs : int
        Epochs trained.
    """

    geometry: Geometry
    bank: Vectors
    residual: FloatArray
    training: Training
    scale: float
    proxy: float
    epochs: int

    def at(self, x: ArrayLike) -> Smoothed:
        """The field at rows of the input space."""
        return smooth(self.geometry(x), self.bank, self.residual, bandwidth=self.training.bandwidth)

    def corrected(self, x: ArrayLike, confidence: ArrayLike) -> FloatArray:
        """The confidences, corrected within [0, 1]."""
        return correct_within(confidence, self.at(x).delta, scale=self.scale)


@dataclass(frozen=True, slots=True)
class Answers:
    """Labelled answers: rows x (n, d), confidence (n,) in [0, 1], correct (n,) 0 or 1."""

    x: Vectors
    confidence: FloatArray
    correct: FloatArray

    @classmethod
    def of(cls, x: ArrayLike, confidence: ArrayLike, correct: ArrayLike) -> Answers:
        """From columns of one length, which are checked."""
        f, y = confidence_sample(confidence, correct)
        rows = vectors("x", x)
        if len(rows) != f.size:
            raise ShapeError(f"shapes do not fit together: x {rows.shape}, confidence {f.shape}")
        return cls(rows, f, y)


def grid(bandwidths: Sequence[float], penalties: Sequence[float], like: Training) -> tuple[Training, ...]:
    """All combinations of bandwidth and penalty, other settings as in `like`."""
    return tuple(replace(like, bandwidth=b, penalty=p) for b, p in product(bandwidths, penalties))


def learn_field(
    train: Answers, validation: Answers, trainings: Sequence[Training], *, seed: int = 0, done: Done = lambda: None
) -> LearnedField:
    """Learn a geometry for each setting and return the one with the lowest corrected validation Brier score.

    Notes
    -----
    **Source**: arXiv 2605.13484, equations 2 to 6, appendix B and D. **Deviates**: dropout stands before the projection as well, and a last
    batch of less than half the size is left out. The bandwidths and penalties are not published and are the caller's.

    Raises
    ------
    ImportError
        Without torch.
    NotEnoughData
        Where there is nothing to train or to choose on.
    """
    if len(train.x) < 2 or not len(validation.x) or not trainings:
        raise NotEnoughData("a geometry needs at least two training answers, one validation answer, and one setting")
    fields: list[LearnedField] = []
    for training in trainings:
        fields.append(_learn(train, validation, training, seed))
        done()
    return min(fields, key=lambda field: field.proxy)


def _learn(train: Answers, validation: Answers, training: Training, seed: int) -> LearnedField:
    """Train one geometry; return the epoch with the lowest corrected validation Brier score."""
    import torch

    rng = np.random.default_rng(seed)
    rows = draw_bank(len(train.x), rng)
    residual = (train.correct - train.confidence).astype(np.float64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        state = _Trainer(training, train.x, residual.astype(np.float32))
        best, best_epoch = _Epoch.of(state, rng, validation, train.x[rows], residual[rows]), 1
        epoch = 1
        while epoch < training.epochs and epoch - best_epoch < training.patience:
            epoch += 1
            now = _Epoch.of(state, rng, validation, train.x[rows], residual[rows])
            if now.proxy < best.proxy:
                best, best_epoch = now, epoch
    scale = best_scale(validation.confidence, best.delta, validation.correct)
    return LearnedField(best.geometry, best.geometry(train.x[rows]), residual[rows], training, scale, best.proxy, epoch)


@dataclass(frozen=True, slots=True)
class _Epoch:
    """The geometry after an epoch, with its validation results."""

    proxy: float
    geometry: Geometry
    delta: FloatArray

    @classmethod
    def of(
        cls, state: _Trainer, rng: np.random.Generator, validation: Answers, bank: Vectors, residual: FloatArray
    ) -> _Epoch:
        """Train for one more epoch."""
        geometry = state.epoch(rng)
        delta = smooth(geometry(validation.x), geometry(bank), residual, bandwidth=state.training.bandwidth).delta
        return cls(proxy(validation.confidence, delta, validation.correct), geometry, delta)


class _Trainer:
    """The network, its optimiser and the data, as torch has them."""

    def __init__(self, training: Training, x: Vectors, residual: NDArray[np.float32]) -> None:
        import torch

        self._torch: Any = torch
        self.training = training
        self._x, self._r = torch.from_numpy(x), torch.from_numpy(residual)
        nn, width = torch.nn, training.width
        self._net = nn.Sequential(
            nn.Linear(x.shape[1], width), nn.GELU(), nn.Dropout(training.dropout),
            nn.Linear(width, width), nn.GELU(), nn.Dropout(training.dropout), nn.Linear(width, training.out),
        )  # fmt: skip
        self._optimiser = torch.optim.Adam(
            self._net.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay
        )

    def epoch(self, rng: np.random.Generator) -> Geometry:
        """One pass through the answers in batches; returns the network after it."""
        torch, batch = self._torch, self.training.batch
        self._net.train()
        order = torch.from_numpy(rng.permutation(len(self._x)))
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            if len(rows) < min(batch, len(order)) // 2:  # a last batch of a few answers has no neighbourhoods
                continue
            self._optimiser.zero_grad()
            self._loss(self._x[rows], self._r[rows]).backward()
            torch.nn.utils.clip_grad_norm_(self._net.parameters(), self.training.clip)
            self._optimiser.step()
        layers = [layer for layer in self._net if isinstance(layer, torch.nn.Linear)]
        return Geometry(
            tuple(layer.weight.detach().numpy().copy() for layer in layers),
            tuple(layer.bias.detach().numpy().copy() for layer in layers),
        )

    def _loss(self, x: Any, r: Any) -> Any:
        """Minus the second moment of the field, plus the penalty for small neighbourhoods (equation 4)."""
        phi = self._torch.nn.functional.normalize(self._net(x), dim=1)
        kernel = self._torch.exp((2.0 * (phi @ phi.T) - 2.0).clamp(max=0.0) / self.training.bandwidth**2)
        mass = kernel.sum(dim=1)
        delta = (kernel @ r) / mass
        lacking = (self.training.least_mass - mass).clamp(min=0.0)
        return -(delta**2).mean() + self.training.penalty * (lacking**2).mean()
