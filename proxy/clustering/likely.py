"""Whether a long answer probably contains a short one: a logistic regression fitted on human verdicts.

For pairs that the rules leave undecided, one a sentence and the other a few words. It compares words and letters, so
that "Dmitri Mendeleev" is found in "Dmitry Mendeleev" and "the Normans" in "the Norman invasion", and loads no model.
Weights and threshold: `likely.json`, made by `benchmarks/fits/likely.py`.

The shipped judge is not used on pairs of answers. It merged answers that differ in what was asked, and answers that
know nothing; the confidence then separated right sentences from wrong ones less well (docs/judge.md).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp, log1p
from pathlib import Path

from ...lexicon.text.language import language_of
from ...lexicon.text.numbers import is_number
from ..computing import compute
from ..upstreams.asking import ClustererFactory, RouteContext
from .clusterer import Pair, judged
from .normal import read_question
from .rules import SHORT, Judgement, Read, alike, read

WEIGHTS = Path(__file__).with_name("likely.json")
PIECE = 4
"""Length of the character n-grams that words are compared by; the start of a word counts as a character."""
LOOKED_AT = 200
"""Number of words of a long answer that are read."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a short answer against a long one; shares in [0, 1].

    Attributes:
        held: share of its words that are, in any spelling, in the sentence with most of them.
        whole: share of its words that are anywhere in the long answer.
        letters: share of its words' n-grams that are anywhere in the long answer.
        number: one of its numbers is not in the sentence.
        denied: the sentence has a negation.
        named: it is a name.
        words: log(1 + its number of words).
    """

    held: float
    whole: float
    letters: float
    number: float
    denied: float
    named: float
    words: float


class LikelyPairs:
    """Decides pairs of a short and a long answer that the rules leave undecided; other pairs stay "undecided".

    Pairs that are not English count as "judge_language": the weights were fitted on English.
    """

    name = "likely"

    async def judge(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Compare the pairs in a worker thread."""
        return await compute(self.read, question, answers, pairs)

    def read(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Blocking version of `judge`."""
        asked = read_question(question)
        texts = {i: read(answers[i], asked) for pair in pairs for i in pair}
        english = {i for i in texts if language_of(answers[i], question) == "en"}
        return [judge(texts[a], texts[b]) if english >= {a, b} else Judgement(None, "judge_language") for a, b in pairs]


def suits(a: Read, b: Read) -> bool:
    """Whether one of two answers is short and the other is not."""
    return (len(a.whole.tokens) <= SHORT) != (len(b.whole.tokens) <= SHORT)


def judge(a: Read, b: Read) -> Judgement:
    """Whether the longer of two answers contains the shorter one, in similar words.

    Undecided unless one is short and the other is not.
    """
    if not suits(a, b):
        return Judgement(None, "undecided")
    short, long = sorted((a, b), key=lambda read: len(read.whole.tokens))
    chance = probability(short, long)
    return Judgement(chance >= _weights()["threshold"], "likely", 0.5 * chance)


def probability(short: Read, long: Read) -> float:
    """Probability in [0, 1] that people would say that a long answer contains a short one."""
    weights, figures = _weights(), asdict(features(short, long))
    return 1.0 / (1.0 + exp(-weights["constant"] - sum(weights[name] * value for name, value in figures.items())))


def features(short: Read, long: Read) -> Features:
    """The features of a short answer against a long one."""
    content = short.whole.content
    sentences = [(s, _share(content, s.tokens[:LOOKED_AT])) for s in long.opening or (long.whole,)]
    best, held = max(sentences, key=lambda s: s[1])
    tokens = long.whole.tokens[:LOOKED_AT]
    return Features(
        held=held,
        whole=_share(content, tokens),
        letters=_pieces_share([_pieces(word) for word in content], tokens),
        number=float(not short.whole.numbers <= best.numbers),
        denied=float(best.negations > 0),
        named=float(short.whole.is_name),
        words=log1p(len(content)),
    )


def _share(words: tuple[str, ...], tokens: tuple[str, ...]) -> float:
    every = frozenset(tokens)
    return sum(word in every or any(alike(word, other) for other in every) for word in words) / max(1, len(words))


def _pieces(word: str) -> frozenset[str]:
    """A word's character n-grams; a number is one piece."""
    if is_number(word):
        return frozenset((word,))
    marked = f"^{word}"
    return frozenset(marked[i : i + PIECE] for i in range(max(1, len(marked) - PIECE + 1)))


def _pieces_share(pieces: list[frozenset[str]], tokens: tuple[str, ...]) -> float:
    held = frozenset().union(*map(_pieces, tokens))
    return sum(len(piece & held) for piece in pieces) / max(1, sum(map(len, pieces)))


@cache
def _weights() -> dict[str, float]:
    fitted: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))["weights"]
    return fitted


def build(context: RouteContext) -> ClustererFactory:
    """A function that makes this judge for the clusterer."""
    return judged(LikelyPairs(), context)
