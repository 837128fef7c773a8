"""How far other answers support each claim of an answer, by shared words, without a model.

Used to hedge long answers. A logistic regression on six features, fitted on judged claims of four chat models
(`benchmarks/fits/claims.py`, `support.json`). Three are about the claim: do the others have its numbers and its rarest
word, and how many discuss it with other names and numbers. Three are about the answer: how much the answers have in
common in all words, in names, in numbers. A model that knows its subject gives the same facts every time; what it makes
up are names and numbers. An answer that does not mention a claim counts against it as the fit says, not as half a
support.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cache
from itertools import combinations
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

from ...calibration import Beta
from ...lexicon.text.claims import Claim
from ...lexicon.text.sentences import sentence_spans, sentences
from ...lexicon.text.words import tokenize
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason
from ..types import ClaimSupport
from .rules import judge_pair
from .tokens import fold, stem, word_lists

WEIGHTS = Path(__file__).with_name("support.json")
AGREEMENT = (0.15, 0.8)
"""The range of agreement in the data that the weights were fitted on; values outside are clipped, not extrapolated."""
MOST_NAMES = 2 / 3
"""Share of a claim's names and numbers that an answer must have to state the claim."""
WORTH = 3.0
"""Number of observations that one other answer counts as.

More than one, because the regression was fitted on thousands of claims, so the mean is known better than by counting.
With one per answer the Betas spread over the bins of a reliability diagram (docs/evidence/long.md).
"""
COMPARED = 12
"""Maximum number of answers that are compared with each other; claims are compared with all."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a claim; higher = better supported, except for `disputed`.

    Attributes:
        numbers: log-odds of the mean share of the other answers that have its numbers; all its words if it has none.
        rarest: log-odds of the share of the other answers that have its rarest word.
        disputed: share of the other answers with a sentence that has half of its plain words, but not half of its names
            and numbers.
        agreement: mean overlap of the words of two answers over all pairs, clipped to `AGREEMENT`; the same for every
            claim of an answer.
        names_alike, numbers_alike: the same for names and for numbers, in [0, 1]; `agreement` if no two answers have any.
    """

    numbers: float
    rarest: float
    disputed: float
    agreement: float
    names_alike: float
    numbers_alike: float


@dataclass(frozen=True, slots=True)
class Answer:
    """The words of an answer by their stems, without those of the question.

    Attributes:
        words: all.
        content: those that are no function words.
        names, numbers: those written with a capital or a digit.
        sentences: the words of each sentence.
    """

    words: Words
    content: Words
    names: Words
    numbers: Words
    sentences: tuple[Words, ...]


NAMES = Features.__slots__
"""The features of the logistic regression, in order."""


class SentenceSupport:
    """Support of each sentence of a draft among other answers to the same question."""

    async def measure(self, question: str, draft: str, others: Sequence[str]) -> list[float]:
        """Support of each sentence in [0, 1], higher = more likely right. Runs in a worker thread.

        A draft without sentences counts as one.

        Raises:
            StepFailed: `too_few_samples` where only one answer came.
        """
        _need_others(others)
        claims = sentences(draft) or (draft,)
        return await compute(support, question, claims, others)

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """Support of each claim, and which other answers support it. Runs in a worker thread.

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
    """The raw Beta for a support in [0, 1] among a number of other answers."""
    return Beta.from_mean(support, WORTH * others)


def unread(by_words: ClaimSupport, reason: str) -> ClaimSupport:
    """The support by words alone, for a claim that a judge should have read and could not."""
    return replace(by_words, by=f"words:{reason}")


def support(question: str, claims: Sequence[str], others: Sequence[str], answer: str | None = None) -> list[float]:
    """Probability in [0, 1] that each claim is right, judged by other answers to the question.

    Parameters
    ----------
    question: its words do not count in a claim ("" if unknown).
    claims: sentences or parts of sentences of one answer.
    others: the other answers, at least one.
    answer: the text the claims were taken from; by default the claims themselves.
    """
    weights = weights_of(WEIGHTS, NAMES)
    return [probability(weights, astuple(f)) for f in features(question, claims, others, answer)]


def probability(weights: Sequence[float], figures: Sequence[float]) -> float:
    """The probability in (0, 1) that a logistic regression gives figures, by its intercept and one weight each."""
    constant, *slopes = weights
    return 1.0 / (1.0 + exp(-constant - sum(slope * figure for slope, figure in zip(slopes, figures, strict=True))))


def borne_out(question: str, claims: Sequence[str], others: Sequence[str]) -> list[tuple[bool | None, ...]]:
    """For each claim, which other answers state it.

    They have its numbers, and `MOST_NAMES` of its names and numbers. The others get None (silent): words alone cannot
    tell a contradiction.
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
    """For each claim, which other answers dispute it.

    Their sentence nearest to it has half of its plain words, but not half of its names and numbers. A claim without
    names and numbers is not disputed.
    """
    asked = _stems(question)
    read = [read_answer(other, asked) for other in others]
    disputed_by = []
    for claim in claims:
        words = _telling_words(claim, asked)
        core = _core(words)
        plain = words.keys() - core
        disputed_by.append(tuple(bool(core and plain) and _disputes(other, core, plain) for other in read))
    return disputed_by


