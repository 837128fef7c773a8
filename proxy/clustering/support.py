"""How far other answers bear out each claim of one: what long answers are hedged by, without a model.

Six figures of a claim against the other answers, put together by a logistic whose numbers were fitted on judged claims of four chat
models (`benchmarks/fits/claims.py`, `support.json`). Three are the claim's own: do the others hold its numbers and its rarest word, and how
many speak of it with other names and numbers. Three are the answer's: how much the answers have in common, in all words, in names, in numbers.
A model that knows its subject tells the same story every time; names and numbers are what it makes up. An answer that does not speak of a claim
counts against it as much as the fit says, not as half a support.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from itertools import combinations
from math import exp, log
from pathlib import Path
from statistics import fmean

from hedgerow.calibration import Beta
from hedgerow.lexicon.text.claims import Claim
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.clustering.stems import fold, stem
from hedgerow.proxy.clustering.words import word_lists
from hedgerow.proxy.computing import compute
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import ClaimSupport

WEIGHTS = Path(__file__).with_name("support.json")
AGREEMENT = (0.15, 0.8)
"""The range of agreement among the answers that the weights were fitted on; beyond it nothing is known, so nothing is extrapolated."""
MOST_NAMES = 2 / 3
"""Share of a claim's names and numbers that an answer holds which says so."""
WORTH = 3.0
"""Observations that one other answer is worth: what they tell goes through a logistic fitted on thousands of claims, so that the mean is known better
than by counting. Betas of one observation an answer spread over the bins of a reliability diagram (docs/evidence/long.md)."""
COMPARED = 12
"""Most answers that are compared with one another; claims are held against all."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class Features:
    """What is measured of a claim; higher = better borne out, but for `disputed`.

    Attributes:
        numbers: log-odds of the mean share of the other answers that hold its numbers; of all its words where it has none.
        rarest: log-odds of the share of the other answers that hold the word of it that fewest hold.
        disputed: share of the other answers with a sentence that holds half of its plain words, but not half of its names and numbers.
        agreement: mean overlap of two answers' words, pair by pair, the same for every claim of an answer; cut to `AGREEMENT`.
        names_alike, numbers_alike: the same of their names and of their numbers, in [0, 1]; `agreement` where no two answers have any.
    """

    numbers: float
    rarest: float
    disputed: float
    agreement: float
    names_alike: float
    numbers_alike: float


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's words by their stems, without those of the question.

    Attributes:
        words: all.
        content: those that say something.
        names, numbers: those written with a capital or a digit.
        sentences: the words of each sentence.
    """

    words: Words
    content: Words
    names: Words
    numbers: Words
    sentences: tuple[Words, ...]


class SentenceSupport:
    """Support of each sentence of a draft among other answers to the same question."""

    async def measure(self, question: str, draft: str, others: Sequence[str]) -> list[float]:
        """Support of each sentence, in [0, 1], higher = more likely right; a draft without sentences counts as one. In a worker thread.

        Raises:
            StepFailed: `too_few_samples` where only one answer came.
        """
        _need_others(others)
        claims = sentences(draft) or (draft,)
        return await compute(support, question, claims, others)

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """Support of each claim, and which of the other answers bear it out. In a worker thread.

        Raises:
            StepFailed: `too_few_samples` where only one answer came.
        """
        _need_others(others)

        def measure() -> list[ClaimSupport]:
            texts = [claim.text for claim in claims]
            measured = zip(support(question, texts, others, answer), borne_out(question, texts, others), strict=True)
            return [ClaimSupport(mean, by) for mean, by in measured]

        return await compute(measure)


def _need_others(others: Sequence[str]) -> None:
    if not others:
        raise StepFailed("confidence", Reason.TOO_FEW_SAMPLES, "the draft has no other answer to be compared with")


def beta_of(support: float, others: int) -> Beta:
    """The raw Beta of a support among a number of other answers."""
    return Beta.from_mean(support, WORTH * others)


def unread(by_words: ClaimSupport, reason: str) -> ClaimSupport:
    """The support that words give a claim, where a judge was to tell and could not."""
    return replace(by_words, by=f"words:{reason}")


def support(question: str, claims: Sequence[str], others: Sequence[str], answer: str | None = None) -> list[float]:
    """Probability that each claim is right, as far as other answers to the question tell.

    Parameters
    ----------
    question: its words say nothing of a claim ("" where it is not known).
    claims: sentences or parts of sentences of one answer.
    others: the other answers, at least one.
    answer: what the claims were taken from; the claims themselves, where they are all of it.
    """
    constant, *weights = _weights()
    logits = (constant + _dot(weights, astuple(f)) for f in features(question, claims, others, answer))
    return [1.0 / (1.0 + exp(-logit)) for logit in logits]


def _dot(weights: Iterable[float], figures: Iterable[float]) -> float:
    return sum(weight * figure for weight, figure in zip(weights, figures, strict=True))


def borne_out(question: str, claims: Sequence[str], others: Sequence[str]) -> list[tuple[bool | None, ...]]:
    """For each claim, which of the other answers say so: those that hold its numbers, and `MOST_NAMES` of its names and numbers.

    The others do not speak of it (None): words alone do not tell a contradiction.
    """
    asked = _stems(question)
    vocabularies = [_stems(other) for other in others]
    return [_borne_out(_telling_words(claim, asked), vocabularies) for claim in claims]


