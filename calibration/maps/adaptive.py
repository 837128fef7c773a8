"""The adaptive map: how sure an answer is after any number of samples, from their counts and from what is asked, and whether more are worth drawing.

With u = ln((k + 1/2) / (n - k + 1/2)) for k of n answers that agree, the log-odds of being right are linear in (u, u/n, 1/n, k = n, k = 1), and,
where the question is known, in (q, q/n, a, a/n): q, the log-odds that the question and the answer's plain features give, and a, those of the
share of answers that should agree. Where answers have token probabilities, so are those of the likeliest wording and of the mean token.

Whether to draw more is the value of information: further answers agree as draws from an urn whose prior is the share that the question lets
expect (beta-binomial), the confidence after each outcome is known, and its variance is the expected fall of the Brier score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import log
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from ..arrays import FloatArray, probabilities
from ..beta import Beta
from ..errors import NegativeSlope, RangeError
from .base import CalibrationMap, Learned, beta_from_log_odds, require_finite
from .counts import (
    LEAST_ALONE,
    NONE,
    OF_COUNTS,
    OF_QUESTION,
    OF_TOKENS,
    Seen,
    Tokens,
    bounded_share,
    count_columns,
    log_beta_binomial,
    spread_columns,
)  # fmt: skip
from .learning import fit_near_identity, is_separable, learnable
from .local import CLIP, Vector, log_masses, unpacked

LIMIT = float(special.logit(1.0 - CLIP))
"""Log-odds of the confidence stay within this."""


@dataclass(frozen=True, slots=True)
class AdaptiveMap(CalibrationMap):
    """P(right) after n answers of which k agree, where the question is known, and from the counts alone where it is not.

    Attributes
    ----------
    alone : tuple of 6 floats
        Weights of the counts.
    full : tuple of floats
        Weights of the counts, of the question (4) and of token probabilities (4 where `tokens`); empty where they do not help.
    budget : int
        Most answers that it was fitted for.
    tokens : bool
        Whether `full` reads token probabilities.
    encoder, dimension : str, int
        What embeds questions, see `LocalMap`.
    lean, agree : str
        `packed`, shape (d,): weights of the embedding in the question's log-odds, and in the expected share.
    lean_plain, agree_plain : tuple of floats
        Weights of a constant and of the plain features in the same.
    agree_tokens : tuple of 4 floats
        Where `tokens`: weights of a constant, that share, and both token probabilities in the share that is expected then.
    share : float
        Expected share where the question is not known.
    strength, strength_alone : float
        How many answers the expected share weighs, with the question and without.
    anchors, anchor_counts, reach, least_mass
        What is known, see `LocalMap`.
    gain : tuple of three floats
        Brier score of `full` minus that of `alone` on held-out questions, mean over numbers of answers: estimate and 95 % interval.
    fixed : tuple of floats
        Held-out Brier score of the counts alone after 1, 2, ... answers.
    policy : tuple of (price, samples, Brier)
        What drawing by each price costs and brings on held-out questions.
    price : float
        The price that drawing asks where a route names none: the fall of the Brier score that each further answer must be expected to bring.
    """

    kind: ClassVar[str] = "adaptive"
    BUDGET: ClassVar[int] = 10

    alone: tuple[float, ...]
    full: tuple[float, ...] = ()
    budget: int = BUDGET
    tokens: bool = False
    encoder: str = ""
    dimension: int = 0
    lean: str = ""
    agree: str = ""
    lean_plain: tuple[float, ...] = ()
    agree_plain: tuple[float, ...] = ()
    agree_tokens: tuple[float, ...] = ()
    share: float = 0.5
    strength: float = 2.0
    strength_alone: float = 2.0
    anchors: str = ""
    anchor_counts: str = ""
    reach: float = 1.0
    least_mass: float = 0.0
    gain: tuple[float, float, float] = (0.0, 0.0, 0.0)
    fixed: tuple[float, ...] = ()
    policy: tuple[tuple[float, float, float], ...] = ()
    price: float = 0.01

    def __post_init__(self) -> None:
        for name in ("alone", "full", "lean_plain", "agree_plain", "agree_tokens", "gain", "fixed"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        object.__setattr__(self, "policy", tuple(tuple(float(v) for v in row) for row in self.policy))
        for name in ("alone", "full", "lean_plain", "agree_plain", "agree_tokens", "gain"):
            require_finite(**{f"{name}[{i}]": value for i, value in enumerate(getattr(self, name))})
        wanted = OF_COUNTS + OF_QUESTION + (OF_TOKENS if self.tokens else 0)
        if len(self.alone) != OF_COUNTS or len(self.full) not in (0, wanted):
            raise RangeError(
                f"alone has {OF_COUNTS} weights and full none or {wanted}, got {len(self.alone)}, {len(self.full)}"
            )
        if self.budget < 1 or self.price < 0.0 or not 0.0 < self.share < 1.0:
            raise RangeError("budget is at least 1, price at least 0, share between 0 and 1")
        if min(self.strength, self.strength_alone, self.reach) <= 0.0:
            raise RangeError("strengths and reach are above 0")
        if self.full and not len(unpacked(self.lean)) == len(unpacked(self.agree)) == self.dimension:
            raise RangeError(f"lean and agree are of {self.dimension} numbers each")

    @property
    def helps(self) -> bool:
        """Whether the question (and token probabilities) are significantly better than the counts alone; if not, only the counts are used."""
        return bool(self.full) and self.gain[2] < 0.0

    def apply(self, raw: Beta) -> Beta:
        """The confidence from the counts alone, the concentration being the number of answers."""
        return beta_from_log_odds(self._bounded(self._of_counts(raw)), raw.concentration)

    def means(self, mean: ArrayLike) -> FloatArray:
        """Confidences from the counts alone, for shares of the whole budget."""
        share = probabilities("mean", mean)
        z = count_columns(share * self.budget, self.budget) @ np.array(self.alone)
        return np.asarray(special.expit(np.clip(z, -LIMIT, LIMIT)), dtype=np.float64)

    def is_known(self, embedding: ArrayLike) -> tuple[bool, float]:
        """Whether the fit had questions like this one, and the natural logarithm of its neighbourhood's mass.

        Raises
        ------
        RangeError
            If the embedding is not of this map's encoder.
        """
        x = self._row(embedding)
        mass = float(log_masses(x, self.anchors, self.anchor_counts, self.reach)[0])
        return mass >= self.least_mass, mass

    def seen(self, embedding: ArrayLike, plain: ArrayLike) -> Seen:
        """Log-odds and expected share from the question's embedding and plain features."""
        x, values = self._row(embedding)[0], np.concatenate([[1.0], np.asarray(plain, np.float64)])
        lean = float(x @ unpacked(self.lean)[:, 0]) + float(values @ np.array(self.lean_plain))
        share = float(x @ unpacked(self.agree)[:, 0]) + float(values @ np.array(self.agree_plain))
        return Seen(lean, bounded_share(share))

    def context(self, seen: Seen, tokens: Tokens | None = None) -> FloatArray | None:
        """Input of `log_odds` besides the counts, shape (2,) or (4,); None if it does not help or is incomplete."""
        if not self.helps or (self.tokens and tokens is None):
            return None
        share = seen.share
        if self.tokens and tokens is not None:
            share = bounded_share(
                float(np.array([1.0, share, tokens.likeliest, tokens.mean]) @ np.array(self.agree_tokens))
            )
        return np.array([seen.lean, special.logit(share), *(tokens.log_odds() if self.tokens and tokens else ())])

    def log_odds(self, agreeing: ArrayLike, drawn: ArrayLike, context: FloatArray | None) -> FloatArray:
        """Log-odds of being right after `agreeing` of `drawn` answers, of their shape (...,); `context` is None or of shape (..., 2) or (..., 4)."""
        columns = count_columns(agreeing, drawn)
        if context is None:
            return np.asarray(np.clip(columns @ np.array(self.alone), -LIMIT, LIMIT), dtype=np.float64)
        spread = spread_columns(np.broadcast_to(context, (*columns.shape[:-1], context.shape[-1])), drawn)
        z = np.concatenate([columns, spread], axis=-1) @ np.array(self.full)
        return np.asarray(np.clip(z, -LIMIT, LIMIT), dtype=np.float64)

    def shift(self, raw: Beta, context: FloatArray | None) -> float:
        """Log-odds that the context adds to those of the counts."""
        agreeing, drawn = self._counts(raw)
        return float(self.log_odds(agreeing, drawn, context)) - float(self.log_odds(agreeing, drawn, None))

    def worth(
        self, agreeing: ArrayLike, drawn: int, left: int, context: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """The best return of up to `left` further answers to each of q questions.

        Parameters
        ----------
        agreeing : array_like, shape (q,)
            Answers that agree so far, from 1 to `drawn`.
        context : ndarray, shape (q, 2) or (q, 4), or None

        Returns
        -------
        samples : ndarray, shape (q,)
            How many to draw now for the best return; 0 where nothing can be gained.
        each : ndarray, shape (q,)
            Expected fall of the Brier score for each of them.

        Notes
        -----
        E[(y - p)^2] falls by Var p' where p' is the confidence after further answers: the value of information under a quadratic score. All
        numbers of further answers are looked at, so that a single one that cannot move much does not end the drawing.
        """
        k = np.atleast_1d(np.asarray(agreeing, np.float64))
        share = np.full(k.shape, self.share) if context is None else special.expit(context[:, 1])
        strength = self.strength_alone if context is None else self.strength
        a, b = (strength * share + k)[:, None], (strength * (1.0 - share) + drawn - k)[:, None]
        samples, each = np.zeros(k.shape), np.zeros(k.shape)
        for m in range(1, left + 1):
            t = np.arange(m + 1)
            p = special.expit(
                self.log_odds(
                    k[:, None] + t,
                    np.full((k.size, m + 1), float(drawn + m)),
                    None if context is None else context[:, None, :],
                )
            )
            chance = np.exp(log_beta_binomial(m, a, b))
            mean = (chance * p).sum(axis=1, keepdims=True)
            rate = (chance * (p - mean) ** 2).sum(axis=1) / m
            samples, each = np.where(rate > each, m, samples), np.maximum(rate, each)
        return samples, each

    def wanted(self, agreeing: int, drawn: int, left: int, context: FloatArray | None, price: float) -> int:
        """Number of answers to draw now; 0 = they are not worth the price. If only counts are known, one answer has no information."""
        if left <= 0:
            return 0
        if context is None and drawn < LEAST_ALONE:
            return min(LEAST_ALONE - drawn, left)
        samples, each = self.worth([agreeing], drawn, left, None if context is None else context[None, :])
        return int(samples[0]) if each[0] > price else 0

    def pays(self, price: float) -> bool:
        """Whether drawing at this price was at least as good on held-out questions as a fixed number at the same cost.

        Uses the figures of the nearest price; True for a map without figures.
        """
        if not self.policy or price <= 0.0:
            return price > 0.0
        nearest = min(self.policy, key=lambda row: abs(log(row[0] / price)))
        return nearest[2] <= fixed_at(self.fixed, nearest[1])

    def _counts(self, raw: Beta) -> tuple[float, float]:
        drawn = max(1.0, raw.concentration)
        if abs(drawn - round(drawn)) < NONE:  # a count with a floor on one side
            drawn = float(round(drawn))
        return raw.mean * drawn, drawn

    def _of_counts(self, raw: Beta) -> float:
        return float(count_columns(*self._counts(raw)) @ np.array(self.alone))

    def _bounded(self, z: float) -> float:
        return max(-LIMIT, min(LIMIT, z))

    def _row(self, embedding: ArrayLike) -> Vector:
        x = np.asarray(embedding, dtype=np.float32).reshape(1, -1)
        if x.shape[1] != self.dimension or not np.isfinite(x).all():
            raise RangeError(f"the map reads embeddings of {self.dimension} finite numbers, got {x.shape[1]}")
        return x

    def to_dict(self) -> dict[str, Any]:
        """A JSON object that `map_from_dict` turns back into an equal map."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return {"kind": self.kind} | values | {"policy": [list(row) for row in self.policy]}

    @classmethod
    def learn(cls, mean: FloatArray, correct: FloatArray) -> Learned:
        """A map of the counts alone, at the whole budget. `hedgerow.calibration.regimes.adaptive` learns from answers and questions.

        Raises
        ------
        NotEnoughData, NegativeSlope
            If the data do not determine it, or would turn the order of confidence round.
        """
        learnable(mean, correct, None)
        u = count_columns(mean * cls.BUDGET, cls.BUDGET)[:, 1]
        columns = (u, np.ones_like(u))
        fit, notes = fit_near_identity(columns, correct, np.array([1.0, 0.0]), is_separable(u, correct))
        slope, bias = fit.coefficients.tolist()
        if slope < 0.0:
            raise NegativeSlope(
                f"the slope is {slope:.3g}: wrong answers have the higher confidence here; check the labels and the signal"
            )
        note = "no questions were given: a map of the counts alone, at one number of answers"
        made = cls((bias, slope, 0.0, 0.0, 0.0, 0.0), budget=cls.BUDGET)
        return Learned(made, dict(zip(("slope", "bias"), fit.standard_errors.tolist(), strict=True)), (*notes, note))


def fixed_at(fixed: Sequence[float], samples: float) -> float:
    """Brier score of a fixed mean number of answers, interpolated between whole numbers (some questions get one more)."""
    return float(np.interp(samples, np.arange(1, len(fixed) + 1), fixed))