def agreement_with(question: str, answer: str, others: Sequence[str]) -> list[float] | None:
    """How far each other answer agrees with a full-sentence answer: the share of its names and numbers, in [0, 1].

    None if the answer has no names and numbers beyond the question: nothing then shows which words answer. Two whole
    sentences rarely mean the same; the names and numbers are what was asked.
    """
    core = _core(_telling_words(answer, _stems(question)))
    if not core:
        return None
    return [len(core & _stems(other)) / len(core) for other in others]


def features(question: str, claims: Sequence[str], others: Sequence[str], answer: str | None = None) -> list[Features]:
    """The features of each claim.

    Time is bounded by the sentences of the others times the claims, and by `COMPARED` answers squared.
    """
    asked = _stems(question)
    read = [read_answer(other, asked) for other in others]
    own = " ".join(claims) if answer is None else answer
    compared = [read_answer(own, asked), *read][:COMPARED]
    agreement = _clip(_overlap(compared, lambda a: a.content, 1.0), *AGREEMENT)
    names = _overlap(compared, lambda a: a.names, agreement)
    numbers = _overlap(compared, lambda a: a.numbers, agreement)
    return [Features(*_of_claim(_telling_words(claim, asked), read), agreement, names, numbers) for claim in claims]


def read_answer(text: str, asked: Words) -> Answer:
    """Read the words and sentences of an answer."""
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
    """Whether the answer's sentence nearest to a claim has half its plain words, but not half its names and numbers."""
    near, held = max((len(plain & sentence), len(core & sentence)) for sentence in other.sentences)
    return 2 * near >= len(plain) and 2 * held < len(core)


def _overlap(answers: Sequence[Answer], words: Callable[[Answer], Words], otherwise: float) -> float:
    """Mean share of the smaller word set that two answers share, over all pairs; `otherwise` if all are empty."""
    sets = [held for answer in answers if (held := words(answer))]
    overlaps = [len(a & b) / min(len(a), len(b)) for a, b in combinations(sets, 2)]
    return fmean(overlaps) if overlaps else otherwise


