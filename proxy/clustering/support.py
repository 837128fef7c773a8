"""How far other answers bear out each claim of one: what long answers are hedged by, without a model.

Three figures of a claim against the other answers, put together by a logistic whose four numbers were fitted on judged claims of four
chat models (`benchmarks/fits/claims.py`, `support.json`): the share of the other answers that hold its numbers, the share that hold its
names, and how much the other answers agree among themselves. Names and numbers are what a model makes up; the words around them come
easily, right or wrong. An answer that does not speak of a claim counts against it as much as the fit says, not as half a support.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import exp, log
from pathlib import Path
from statistics import fmean

import anyio.to_thread

from hedgerow.lexicon.text.claims import Claim
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.clustering.normal import fold, stem
from hedgerow.proxy.clustering.words import word_lists
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import ClaimSupport

WEIGHTS = Path(__file__).with_name("support.json")
AGREEMENT = (0.15, 0.8)
"""The range of agreement among the answers that the weights were fitted on; beyond it nothing is known, so nothing is extrapolated."""
MOST_NAMES = 2 / 3
"""Share of a claim's names and numbers that an answer holds which says so."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Features:
    """What is measured of a claim; higher = better borne out.

    Attributes:
        numbers: log-odds of the mean share of the other answers that hold its numbers; of all its words where it has none.
        names: the same for its capitalised words.
        agreement: mean overlap of the other answers' words, pair by pair, the same for every claim of an answer; cut to `AGREEMENT`.
    """

    numbers: float
    names: float
    agreement: float


class SentenceSupport:
    """Support of each sentence of a draft among other answers to the same question."""

    async def measure(self, question: str, draft: str, others: Sequence[str]) -> list[float]:
        """Support of each sentence, in [0, 1], higher = more likely right; a draft without sentences counts as one. In a worker thread.

        Raises:
            StepFailed: `too_few_samples` where only one answer came.
        """
        if not others:
            raise StepFailed("confidence", Reason.TOO_FEW_SAMPLES, "the draft has no other answer to be compared with")
        claims = sentences(draft) or (draft,)
        return await anyio.to_thread.run_sync(support, question, claims, others)

    async def measure_claims(self, question: str, claims: Sequence[Claim], others: Sequence[str]) -> list[ClaimSupport]:
        """Support of each claim, and which of the other answers bear it out. In a worker thread.

        Raises:
            StepFailed: `too_few_samples` where only one answer came.
        """
        if not others:
            raise StepFailed("confidence", Reason.TOO_FEW_SAMPLES, "the draft has no other answer to be compared with")

        def measure() -> list[ClaimSupport]:
            texts = [claim.text for claim in claims]
            told = zip(support(question, texts, others), borne_out(question, texts, others), strict=True)
            return [ClaimSupport(mean, by) for mean, by in told]

        return await anyio.to_thread.run_sync(measure)


def support(question: str, claims: Sequence[str], others: Sequence[str]) -> list[float]:
    """Probability that each claim is right, as far as other answers to the question tell.

    Parameters
    ----------
    question: its words say nothing of a claim ("" where it is not known).
    claims: sentences or parts of sentences of one answer.
    others: the other answers, at least one.
    """
    constant, numbers, names, agreement = _weights()
    return [
        1.0 / (1.0 + exp(-(constant + numbers * f.numbers + names * f.names + agreement * f.agreement)))
        for f in features(question, claims, others)
    ]


def borne_out(question: str, claims: Sequence[str], others: Sequence[str]) -> list[tuple[bool | None, ...]]:
    """For each claim, which of the other answers say so: those that hold its numbers, and `MOST_NAMES` of its names and numbers.

    The others do not speak of it (None): words alone do not tell a contradiction.
    """
    asked = {stem for stem, _ in _read(question)}
    vocabularies = [frozenset(stem for stem, _ in _read(other)) for other in others]
    return [_borne_out(_telling_words(claim, asked), vocabularies) for claim in claims]


def _borne_out(words: dict[str, str], vocabularies: Sequence[frozenset[str]]) -> tuple[bool | None, ...]:
    numbers = {stem for stem, written in words.items() if any(map(str.isdigit, written))}
    core = numbers | {stem for stem, written in words.items() if written[0].isupper()} or set(words)
    return tuple(
        True if numbers <= vocabulary and len(core & vocabulary) >= MOST_NAMES * len(core) else None
        for vocabulary in vocabularies
    )


def agreement_with(question: str, answer: str, others: Sequence[str]) -> list[float] | None:
    """How far each other answer says what an answer in a full sentence says, in [0, 1]: the share of its names and numbers that it holds.

    None for an answer without a name or a number that the question does not hold: nothing in it says which words answer. Two sentences rarely
    mean the same as wholes; the names and numbers are what was asked for.
    """
    words = _telling_words(answer, {stem for stem, _ in _read(question)})
    core = {stem for stem, written in words.items() if written[0].isupper() or any(map(str.isdigit, written))}
    if not core:
        return None
    return [len(core & {stem for stem, _ in _read(other)}) / len(core) for other in others]


def features(question: str, claims: Sequence[str], others: Sequence[str]) -> list[Features]:
    """The figures of each claim against the other answers. Linear in the lengths of the texts."""
    asked = {stem for stem, _ in _read(question)}
    vocabularies = [frozenset(stem for stem, _ in _read(other)) for other in others]
    agreement = min(max(_agreement(vocabularies), AGREEMENT[0]), AGREEMENT[1])
    return [_features(_telling_words(claim, asked), vocabularies, agreement) for claim in claims]


def _features(words: dict[str, str], vocabularies: Sequence[frozenset[str]], agreement: float) -> Features:
    shares = {word: fmean(word in vocabulary for vocabulary in vocabularies) for word in words}
    share = fmean(shares.values())
    numbers = [shares[word] for word, written in words.items() if any(map(str.isdigit, written))]
    names = [shares[word] for word, written in words.items() if written[0].isupper()]
    n = len(vocabularies)
    return Features(_log_odds(fmean(numbers or [share]), n), _log_odds(fmean(names or [share]), n), agreement)


def _log_odds(share: float, n: int) -> float:
    """Log-odds of a share of n answers with half an answer added on either side, so that none and all stay finite."""
    return log((share * n + 0.5) / ((1.0 - share) * n + 0.5))


def _telling_words(claim: str, asked: set[str]) -> dict[str, str]:
    """The words of a claim that say something beyond the question, by stem and as written; all its words where none does."""
    words = dict(_read(claim))
    content = {stem: written for stem, written in words.items() if written.lower() not in word_lists().fillers}
    return {stem: written for stem, written in content.items() if stem not in asked} or content or words or {"": " "}


def _read(text: str) -> list[tuple[str, str]]:
    """The words of a text, each by its stem and as written."""
    return [(stem(fold(word).removesuffix("'s")), word) for word in _WORD.findall(text)]


def _agreement(vocabularies: Sequence[frozenset[str]]) -> float:
    """Mean share of the smaller vocabulary that two answers have in common; 1 for a single answer, which nothing contradicts."""
    content = [vocabulary - word_lists().fillers for vocabulary in vocabularies]
    overlaps = [len(a & b) / max(1, min(len(a), len(b))) for a, b in combinations(content, 2)]
    return fmean(overlaps) if overlaps else 1.0


@cache
def _weights() -> tuple[float, float, float, float]:
    """Constant and weights of the logistic, read once."""
    fitted = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    return fitted["constant"], fitted["numbers"], fitted["names"], fitted["agreement"]
