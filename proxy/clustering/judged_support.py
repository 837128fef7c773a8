"""Support of each claim by the other answers, by the shipped judge.

Each answer states the claim, contradicts it or is silent.

The judge reads the claim against the one to three sentences of an answer that have most of its words, preceded by the
question, which names what a pronoun refers to. A logistic regression combines its verdicts with the features of
`support`; its weights were fitted on judged claims (`benchmarks/fits/judged_claims.py`, `judged_support.json`). English
only, and with a time budget: see `JudgedSupport`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from math import isnan
from pathlib import Path

import numpy as np

from ...lexicon.text.claims import Claim
from ...lexicon.text.sentences import sentences
from ..computing import compute
from ..outcomes import Reason
from ..types import ClaimSupport
from .local import CONTRADICTED, ENTAILED, LocalJudge, Probabilities, Texts, reads
from .support import Features, SentenceSupport, features, probability, unread, weights_of
from .tokens import fold, stem, word_lists

WEIGHTS = Path(__file__).with_name("judged_support.json")
SENTENCES = 3
"""Largest number of sentences of an answer that a claim is read against; each must add words of the claim."""
PREMISE = 420
"""Length in characters of these sentences, about as in the judge's training."""
ASKED = 160
"""Number of characters of the question put before them."""
SAYS = 0.5
"""Probability from which an answer counts as stating or contradicting a claim."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class ClaimReading:
    """The judge's verdicts on one claim against the other answers.

    Attributes:
        entailed: mean probability in [0, 1] that it follows from an answer, over those read; NaN if none was read.
        contradicted: the same for being contradicted by an answer.
        by: for each other answer: True if it states the claim, False if it contradicts it, None if silent or not read.
    """

    entailed: float
    contradicted: float
    by: tuple[bool | None, ...]


class JudgedSupport(SentenceSupport):
    """Support of claims by the judge combined with shared words.

    Where the judge cannot read (another language, no time left for any answer), a claim gets its support by words
    alone.

    Args:
        judge: the shipped one.
        budget_s: seconds for all claims of an answer.
        told: called with why the judge read no claim, or None.
    """

    def __init__(
        self, judge: LocalJudge, *, budget_s: float = 2.0, told: Callable[[str | None], None] = lambda _: None
    ) -> None:
        self._judge, self._budget_s, self._told = judge, budget_s, told

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """Support of each claim, and which other answers support it. Runs in a worker thread.

        Raises:
            StepFailed: `too_few_samples` if there is only one answer, `no_judge` if the judge cannot be loaded.
        """
        texts = [claim.statement for claim in claims]
        by_words = await super().measure_claims(question, claims, others, answer)
        if not await compute(_all_readable, question, (*texts, *others)):
            return [unread(words, Reason.UNKNOWN_LANGUAGE) for words in by_words]
        readings = await compute(read_claims, self._judge, question, texts, others, self._budget_s)
        means = await compute(judged_support, question, texts, others, readings, answer)
        self._told(Reason.JUDGE_LATE if means and set(means) == {None} else None)
        return [
            unread(words, Reason.JUDGE_LATE) if mean is None else ClaimSupport(mean, of_claim.by, "local")
            for words, mean, of_claim in zip(by_words, means, readings, strict=True)
        ]


def _all_readable(question: str, texts: Sequence[str]) -> bool:
    return all(reads(text, question) for text in texts)


def read_claims(
    judge: LocalJudge, question: str, claims: Sequence[str], others: Sequence[str], budget_s: float | None = None
) -> list[ClaimReading]:
    """The judge's verdicts on each claim against each other answer; blocks.

    Parameters
    ----------
    question: put before every answer ("" if unknown).
    claims, others: sentences of one answer, and the other answers.
    budget_s: seconds for everything; all claims are read against the first answer, then the second, and so on.
    """
    read = judge.probabilities(pairs_of(question, claims, others), budget_s).reshape(len(others), len(claims), 3)
    return [reading_of(read[:, i]) for i in range(len(claims))]


def pairs_of(question: str, claims: Sequence[str], others: Sequence[str]) -> list[Texts]:
    """The pairs the judge reads: every claim with the first answer, then with the second, and so on."""
    split = [_Answer(other) for other in others]
    return [(_premise(question, claim, other), claim) for other in split for claim in claims]


def judged_support(
    question: str,
    claims: Sequence[str],
    others: Sequence[str],
    readings: Sequence[ClaimReading],
    answer: str | None = None,
) -> list[float | None]:
    """Probability in [0, 1] that each claim is right; None for a claim that was not read against any answer."""
    weights = weights_of(WEIGHTS, NAMES)
    rows = columns(question, claims, others, readings, answer)
    return [None if isnan(of.entailed) else probability(weights, row) for row, of in zip(rows, readings, strict=True)]


NAMES = (*Features.__slots__, "entailed", "contradicted")
"""The features of the logistic regression, in order."""


def columns(
    question: str,
    claims: Sequence[str],
    others: Sequence[str],
    readings: Sequence[ClaimReading],
    answer: str | None = None,
) -> list[list[float]]:
    """The features of each claim, in the order of `NAMES`."""
    by_words = features(question, claims, others, answer)
    return [[*astuple(words), read.entailed, read.contradicted] for words, read in zip(by_words, readings, strict=True)]


class _Answer:
    """The sentences of an answer and the stems of each."""

    def __init__(self, text: str) -> None:
        self.sentences = tuple(sentences(text)) or (text,)
        self.stems = [_stems(sentence) for sentence in self.sentences]


def _premise(question: str, claim: str, answer: _Answer) -> str:
    """The sentences of an answer with most of a claim's words, in their order, after the question."""
    uncovered, chosen = set(_stems(claim)), list[int]()
    for _ in range(SENTENCES):
        gains = [len(uncovered & stems) for stems in answer.stems]
        at = max(range(len(gains)), key=gains.__getitem__)
        if chosen and not gains[at]:
            break
        chosen.append(at)
        uncovered -= answer.stems[at]
    premise = " ".join(answer.sentences[i] for i in sorted(chosen))[:PREMISE]
    asked = " ".join(question.split())[-ASKED:]
    return f"{asked} {premise}".strip()


def _stems(text: str) -> frozenset[str]:
    words = (stem(fold(word).removesuffix("'s")) for word in _WORD.findall(text))
    return frozenset(words) - word_lists().fillers


def reading_of(of_answers: Probabilities) -> ClaimReading:
    """The reading from rows of probabilities, one row per answer."""
    read = of_answers[~np.isnan(of_answers[:, 0])]
    if not len(read):
        return ClaimReading(float("nan"), float("nan"), (None,) * len(of_answers))
    says, denies = of_answers[:, ENTAILED] >= SAYS, of_answers[:, CONTRADICTED] >= SAYS
    by = tuple(True if yes else False if no else None for yes, no in zip(says, denies, strict=True))
    return ClaimReading(float(read[:, ENTAILED].mean()), float(read[:, CONTRADICTED].mean()), by)
