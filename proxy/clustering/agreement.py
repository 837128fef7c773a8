"""How far two answers of which one is a sentence say the same: a logistic of how much each holds of what answers the question in the other.

A partition by meaning breaks sentences apart that say the same of what was asked and differ in detail. Fitted on pairs of answers to one question
that people judged: two right ones say the same, a right one and a wrong one do not (`benchmarks/fits/core_words.py`, `core_words.json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp

from hedgerow.proxy.clustering.core_words import WEIGHTS, Core, read_asked, read_core


@dataclass(frozen=True, slots=True)
class Features:
    """What is measured of two answers.

    Attributes:
        least, most: the smaller and the larger of the shares of what answers in the one that the other holds, in [0, 1]; where the question offers
            names to choose from, whether both choose the same.
        numbers_clash, names_clash: both have numbers (names) beyond the question, and share none.
    """

    least: float
    most: float
    numbers_clash: float
    names_clash: float


def agreement(question: str, answer: str, others: Sequence[str]) -> list[float]:
    """Probability that each of the other answers says what an answer says, in [0, 1]; symmetric in the two."""
    asked = read_asked(question)
    core = read_core(answer, asked)
    return [probability(core, read_core(other, asked)) for other in others]


def probability(a: Core, b: Core) -> float:
    """Probability that two answers to one question say the same, as people judge it."""
    weights, figures = _weights(), asdict(features(a, b))
    return 1.0 / (1.0 + exp(-weights["constant"] - sum(weights[name] * value for name, value in figures.items())))


def features(a: Core, b: Core) -> Features:
    """The figures of two answers."""
    shares = [float(a.choice == b.choice)] if a.choice and b.choice else [a.held_by(b), b.held_by(a)]
    return Features(min(shares), max(shares), _clash(a, b, a.numbers, b.numbers), _clash(a, b, a.names, b.names))


def _clash(a: Core, b: Core, of_a: frozenset[str], of_b: frozenset[str]) -> float:
    return float(bool(of_a and of_b) and of_a.isdisjoint(b.words) and of_b.isdisjoint(a.words))


@cache
def _weights() -> Mapping[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["pairs"]
    return fitted
