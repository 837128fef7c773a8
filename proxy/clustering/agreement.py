"""Agreement of two answers, at least one of them a sentence: a logistic regression on the words they share.

The features tell how much of one answer's answering words the other contains. Clustering by meaning separates sentences
that give the same answer but differ in detail. Fitted on pairs of answers that people judged: two right answers to a
question agree, a right and a wrong one do not (`benchmarks/fits/core_words.py`, `core_words.json`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp

from .core_words import LOOKED_AT, WEIGHTS, Core, read_asked, read_core
from .opening import SHORT

SAME_WORDS = 0.75
"""Two sentences that share at least this part of their words are the same, unless only one of them has a negation."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of two answers.

    Attributes:
        least, most: the share of one answer's answering words that the other contains, in [0, 1], and the reverse; the
            smaller and the larger. If the question offers names to choose from: 1 if both choose the same, else 0.
            1 if both say yes or both no; 0 if only one of them gives no answer.
        numbers_clash, names_clash: both have numbers (names) that the question does not have, and share none.
        number_missing: the question asks for a number or a date, and one of the two gives none.
    """

    least: float
    most: float
    numbers_clash: float
    names_clash: float
    number_missing: float


def agreement(question: str, answer: str, others: Sequence[str]) -> list[float]:
    """For each other answer, the probability in [0, 1] that it says the same as `answer`; symmetric."""
    asked = read_asked(question)
    core = read_core(answer, asked)
    return [probability(core, read_core(other, asked)) for other in others]


def agreeing(question: str, group: Sequence[str], apart: Sequence[str]) -> float:
    """The expected number of answers in `apart` that say the same as a group.

    Each counts by its mean probability over the group, so that the wording of the group's representative matters
    little. Two short answers in different clusters never agree.
    """
    asked = read_asked(question)
    cores = {answer: read_core(answer, asked) for answer in {*group, *apart}}
    sentences = {answer for answer in cores if is_sentence(answer)}
    pairs = Counter((a, b) for a in group for b in apart if a in sentences or b in sentences)
    return sum(n * probability(cores[a], cores[b]) for (a, b), n in pairs.items()) / len(group)


def is_sentence(answer: str) -> bool:
    """Whether an answer has more words than a short one."""
    return len(answer[:LOOKED_AT].split(None, SHORT)) > SHORT


def probability(a: Core, b: Core) -> float:
    """Probability in [0, 1] that people would judge two answers to a question to say the same."""
    weights, figures = _weights(), asdict(features(a, b))
    return 1.0 / (1.0 + exp(-weights["constant"] - sum(weights[name] * value for name, value in figures.items())))


def features(a: Core, b: Core) -> Features:
    """The features of two answers."""
    if a.declines != b.declines or contradict(a, b):
        shares = [0.0, 0.0]
    elif a.says is not None and b.says is not None:
        return Features(least=1.0, most=1.0, numbers_clash=0.0, names_clash=0.0, number_missing=0.0)
    elif a.choice and b.choice:
        shares = [float(a.choice == b.choice)] * 2
    else:
        shares = [a.held_by(b), b.held_by(a)]
    return Features(
        least=min(shares),
        most=max(shares),
        numbers_clash=_clash(a, b, a.numbers, b.numbers),
        names_clash=_clash(a, b, a.names, b.names),
        number_missing=float(a.asked_number and bool(a.numbers) != bool(b.numbers)),
    )


def contradict(a: Core, b: Core) -> bool:
    """Whether one says yes and the other no, or they have the same words but only one has a negation."""
    if a.says is not None and b.says is not None:
        return a.says != b.says
    return a.denies != b.denies and len(a.words & b.words) >= SAME_WORDS * len(a.words | b.words)


def _clash(a: Core, b: Core, of_a: frozenset[str], of_b: frozenset[str]) -> float:
    return float(bool(of_a and of_b) and of_a.isdisjoint(b.words) and of_b.isdisjoint(a.words))


@cache
def _weights() -> Mapping[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["pairs"]
    return fitted
