"""How far other answers bear out each claim of one, read by the shipped judge: each answer says it, contradicts it or does not speak of it.

The judge reads a claim against the one to three sentences of an answer that hold most of its words, behind the question, which names whom
a pronoun means. What it reads is put together with the cheap figures of `support` by a logistic whose weights were fitted on judged
claims (`benchmarks/fits/judged_claims.py`, `judged_support.json`). English only, and under a time budget: see `JudgedSupport`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cache
from math import exp
from pathlib import Path

import numpy as np

from hedgerow.lexicon.text.claims import Claim
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.clustering.local import CONTRADICTED, ENTAILED, LocalJudge, Probabilities, Texts, reads
from hedgerow.proxy.clustering.stems import fold, stem
from hedgerow.proxy.clustering.support import Features, SentenceSupport, features, unread
from hedgerow.proxy.clustering.words import word_lists
from hedgerow.proxy.computing import compute
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import ClaimSupport

WEIGHTS = Path(__file__).with_name("judged_support.json")
SENTENCES = 3
"""Sentences of an answer that a claim is read against; those that hold words of it which the ones before do not."""
PREMISE = 420
"""Characters of them: about what the judge was trained on."""
ASKED = 160
"""Characters of the question that go before."""
SAYS = 0.5
"""Probability from which an answer says a claim, or contradicts it."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class ClaimReading:
    """What the other answers say of one claim.

    Attributes:
        entailed: mean probability that it follows from an answer, over those that were read; NaN where none was.
        contradicted: the same for its contradiction.
        by: of each other answer: it says so, it contradicts it, or it does not speak of it (None: also one that was not read).
    """

    entailed: float
    contradicted: float
    by: tuple[bool | None, ...]


class JudgedSupport(SentenceSupport):
    """Support of claims by the judge and the words together.

    Where the judge cannot read (another language, no time left for any answer), a claim has the support that the words alone give it.

    Args:
        judge: the shipped one.
        budget_s: seconds for all claims of an answer.
    """

    def __init__(self, judge: LocalJudge, *, budget_s: float = 2.0) -> None:
        self._judge, self._budget_s = judge, budget_s

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """Support of each claim, and which of the other answers bear it out. In a worker thread.

        Raises:
            StepFailed: `too_few_samples` where only one answer came, `no_judge` where the judge cannot be loaded.
        """
        texts = [claim.statement for claim in claims]
        by_words = await super().measure_claims(question, claims, others, answer)
        if not await compute(_all_readable, question, (*texts, *others)):
            return [unread(words, Reason.UNKNOWN_LANGUAGE) for words in by_words]
        readings = await compute(read_claims, self._judge, question, texts, others, self._budget_s)
        means = await compute(judged_support, question, texts, others, readings, answer)
        return [
            unread(words, Reason.JUDGE_LATE) if mean is None else ClaimSupport(mean, of_claim.by, "local")
            for words, mean, of_claim in zip(by_words, means, readings, strict=True)
        ]


def _all_readable(question: str, texts: Sequence[str]) -> bool:
    return all(reads(text, question) for text in texts)


def read_claims(
    judge: LocalJudge, question: str, claims: Sequence[str], others: Sequence[str], budget_s: float | None = None
) -> list[ClaimReading]:
    """What each of the other answers says of each claim; blocks.

    Parameters
    ----------
    question: goes before every answer ("" where it is not known).
    claims, others: sentences of one answer, and the other answers.
    budget_s: for all together; every claim is read against the first answer, then against the second, and so on.
    """
    read = judge.probabilities(pairs_of(question, claims, others), budget_s).reshape(len(others), len(claims), 3)
    return [reading_of(read[:, i]) for i in range(len(claims))]


def pairs_of(question: str, claims: Sequence[str], others: Sequence[str]) -> list[Texts]:
    """What the judge reads: every claim with the first answer, then with the second, and so on."""
    split = [_Answer(other) for other in others]
    return [(_premise(question, claim, other), claim) for other in split for claim in claims]


def judged_support(
    question: str,
    claims: Sequence[str],
    others: Sequence[str],
    readings: Sequence[ClaimReading],
    answer: str | None = None,
) -> list[float | None]:
    """Probability that each claim is right, in [0, 1]; None for a claim that was not read against any answer."""
    weights = _weights()
    means: list[float | None] = []
    for row, of_claim in zip(columns(question, claims, others, readings, answer), readings, strict=True):
        z = weights[0] + float(np.dot(weights[1:], row))
        means.append(None if np.isnan(of_claim.entailed) else 1.0 / (1.0 + exp(-z)))
    return means


NAMES = (*Features.__slots__, "entailed", "contradicted")
"""What the logistic weighs, in order."""


def columns(
    question: str,
    claims: Sequence[str],
    others: Sequence[str],
    readings: Sequence[ClaimReading],
    answer: str | None = None,
) -> list[list[float]]:
    """The figures of each claim that the logistic weighs, in the order of `NAMES`."""
    by_words = features(question, claims, others, answer)
    return [[*astuple(words), read.entailed, read.contradicted] for words, read in zip(by_words, readings, strict=True)]


class _Answer:
    """An answer's sentences and the stems of each."""

    def __init__(self, text: str) -> None:
        self.sentences = tuple(sentences(text)) or (text,)
        self.stems = [_stems(sentence) for sentence in self.sentences]


def _premise(question: str, claim: str, answer: _Answer) -> str:
    """The sentences of an answer that hold most of a claim's words, in their order, behind the question."""
    left, chosen = set(_stems(claim)), list[int]()
    for _ in range(SENTENCES):
        gains = [len(left & stems) for stems in answer.stems]
        at = max(range(len(gains)), key=gains.__getitem__)
        if chosen and not gains[at]:
            break
        chosen.append(at)
        left -= answer.stems[at]
    said = " ".join(answer.sentences[i] for i in sorted(chosen))[:PREMISE]
    asked = " ".join(question.split())[-ASKED:]
    return f"{asked} {said}".strip()


def _stems(text: str) -> frozenset[str]:
    words = (stem(fold(word).removesuffix("'s")) for word in _WORD.findall(text))
    return frozenset(words) - word_lists().fillers


def reading_of(of_answers: Probabilities) -> ClaimReading:
    """What rows of probabilities, one an answer, say together."""
    read = of_answers[~np.isnan(of_answers[:, 0])]
    if not len(read):
        return ClaimReading(float("nan"), float("nan"), (None,) * len(of_answers))
    says, denies = of_answers[:, ENTAILED] >= SAYS, of_answers[:, CONTRADICTED] >= SAYS
    by = tuple(True if yes else False if no else None for yes, no in zip(says, denies, strict=True))
    return ClaimReading(float(read[:, ENTAILED].mean()), float(read[:, CONTRADICTED].mean()), by)


@cache
def _weights() -> tuple[float, ...]:
    """Constant and weights of the logistic, read once."""
    fitted = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    return tuple(fitted[name] for name in ("constant", *NAMES))