def _borne_out(words: dict[str, str], vocabularies: Sequence[Words]) -> tuple[bool | None, ...]:
    numbers = {stem for stem, written in words.items() if _is_number(written)}
    core = _core(words) or set(words)
    return tuple(
        True if numbers <= vocabulary and len(core & vocabulary) >= MOST_NAMES * len(core) else None
        for vocabulary in vocabularies
    )


def disputed(question: str, claims: Sequence[str], others: Sequence[str]) -> list[tuple[bool, ...]]:
    """For each claim, which of the other answers dispute it: their sentence that is nearest to it holds half of its plain words, but not half of
    its names and numbers. A claim without a name or number is disputed by none.
    """
    asked = _stems(question)
    read = [read_answer(other, asked) for other in others]
    found = []
    for claim in claims:
        words = _telling_words(claim, asked)
        core = _core(words)
        plain = words.keys() - core
        found.append(tuple(bool(core and plain) and _disputes(other, core, plain) for other in read))
    return found


def agreement_with(question: str, answer: str, others: Sequence[str]) -> list[float] | None:
    """How far each other answer says what an answer in a full sentence says, in [0, 1]: the share of its names and numbers that it holds.

    None for an answer without a name or a number that the question does not hold: nothing in it says which words answer. Two sentences rarely
    mean the same as wholes; the names and numbers are what was asked for.
    """
    core = _core(_telling_words(answer, _stems(question)))
    if not core:
        return None
    return [len(core & _stems(other)) / len(core) for other in others]


def features(question: str, claims: Sequence[str], others: Sequence[str], answer: str | None = None) -> list[Features]:
    """The figures of each claim against the other answers. Bounded by sentences of the others times claims, and by `COMPARED` answers squared."""
    asked = _stems(question)
    read = [read_answer(other, asked) for other in others]
    own = " ".join(claims) if answer is None else answer
    compared = [read_answer(own, asked), *read][:COMPARED]
    agreement = _clip(_overlap(compared, lambda a: a.content, 1.0), *AGREEMENT)
    names = _overlap(compared, lambda a: a.names, agreement)
    numbers = _overlap(compared, lambda a: a.numbers, agreement)
    return [Features(*_of_claim(_telling_words(claim, asked), read), agreement, names, numbers) for claim in claims]


def read_answer(text: str, asked: Words) -> Answer:
    """Take an answer apart."""
    read = [_read(sentence) for sentence in sentences(text) or (text,)]
    words = [pair for sentence in read for pair in sentence if pair[0] not in asked]
    content = frozenset(stem for stem, _ in words) - word_lists().fillers
    names = frozenset(stem for stem, written in words if _is_name(written)) & content
    numbers = frozenset(stem for stem, written in words if _is_number(written))
    by_sentence = tuple(frozenset(stem for stem, _ in sentence) for sentence in read)
    return Answer(frozenset().union(*by_sentence), content, names, numbers, by_sentence)


def _of_claim(words: dict[str, str], others: Sequence[Answer]) -> tuple[float, float, float]:
    """`numbers`, `rarest` and `disputed`."""
    shares = {word: fmean(word in other.words for other in others) for word in words}
    numbers = [shares[word] for word, written in words.items() if _is_number(written)]
    core, n = _core(words), len(others)
    plain = words.keys() - core
    disputed = fmean(_disputes(other, core, plain) for other in others) if core and plain else 0.0
    return log_odds(fmean(numbers or shares.values()), n), log_odds(min(shares.values()), n), disputed


def _disputes(other: Answer, core: set[str], plain: set[str]) -> bool:
    """Whether the sentence of an answer that is nearest to a claim holds half of its plain words, but not half of its names and numbers."""
    near, held = max((len(plain & sentence), len(core & sentence)) for sentence in other.sentences)
    return 2 * near >= len(plain) and 2 * held < len(core)


def _overlap(answers: Sequence[Answer], words: Callable[[Answer], Words], otherwise: float) -> float:
    """Mean share of the smaller set of words that two answers have in common; `otherwise` where no two have any."""
    sets = [held for answer in answers if (held := words(answer))]
    overlaps = [len(a & b) / min(len(a), len(b)) for a, b in combinations(sets, 2)]
    return fmean(overlaps) if overlaps else otherwise


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def log_odds(share: float, n: int) -> float:
    """Log-odds of a share of n answers with half an answer added on either side, so that none and all stay finite."""
    return log((share * n + 0.5) / ((1.0 - share) * n + 0.5))


def _is_name(written: str) -> bool:
    return written[0].isupper()


def _is_number(written: str) -> bool:
    return any(map(str.isdigit, written))


def _core(words: dict[str, str]) -> set[str]:
    """Names and numbers."""
    return {stem for stem, written in words.items() if _is_name(written) or _is_number(written)}


def _telling_words(claim: str, asked: Words) -> dict[str, str]:
    """The words of a claim that say something beyond the question, by stem and as written; all its words where none does."""
    words = dict(_read(claim))
    content = {stem: written for stem, written in words.items() if written.lower() not in word_lists().fillers}
    return {stem: written for stem, written in content.items() if stem not in asked} or content or words or {"": " "}


def _stems(text: str) -> Words:
    return frozenset(stem for stem, _ in _read(text))


def _read(text: str) -> list[tuple[str, str]]:
    """The words of a text, each by its stem and as written."""
    return [(stem(fold(word).removesuffix("'s")), word) for word in _WORD.findall(text)]


@cache
def _weights() -> tuple[float, ...]:
    """Constant and weights of the logistic in the order of `Features`, read once."""
    fitted = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    return tuple(fitted[name] for name in ("constant", *Features.__slots__))
