"""The local map: a map of the confidence with a shift of the log-odds that depends on the question. For an unknown question it is a map of the confidence alone."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from ..errors import RangeError
from .base import CalibrationMap, Learned, beta_from_log_odds, map_from_dict, require_finite
from .parametric import BoundedPlattMap

CLIP = 0.01
"""Means before the shift are kept this far from 0 and 1: a step function's 0 or 1 from a few answers would leave no room for the shift."""

Vector = NDArray[np.float32]


def packed(values: ArrayLike) -> str:
    """Numbers as text: little-endian single precision, base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")


@lru_cache(maxsize=64)
def unpacked(text: str, columns: int = 1) -> Vector:
    """Numbers from text, shape (n, columns); cached, because maps are immutable and used for every request."""
    try:
        values = np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4")
        rows = values.reshape(-1, columns).astype(np.float32)
    except (binascii.Error, ValueError) as error:
        raise RangeError(f"packed numbers are damaged: {error}") from error
    if not np.isfinite(rows).all():
        raise RangeError("packed numbers must be finite")
    rows.flags.writeable = False
    return rows


@dataclass(frozen=True, slots=True)
class ShiftedMap(CalibrationMap):
    """A map with a constant shift of the log-odds: a local map at one question."""

    kind: ClassVar[str] = "shifted"

    base: CalibrationMap
    shift: float

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of one answer."""
        return beta_from_log_odds(float(self._log_odds(self.base.apply(raw).mean)), raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means."""
        return np.asarray(special.expit(self._log_odds(self.base.means(mean))), dtype=np.float64)

    def _log_odds(self, mean: ArrayLike) -> FloatArray:
        return np.asarray(special.logit(np.clip(mean, CLIP, 1.0 - CLIP)) + self.shift, dtype=np.float64)

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray) -> Learned:
        """Cannot be learned: a local map creates it.

        Raises
        ------
        RangeError
            Always.
        """
        raise RangeError("a shifted map is made by a local map at a question")


@dataclass(frozen=True, slots=True)
class Place:
    """A question's position in a local map.

    Attributes
    ----------
    map : CalibrationMap
        What to calibrate its answers with.
    known : bool
        Whether questions like it were learned from; where not, the map is that of the confidence alone.
    mass : float
        Natural logarithm of the neighbourhood's mass; the map's bound divides known from unknown.
    shift : float
        Log-odds that the question adds; 0 where it is not known.
    regime : int or None
        Number (from 1) of the map's regime that it belongs to.
    """

    map: CalibrationMap
    known: bool
    mass: float
    shift: float
    regime: int | None


@dataclass(frozen=True, slots=True)
class LocalMap(CalibrationMap):
    """m' = sigmoid(logit base(m) + shift(question)), and `fallback` where the question is unknown or not given.

    Attributes
    ----------
    fallback : CalibrationMap
        Of the confidence alone: the Platt map that it was compared with.
    base : CalibrationMap
        Under the shift.
    dimension : int
        Of embeddings; 0 where the map knows no questions.
    bias : float
    weights : str
        `packed`, shape (d,): the linear part.
    centres : str
        `packed`, shape (k, d): means of groups of questions, none of a single question where groups have several.
    kernels : tuple of (precision, packed weights of shape (k,))
    cells, effects : str
        `packed`, shapes (c, d) and (c,): coarse groups and what each adds.
    anchors, anchor_counts : str
        `packed`, shapes (a, d) and (a,): what the mass of a neighbourhood is counted over.
    reach : float
        > 0: the mass is the sum of counts times exp(-|x - a|^2 / reach).
    least_mass : float
        Natural logarithm of the smallest mass at which a question is known.
    gain : tuple of three floats
        Brier score minus the fallback's on held-out answers: estimate and 95 % interval. Where it does not lie below 0 the fallback serves.
    regimes : tuple of (sign, packed centre of shape (d,), words)
        What was found, for reports: -1 overconfident, +1 underconfident.
    epsilon : float
        A question belongs to a regime where its shift is worth at least this much at even odds.
    """

    kind: ClassVar[str] = "local"

    fallback: CalibrationMap
    base: CalibrationMap
    dimension: int = 0
    bias: float = 0.0
    weights: str = ""
    centres: str = ""
    kernels: tuple[tuple[float, str], ...] = ()
    cells: str = ""
    effects: str = ""
    anchors: str = ""
    anchor_counts: str = ""
    reach: float = 1.0
    least_mass: float = 0.0
    gain: tuple[float, float, float] = (0.0, 0.0, 0.0)
    regimes: tuple[tuple[int, str, str], ...] = ()
    epsilon: float = 0.05

    def __post_init__(self) -> None:
        for name in ("fallback", "base"):
            held: Any = getattr(self, name)
            if isinstance(held, Mapping):
                object.__setattr__(self, name, map_from_dict(held))
        for name in ("kernels", "regimes"):
            object.__setattr__(self, name, tuple(tuple(item) for item in getattr(self, name)))
        object.__setattr__(self, "gain", tuple(float(value) for value in self.gain))
        require_finite(bias=self.bias, reach=self.reach, least_mass=self.least_mass)
        if self.reach <= 0.0 or self.dimension < 0:
            raise RangeError(f"reach must be > 0 and dimension >= 0, got {self.reach!r} and {self.dimension!r}")
        self._check_shapes()

    def _check_shapes(self) -> None:
        """Check the shapes of all packed parts now, so that a damaged map is refused when it is loaded."""
        if not self.dimension:
            return
        centres, cells, anchors = (unpacked(text, self.dimension) for text in (self.centres, self.cells, self.anchors))
        pairs = [(unpacked(self.weights).size, self.dimension), (unpacked(self.effects).size, len(cells))]
        pairs += [(unpacked(weights).size, len(centres)) for _, weights in self.kernels]
        pairs += [(unpacked(centre).size, self.dimension) for _, centre, _ in self.regimes]
        pairs += [(unpacked(self.anchor_counts).size, len(anchors))]
        if any(found != wanted for found, wanted in pairs) or not len(anchors):
            raise RangeError("the packed parts of a local map do not fit together")

    @property
    def helps(self) -> bool:
        """Whether it was significantly better than the map of the confidence alone on held-out answers."""
        return self.dimension > 0 and self.gain[2] < 0.0

    def apply(self, raw: Beta) -> Beta:
        """The calibrated Beta of an answer without its question."""
        return self.fallback.apply(raw)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Calibrated means of answers without their questions."""
        return self.fallback.means(probabilities("mean", mean))

    def shifts(self, x: Vector) -> FloatArray:
        """The shifts in log-odds of questions, shape (n,), known or not."""
        total = x @ unpacked(self.weights)[:, 0] + self.bias
        if self.kernels:
            away = _squared(x, unpacked(self.centres, self.dimension))
            for precision, weights in self.kernels:
                total = total + np.exp(-np.float32(precision) * away) @ unpacked(weights)[:, 0]
        if self.effects:
            total = total + unpacked(self.effects)[_squared(x, unpacked(self.cells, self.dimension)).argmin(axis=1), 0]
        return np.asarray(total, dtype=np.float64)

    def masses(self, x: Vector) -> FloatArray:
        """Natural logarithm of the mass of each neighbourhood, shape (n,)."""
        return log_masses(x, self.anchors, self.anchor_counts, self.reach)

    def at(self, embedding: ArrayLike) -> Place:
        """The map at one question; takes about 0.1 ms.

        Raises
        ------
        RangeError
            If the embedding is not of as many numbers as those that it was learned from.
        """
        x = np.asarray(embedding, dtype=np.float32).reshape(1, -1)
        if x.shape[1] != self.dimension or not np.isfinite(x).all():
            raise RangeError(f"the map reads embeddings of {self.dimension} finite numbers, got {x.shape[1]}")
        mass = float(self.masses(x)[0])
        if not self.helps or mass < self.least_mass:
            return Place(self.fallback, False, mass, 0.0, None)
        shift = float(self.shifts(x)[0])
        return Place(ShiftedMap(self.base, shift), True, mass, shift, self._regime(x, shift))

    def _regime(self, x: Vector, shift: float) -> int | None:
        here = [number for number, (sign, _, _) in enumerate(self.regimes, start=1) if sign * shift > 0.0]
        if not here or abs(special.expit(shift) - 0.5) < self.epsilon:
            return None
        centres = np.concatenate([unpacked(self.regimes[number - 1][1], self.dimension) for number in here])
        return here[int(_squared(x, centres)[0].argmin())]

    def to_dict(self) -> dict[str, Any]:
        """A JSON object that `map_from_dict` turns back into an equal map."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {"fallback": self.fallback.to_dict(), "base": self.base.to_dict(), "gain": list(self.gain)}
        values |= {name: [list(item) for item in values[name]] for name in ("kernels", "regimes")}
        return {"kind": self.kind} | values

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray) -> Learned:
        """A map without questions, from the confidence alone. `hedgerow.calibration.regimes.local` learns from questions."""
        learned = BoundedPlattMap.learn(mean, correct)
        note = "no questions were given: a map of the confidence alone"
        return Learned(cls(learned.map, learned.map), learned.standard_errors, (*learned.notes, note))


def log_masses(x: Vector, anchors: str, counts: str, reach: float) -> FloatArray:
    """Natural logarithm of the mass of each row's neighbourhood, shape (n,): counts times exp(-|x - a|^2 / reach), summed over packed anchors."""
    away = _squared(x, unpacked(anchors, x.shape[1])).astype(np.float64)
    return np.asarray(special.logsumexp(-away / reach, axis=1, b=unpacked(counts)[:, 0]), dtype=np.float64)


def _squared(x: Vector, at: Vector) -> Vector:
    squared = (x**2).sum(axis=1)[:, None] + (at**2).sum(axis=1)[None, :] - 2.0 * (x @ at.T)
    return np.asarray(np.maximum(squared, 0.0), dtype=np.float32)


def regime_rows(found: Sequence[tuple[int, ArrayLike, Sequence[str]]]) -> tuple[tuple[int, str, str], ...]:
    """Sign, centre and words of regimes, in a local map's format."""
    return tuple((sign, packed(centre), ", ".join(words)) for sign, centre, words in found)
