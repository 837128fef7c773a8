"""How far other answers bear out each sentence of one: what long answers are hedged by.

Rules first, on the few sentences of each other answer that speak of the same things; then, where the route has one, its judge on the
pair that is nearest. What neither can tell counts half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import anyio.to_thread

from hedgerow.proxy.clustering.layered import Judge
from hedgerow.proxy.clustering.normal import Normal, normalise, stem
from hedgerow.proxy.clustering.rules import compare
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.rewriting.sentences import sentences

SAYS, CANNOT_TELL, DENIES = 1.0, 0.5, 0.0
CANDIDATES = 3
"""Sentences of one other answer that a sentence is compared with: those that share most words with it."""
SHORT = 3
"""Content words up to which two sentences may deny each other without sharing a word ("Paris." and "London.")."""
COMMON = 50
"""Sentences that one word points to at most; a word in more of them tells little."""
JUDGED = 200
"""Pairs that a judge is asked about at most; those of later sentences count as "cannot tell"."""


@dataclass(frozen=True, slots=True)
class Open:
    """A sentence and the nearest one of another answer, where the rules cannot tell."""

    claim: int
    other: int
    nearest: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A sentence in normal form."""

    text: str
    normal: Normal
    stems: frozenset[str]


@dataclass(frozen=True)
class _Other:
    """Another answer, with its words as an index: looking at every pair of sentences would cost the square of the length."""

    sentences: tuple[_Read, ...]

    @cached_property
    def where(self) -> dict[str, list[int]]:
        """The sentences that a word stands in."""
        found: dict[str, list[int]] = {}
        for i, sentence in enumerate(self.sentences):
            for word in sentence.stems:
                found.setdefault(word, []).append(i)
        return found

    @cached_property
    def short(self) -> list[_Read]:
        """Its first short sentences."""
        return [sentence for sentence in self.sentences if len(sentence.stems) <= SHORT][:CANDIDATES]

    def candidates(self, claim: _Read) -> list[_Read]:
        """The sentences that share most with a claim; beside a short claim without any, short ones."""
        shared = Counter(i for word in claim.stems for i in self.where.get(word, ())[:COMMON])
        best = sorted(shared, key=lambda i: (-shared[i], i))[:CANDIDATES]
        if not best and len(claim.stems) <= SHORT:
            return self.short
        return [self.sentences[i] for i in best]


class SentenceSupport:
    """Support of each sentence of a draft among other answers.

    Args:
        judge: decides whether two sentences mean the same where the rules cannot tell; None leaves it at that.
    """

    def __init__(self, judge: Judge | None = None) -> None:
        self._judge = judge

    async def measure(self, question: str, draft: str, others: Sequence[str]) -> list[float]:
        """Mean support of each sentence, in [0, 1], 1 = every other answer says it; a draft without sentences counts as one.

        Raises:
            StepFailed: `too_few_samples` where there is no other answer.
        """
        if not others:
            raise StepFailed("confidence", "too_few_samples", "the draft has no other answer to be compared with")
        scores, undecided = await anyio.to_thread.run_sync(by_rules, question, draft, others)
        if self._judge is not None and undecided:
            asked = undecided[:JUDGED]
            claims = _sentences(draft)
            texts = [text for pair in asked for text in (claims[pair.claim], pair.nearest)]
            pairs = [(2 * i, 2 * i + 1) for i in range(len(asked))]
            for pair, judgement in zip(asked, await self._judge.judge(question, texts, pairs), strict=True):
                if judgement.same:
                    scores[pair.claim][pair.other] = SAYS
        return [fmean(row) for row in scores]


def by_rules(question: str, draft: str, others: Sequence[str]) -> tuple[list[list[float]], list[Open]]:
    """Support by sentence and other answer as far as rules tell, and the pairs that they leave open, which stand at 1/2."""
    read = [_Other(_read(question, other)) for other in others]
    scores: list[list[float]] = []
    undecided: list[Open] = []
    for i, claim in enumerate(_read(question, draft)):
        row = []
        for k, other in enumerate(read):
            found, nearest = _support(claim, other)
            row.append(CANNOT_TELL if found is None else found)
            if found is None and nearest is not None:
                undecided.append(Open(i, k, nearest.text))
        scores.append(row)
    return scores, undecided


def _sentences(text: str) -> tuple[str, ...]:
    return sentences(text) or (text,)


def _read(question: str, text: str) -> tuple[_Read, ...]:
    normals = ((sentence, normalise(sentence, question)) for sentence in _sentences(text))
    return tuple(_Read(text, normal, frozenset(map(stem, normal.content))) for text, normal in normals)


def _support(claim: _Read, other: _Other) -> tuple[float | None, _Read | None]:
    """Whether an answer says, denies or does not speak of a sentence (None), and its nearest sentence. Saying it once outweighs all else."""
    near = other.candidates(claim)
    called = [(compare(claim.normal, sentence.normal).same, sentence) for sentence in near]
    if any(same for same, _ in called):
        return SAYS, None
    if any(same is False and _same_subject(claim, sentence) for same, sentence in called):
        return DENIES, None
    if len(claim.stems) >= SHORT and claim.stems <= other.where.keys() and all(same is None for same, _ in called):
        return SAYS, None  # in other sentences, word by word
    return None, near[0] if near else None


def _same_subject(a: _Read, b: _Read) -> bool:
    """Whether two sentences that contradict each other speak of one thing: half the words but the numbers are shared, or each is short.

    "Built in 1889" and "repainted in 1968" both have a tower and a year, and both may be true.
    """
    if max(len(a.stems), len(b.stems)) <= SHORT:
        return True
    left, right = a.stems - a.normal.numbers, b.stems - b.normal.numbers
    return 2 * len(left & right) >= max(1, min(len(left), len(right)))
