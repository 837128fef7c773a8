"""A softmax over named features and a vector: what every classifier of the reader is. Numpy alone; `benchmarks/fits` fits it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray


def hashed(names: Iterable[str]) -> NDArray[np.uint32]:
    """The names of features as numbers, each once, in order."""
    return np.unique(np.fromiter((crc32(name.encode()) for name in names), dtype=np.uint32))


@dataclass(frozen=True, slots=True)
class Softmax:
    """Fitted weights.

    Attributes:
        classes: their names, in the order of the columns.
        keys: hashed names of features, in order.
        weights: (keys, classes).
        dense: weights of the vector, (dimensions, classes).
        shift, scale: what is taken from each dimension of the vector, and what it is divided by.
        bias: (classes,).
    """

    classes: tuple[str, ...]
    keys: NDArray[np.uint32]
    weights: NDArray[np.float32]
    dense: NDArray[np.float32]
    shift: NDArray[np.float32]
    scale: NDArray[np.float32]
    bias: NDArray[np.float32]

    @classmethod
    def load(cls, path: Path) -> Softmax:
        """Weights as `save` wrote them."""
        with np.load(path) as raw:
            step = raw["step"]
            return cls(
                tuple(raw["classes"].tolist()),
                raw["keys"],
                raw["weights"].astype(np.float32) * step,
                raw["dense"].astype(np.float32),
                raw["shift"],
                raw["scale"],
                raw["bias"],
            )

    def save(self, path: Path) -> None:
        """Write the weights; those of names in 256 steps a class, which changes no probability by more than a hundredth."""
        step = np.maximum(np.abs(self.weights).max(axis=0, initial=0.0), 1e-6) / 127
        np.savez_compressed(
            path,
            classes=np.array(self.classes),
            keys=self.keys,
            weights=np.rint(self.weights / step).astype(np.int8),
            step=step.astype(np.float32),
            dense=self.dense.astype(np.float16),
            shift=self.shift.astype(np.float32),
            scale=self.scale.astype(np.float32),
            bias=self.bias.astype(np.float32),
        )

    def log_odds(self, names: Iterable[str], vector: NDArray[np.float32] | Sequence[float] = ()) -> NDArray[np.float64]:
        """What the softmax is taken of, (classes,). A vector that is not given counts as average."""
        present = hashed(names)
        at = np.searchsorted(self.keys, present)
        at = at[(at < len(self.keys)) & (self.keys[np.minimum(at, len(self.keys) - 1)] == present)]
        z = self.bias + self.weights[at].sum(axis=0, dtype=np.float64)
        if len(vector):
            z = z + ((np.asarray(vector) - self.shift) / self.scale) @ self.dense
        return np.asarray(z, dtype=np.float64)

    def probabilities(
        self, names: Iterable[str], vector: NDArray[np.float32] | Sequence[float] = ()
    ) -> NDArray[np.float64]:
        """The probability of each class, (classes,)."""
        z = self.log_odds(names, vector)
        e = np.exp(z - z.max())
        return np.asarray(e / e.sum())
