"""Agreement of two answers of which at least one is a sentence: a logistic regression on how much of the other's answering words each contains.

A partition by meaning breaks sentences apart that say the same of what was asked and differ in detail. Fitted on pairs of answers to one question
that people judged: two right ones say the same, a right one and a wrong one do not (`benchmarks/fits/core_words.py`, `core_words.json`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp

from hedgerow.proxy.clustering.core_words import LOOKED_AT, WEIGHTS, Asked, Core, read_asked, read_core, words_of
from hedgerow.proxy.clustering.opening import SHORT

SAME_WORDS = 0.75
"""Two sentences that share at least this part of their words are the same sentence, unless one denies what the other says."""
SENTENCE, REPEATED = 5, 2
"""Words from which an answer may be a sentence, and how many of them the question has: "Quantrill perpetrated the Centralia Massacre"."""


@dataclass(frozen=True, slots=True)
class Features:
    """The features of two answers.

    Attributes:
        least, most: the smaller and the larger of the shares of what answers in the one that the other holds, in [0, 1]; where the question offers
            names to choose from, whether both choose the same; 1 where both say yes or both no, 0 where one alone gives no answer.
        numbers_clash, names_clash: both have numbers (names) beyond the question, and share none.
        number_missing: a number or a date is asked for, and one of the two gives none.
    """

    least: float
    most: float
    numbers_clash: float
    names_clash: float
    number_missing: float


def agreement(question: str, answer: str, others: Sequence[str]) -> list[float]:
    """For each other answer, the probability that it says the same as `answer`, in [0, 1]; symmetric."""
    asked = read_asked(question)
    core = read_core(answer, asked)
    return [probability(core, read_core(other, asked)) for other in others]


def agreeing(question: str, group: Sequence[str], apart: Sequence[str]) -> float:
    """How many of the answers apart from a group say what its answers say: each counts by its mean probability over the group, so that it matters
    little how the group's representative is worded. Two short answers that are apart say different things.
    """
    asked = read_asked(question)
    cores = {answer: read_core(answer, asked) for answer in {*group, *apart}}
    sentences = {answer for answer in cores if is_sentence(answer, asked)}
    pairs = Counter((a, b) for a in group for b in apart if a in sentences or b in sentences)
    return sum(n * probability(cores[a], cores[b]) for (a, b), n in pairs.items()) / len(group)


def any_sentence(question: str, answers: Sequence[str]) -> bool:
    """Whether one of the answers is a sentence."""
    asked = read_asked(question)
    return any(is_sentence(answer, asked) for answer in answers)


def is_sentence(answer: str, asked: Asked) -> bool:
    """Whether an answer has more words than a short one, or repeats words of the question.

    >>> is_sentence("It was Quantrill.", read_asked("Who led the Centralia Massacre?"))
    False
    >>> is_sentence("Quantrill perpetrated the Centralia Massacre.", read_asked("Who led the Centralia Massacre?"))
    True
    """
    text = answer[:LOOKED_AT]
    if len(text.split(None, SHORT)) > SHORT:
        return True
    words = list(words_of(text))
    return len(words) >= SENTENCE and sum(word.telling and word.stem in asked.stems for word in words) >= REPEATED


def probability(a: Core, b: Core) -> float:
    """Probability that two answers to one question say the same, as people judge it."""
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
    """Whether one says yes and the other no, or one denies what the other says in the same words."""
    if a.says is not None and b.says is not None:
        return a.says != b.says
    return a.denies != b.denies and len(a.words & b.words) >= SAME_WORDS * len(a.words | b.words)


def _clash(a: Core, b: Core, of_a: frozenset[str], of_b: frozenset[str]) -> float:
    return float(bool(of_a and of_b) and of_a.isdisjoint(b.words) and of_b.isdisjoint(a.words))


@cache
def _weights() -> Mapping[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["pairs"]
    return fitted
