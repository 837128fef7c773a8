"""What the evidence on promises is made of: shapes whose truth is known, draws from them, and what a test that knew the best threshold would need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from benchmarks.data.answers import Floats
from hedgerow.calibration.promises.certificate import Promise
from hedgerow.calibration.promises.learning import Outcome, learn, smallest_size
from hedgerow.calibration.promises.testing import THRESHOLDS
from hedgerow.calibration.promises.wishes import Wish

LEVEL = 0.05
POPULATION = 100_000
"""Answers that stand for all of a shape: its quantiles."""
_TEN = np.array([0.12, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.94, 0.98])
_OFTEN = np.cumsum([0.03, 0.03, 0.04, 0.05, 0.05, 0.07, 0.1, 0.13, 0.2, 0.3])


@dataclass(frozen=True, slots=True)
class Shape:
    """How confident answers are, and how often those of a confidence are wrong.

    Attributes:
        confidence: quantile function.
        wrong: chance of being wrong by confidence.
    """

    name: str
    confidence: Callable[[Floats], Floats]
    wrong: Callable[[Floats], Floats]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Confidences and labels of n answers."""
        confidence = self.confidence(rng.random(n))
        return confidence, (rng.random(n) >= self.wrong(confidence)).astype(np.float64)

    def all(self) -> tuple[Floats, Floats]:
        """Confidences of all answers, and the chance of each of being wrong."""
        confidence = self.confidence((np.arange(POPULATION) + 0.5) / POPULATION)
        return confidence, self.wrong(confidence)


def _moved(slope: float, shift: float) -> Callable[[Floats], Floats]:
    return lambda c: np.asarray(special.expit(-(slope * special.logit(np.clip(c, 1e-6, 1 - 1e-6)) + shift)))


def shapes(limit: float) -> list[Shape]:
    """Six shapes; the last is as hard for this limit as can be: below the first good answers the share is just too high."""

    def ten(u: Floats) -> Floats:
        return _TEN[np.searchsorted(_OFTEN, u * _OFTEN[-1], side="left").clip(0, _TEN.size - 1)]

    return [
        Shape("calibrated", lambda u: u ** (1 / 8), lambda c: 1.0 - c),
        Shape("overconfident", lambda u: u ** (1 / 20), _moved(0.75, 0.2)),
        Shape("underconfident", lambda u: np.asarray(special.betaincinv(5.0, 2.0, u)), _moved(1.8, 0.8)),
        Shape("ten values", ten, lambda c: 1.0 - c),
        Shape("the most confident wrong", lambda u: u ** (1 / 8), lambda c: np.where(c > 0.99, 3 * limit, 0.4 * (1 - c))),
        Shape("a cliff", lambda u: np.where(u < 0.5, 0.9, 0.97), lambda c: np.where(c > 0.95, 0.3, 1.702) * limit),
    ]  # fmt: skip


class Truth:
    """The true share that each promise speaks of, by its threshold; `scale`: how much a wrong answer counts."""

    def __init__(self, shape: Shape, scale: float = 1.0) -> None:
        risk, self._share = risks(shape)
        self._risk = scale * risk

    def share(self, promise: Promise) -> float:
        """Of all answers."""
        place = THRESHOLDS.index(promise.threshold)
        inside = float(self._share[place])
        if promise.wish.subject == "abstain":
            return 1.0 - inside
        return float(self._risk[place]) * (inside if promise.wish.subject == "plain_and_wrong" else inside > 0.0)

    def plain(self, threshold: float) -> float:
        """Share of all answers at or above a threshold."""
        return float(self._share[THRESHOLDS.index(threshold)])

    def refutes(self, outcome: Outcome) -> bool:
        """Whether any promise that is granted is not true of all answers."""
        return any(self.share(promise) > (promise.wish.limit or 0.0) + 1e-9 for promise in outcome.promises)


@dataclass(frozen=True, slots=True)
class Rates:
    """Of many draws: how often a promise is false, how often all wishes are granted, and the mean share plain (0 where nothing is granted)."""

    false: float
    granted: float
    plain: float
    mean: float
    """Mean true share of the first promise; 0 where it is not granted."""


def rates(shape: Shape, wishes: Sequence[Wish], n: int, draws: int, *, graded: bool = False, seed: int = 7) -> Rates:
    """Over draws of n labels; graded: what is wrong gets a grade from 0 to a half, and counts that much less."""
    rng = np.random.default_rng(seed)
    truth = Truth(shape, 0.75 if graded else 1.0)
    false = granted = 0
    plain = mean = 0.0
    for _ in range(draws):
        confidence, correct = shape.draw(n, rng)
        correct = np.maximum(correct, rng.uniform(0.0, 0.5, n)) if graded else correct
        outcome = learn(confidence, correct, wishes, level=LEVEL)
        false += truth.refutes(outcome)
        granted += outcome.certified
        if outcome.thresholds is not None and outcome.thresholds.plain is not None:
            plain += truth.plain(outcome.thresholds.plain)
            mean += truth.share(outcome.promises[0])
    return Rates(false / draws, granted / draws, plain / draws, mean / draws)


def named_suffice(
    shape: Shape, wishes: Sequence[Wish], n: int, draws: int, seed: int = 9
) -> tuple[float, float, float]:
    """Where n labels do not do and a number is named: how often it is, its median with n, and how often so many labels drawn anew do."""
    rng = np.random.default_rng(seed)
    named, enough, asked = [], 0, 0
    for _ in range(draws):
        outcome = learn(*shape.draw(n, rng), wishes, level=LEVEL)
        if outcome.certified:
            continue
        asked += 1
        if outcome.labels_needed is not None:
            named.append(min(n + outcome.labels_needed, 100_000))
            enough += learn(*shape.draw(named[-1], rng), wishes, level=LEVEL).certified
    if not named:
        return 0.0, float("nan"), float("nan")
    return len(named) / asked, float(np.median(named)), enough / len(named)


def risks(shape: Shape) -> tuple[Floats, Floats]:
    """By threshold: the true share wrong above it, and the share of answers above it."""
    confidence, wrong = shape.all()
    order = np.argsort(-confidence, kind="stable")
    counts = np.searchsorted(-confidence[order], -np.array(THRESHOLDS), side="right")
    total = np.concatenate([[0.0], np.cumsum(wrong[order])])[counts]
    return np.where(counts > 0, total / np.maximum(counts, 1), 1.0), counts / confidence.size


def best_share(shape: Shape, limit: float) -> float:
    """The most that can go out plain with the limit kept, if all were known."""
    risk, share = risks(shape)
    return float(share[risk <= limit].max(initial=0.0))


def oracle_labels(shape: Shape, limit: float) -> float:
    """Labels with which one exact test of the whole level, at the threshold that is best for it, succeeds in four draws of five."""
    risk, share = risks(shape)
    sizes = [smallest_size(limit, r, LEVEL) / s for r, s in zip(risk, share, strict=True) if s > 0.0 and r < limit]
    return min(sizes, default=float("inf"))


def labels_for(shape: Shape, wishes: Sequence[Wish], draws: int, power: float = 0.8, most: int = 51_200) -> float:
    """Labels with which the wishes are granted in four draws of five; infinite beyond `most`."""
    low, high = 25, 50
    while rates(shape, wishes, high, draws).granted < power:
        low, high = high, high * 2
        if high > most:
            return float("inf")
    while high - low > high // 12:
        middle = (low + high) // 2
        low, high = (low, middle) if rates(shape, wishes, middle, draws).granted >= power else (middle, high)
    return float(high)