def _clip(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def log_odds(share: float, n: int) -> float:
    """Log-odds of a share of n answers, with half an answer added on either side to keep none and all finite."""
    return log((share * n + 0.5) / ((1.0 - share) * n + 0.5))


def _is_name(written: str) -> bool:
    return written[0].isupper()


def _is_number(written: str) -> bool:
    return any(map(str.isdigit, written))


def _core(words: dict[str, str]) -> set[str]:
    """Names and numbers."""
    return {stem for stem, written in words.items() if _is_name(written) or _is_number(written)}


def _telling_words(claim: str, asked: Words) -> dict[str, str]:
    """The content words of a claim that the question lacks, by stem and as written; all its words if there are none."""
    words = dict(_read(claim))
    content = {stem: written for stem, written in words.items() if written.lower() not in word_lists().fillers}
    return {stem: written for stem, written in content.items() if stem not in asked} or content or words or {"": " "}


def _stems(text: str) -> Words:
    return frozenset(stem for stem, _ in _read(text))


def _read(text: str) -> list[tuple[str, str]]:
    """The words of a text, each by its stem and as written."""
    return [(stem(fold(word).removesuffix("'s")), word) for word in _WORD.findall(text)]


@cache
def weights_of(file: Path, names: tuple[str, ...]) -> tuple[float, ...]:
    """Intercept and weights of a fitted logistic regression in the order of `names`, read once."""
    fitted = json.loads(file.read_text(encoding="utf-8"))["weights"]
    return tuple(fitted[name] for name in ("constant", *names))


# Agreement of JSON answers field by field: which other answers have the same value at the same path.
#
# An answer for a program cannot carry a hedge, but each field can have a confidence: the share of answers that agree on
# it. Objects are compared by key, arrays by content (the order of a list of names means nothing), numbers up to the
# digits that both give, short texts by the clustering rules. Longer texts agree as far as they have the same names and
# numbers; a text without either is not measured.

MOST_FIELDS = 500
"""Maximum number of fields that are measured."""
PROSE = 12
"""A text with at least this many words is prose: no two are equal."""
MATCHED_ELEMENTS = 100
"""Array length up to which elements are matched by content; longer arrays are compared by position."""
_MISSING = object()

FieldPath = tuple[str | int, ...]


def path_name(path: FieldPath) -> str:
    """The JSONPath of a field.

    >>> path_name(("rivers", 0, "length km")), path_name(())
    ("$.rivers[0]['length km']", '$')
    """
    parts = [
        f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{step!r}]" for step in path
    ]
    return "$" + "".join(parts)


def leaves(value: Any, path: FieldPath = ()) -> Iterator[tuple[FieldPath, Any]]:
    """The fields of an answer: every value without inner values, including empty objects and arrays."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for step, part in steps:
        empty = False
        yield from leaves(part, (*path, step))
    if empty:
        yield path, value


def representative(answers: Sequence[Any]) -> int:
    """Index of the answer that shares most field values with the others; the first on ties."""
    keyed = [Counter(_keys(answer)) for answer in answers]
    total: Counter[tuple[str, str]] = Counter()
    for keys in keyed:
        total.update(set(keys))
    shares = [sum(total[key] for key in keys) / max(1, len(keys)) for keys in keyed]
    return shares.index(max(shares))


def agreement(question: str, draft: Any, others: Sequence[Any]) -> dict[FieldPath, list[float]]:
    """How far each other answer agrees with each field of a draft, in [0, 1].

    A field that cannot be measured is left out.

    Parameters
    ----------
    question: the user's message; its words do not count in a text.
    draft, others: decoded JSON; at least one other.
    """
    places = [path for path, _ in leaves(draft)][:MOST_FIELDS]
    wanted: dict[FieldPath, list[float] | None] = {path: [] for path in places}
    for other in others:
        _compare(question, draft, other, (), wanted)
    return {path: shares for path, shares in wanted.items() if shares is not None}


def _compare(
    question: str, draft: Any, other: Any, path: FieldPath, agreements: dict[FieldPath, list[float] | None]
) -> None:
    """Add the agreement of one other answer to each field below a path."""
    if isinstance(draft, dict) and draft:
        same = other if isinstance(other, dict) else {}
        for key, part in draft.items():
            _compare(question, part, same.get(key, _MISSING), (*path, key), agreements)
    elif isinstance(draft, list) and draft:
        elements = _matched(draft, other if isinstance(other, list) else [])
        for index, (part, match) in enumerate(zip(draft, elements, strict=True)):
            _compare(question, part, match, (*path, index), agreements)
    elif (shares := agreements.get(path)) is not None:
        share = _same(question, draft, other)
        if share is None:
            agreements[path] = None
        else:
            shares.append(share)


def _same(question: str, a: Any, b: Any) -> float | None:
    """How far two values agree, in [0, 1]; None where the first cannot be measured, whatever the second is."""
    if isinstance(a, str):
        if len(a.split()) < PROSE:
            return float(isinstance(b, str) and (a == b or judge_pair(question, a, b).same is True))
        graded = agreement_with(question, a, [b if isinstance(b, str) else ""])
        return None if graded is None else graded[0]
    if isinstance(a, bool) or isinstance(b, bool) or a is None or not isinstance(a, int | float):
        return float(type(a) is type(b) and a == b)
    return float(isinstance(b, int | float) and _same_number(a, b))


def _same_number(a: float, b: float) -> bool:
    """Whether two numbers are equal up to rounding; integers on both sides must be equal.

    >>> _same_number(48.8566, 48.86), _same_number(1998, 1999), _same_number(20, 19.99), _same_number(0.3, 0.1 + 0.2)
    (True, False, True, True)
    """
    if not (math.isfinite(a) and math.isfinite(b)):
        return a == b
    digits = min(_decimals(a), _decimals(b))
    return math.isclose(round(a, digits), round(b, digits), rel_tol=1e-12)


def _decimals(number: float) -> int:
    """Digits after the decimal point as written; 15, the precision of a float, if written with an exponent."""
    if isinstance(number, int):
        return 0
    written = repr(number)
    return 15 if "e" in written else len(written.partition(".")[2].rstrip("0"))


def _matched(draft: list[Any], other: list[Any]) -> list[Any]:
    """For each element, the element of the other array with most in common; `_MISSING` if none is left.

    Each is used at most once.
    """
    if max(len(draft), len(other)) > MATCHED_ELEMENTS:
        return [other[i] if i < len(other) else _MISSING for i in range(len(draft))]
    mine, theirs = [Counter(_keys(part)) for part in draft], [Counter(_keys(part)) for part in other]
    likeness = sorted(
        ((mine[i] & theirs[k]).total(), -abs(i - k), i, k) for i in range(len(mine)) for k in range(len(theirs))
    )
    pairs: dict[int, int] = {}
    for common, _, i, k in reversed(likeness):
        if common and i not in pairs and k not in pairs.values():
            pairs[i] = k
    free = [k for k in range(len(other)) if k not in pairs.values()]
    for i in range(len(draft)):  # elements with nothing in common may still mean the same in other words
        if i not in pairs and free:
            pairs[i] = free.pop(0)
    return [other[pairs[i]] if i in pairs else _MISSING for i in range(len(draft))]


def _keys(value: Any) -> Iterator[tuple[str, str]]:
    """The fields of a value, as (path without array indices, value as written in lower case)."""
    for path, leaf in leaves(value):
        written = fold(leaf) if isinstance(leaf, str) else repr(leaf)
        yield ".".join(step for step in path if isinstance(step, str)), written


# The passage of an answer that is about a claim, shown to a person beside the verdict on it.

LONGEST = 300
"""Maximum length of a passage in characters; the rest is cut off."""
LOOKED_AT = 20_000
"""Number of characters of an answer that are read."""


class Passages:
    """Several answers, split into sentences once for all claims."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = [
            [(text[start:end], _words(text[start:end])) for start, end in sentence_spans(text)]
            for text in (answer[:LOOKED_AT] for answer in answers)
        ]

    def of(self, claim: str) -> list[str]:
        """From each answer the sentence with most words of the claim, the first on ties; "" where none has any.

        >>> Passages(["He was tall. Born in Rome, he moved.", "Yes."]).of("He was born in Rome.")
        ['Born in Rome, he moved.', '']
        """
        wanted = _words(claim)
        passages = []
        for listed in self._answers:
            shared = [len(wanted & words) for _, words in listed]
            best = max(range(len(shared)), key=shared.__getitem__, default=None)
            text = listed[best][0] if best is not None and shared[best] else ""
            passages.append(text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
        return passages


def _words(text: str) -> frozenset[str]:
    words = (fold(token.word) for token in tokenize(text) if token.word[0].isalnum())
    return frozenset(stem(word) for word in words if word not in word_lists().fillers)
