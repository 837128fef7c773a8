"""The model of perceived confidence: a logistic regression on features of a sentence, fitted on people's ratings.

Its features are the cues of the sentence and the words in and around them, without names and numbers, so a claim about
Paris sounds as sure as the same claim about Oslo. Its weights are data (`data/perception/perception.json`), made by
`python -m benchmarks.fits.lexicon`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log

from ...calibration import Beta
from ..hedges.loading import DATA
from ..text.words import Token
from .cues import Cue, Vocabulary, find_cues, vocabulary

LONGEST = 4
"""Largest number of words in a word feature."""

PLAIN_VALUE = 3.0
"""Value in logits of a plain assertion in the hand-set vocabulary; cue values are relative to it."""

NUMERIC_SCALE = 2.0
"""Scale of a numeric feature relative to an indicator, under the same L2 penalty."""

_MARKS = {",": ",", ";": ",", ":": ",", "—": ",", "–": ",", "?": "?", "!": "!"}
_BARRIER = "_"


def features(tokens: Sequence[Token], cues: Sequence[Cue], book: Vocabulary | None = None) -> dict[str, float]:
    """Features of a sentence by name; empty if it has no cue.

    Parameters
    ----------
    tokens : sequence of Token
        The sentence.
    cues : sequence of Cue
        What `find_cues` found in it.
    book : Vocabulary, optional
        The words that may stand inside a feature; the shipped ones where none is given.

    Returns
    -------
    dict of str to float
        "w:" words that overlap a cue (n-grams to length 4 that do not cross an unknown word), "s:" and "b:" the cues by symbol
        and by class, "ss:" and "bb:" neighbouring pairs of them, "#" numbers and marks.
    """
    if not cues:
        return {}
    present = _words(tokens, cues, book or vocabulary())
    bases = [_base(cue) for cue in cues]
    symbols = [cue.symbol for cue in cues]
    present.update((f"s:{symbol}", 1.0) for symbol in symbols)
    present.update((f"b:{base}", 1.0) for base in bases)
    present.update((f"ss:{a} {b}", 1.0) for a, b in itertools.pairwise(symbols))
    present.update((f"bb:{a} {b}", 1.0) for a, b in itertools.pairwise(bases))
    return present | _numbers(tokens, cues)


def _base(cue: Cue) -> str:
    return f"neg.{cue.base}" if cue.symbol.startswith("neg") else cue.base


def _words(tokens: Sequence[Token], cues: Sequence[Cue], book: Vocabulary) -> dict[str, float]:
    words = [token.word if book.knows(token.word) else _MARKS.get(token.word, _BARRIER) for token in tokens]
    telling = [book.cues(word) for word in words]
    covered = [False] * len(words)
    exact = {(cue.first, cue.last + 1) for cue in cues}
    for cue in cues:
        covered[cue.first : cue.last + 1] = [True] * (cue.last + 1 - cue.first)
    present: dict[str, float] = {}
    for start in range(len(words)):
        for stop in range(start + 1, min(start + LONGEST, len(words)) + 1):
            if words[stop - 1] == _BARRIER:
                break
            if (any(covered[start:stop]) and any(telling[start:stop])) or (start, stop) in exact:
                present["w:" + " ".join(words[start:stop])] = 1.0
    return present


def _numbers(tokens: Sequence[Token], cues: Sequence[Cue]) -> dict[str, float]:
    values = [cue.value - PLAIN_VALUE for cue in cues]
    words = {token.word for token in tokens}
    marks = {
        "#cue": True, "#two": len(cues) > 1, "#three": len(cues) > 2, "#question": "?" in words,
        "#but": not words.isdisjoint({"but", "though"}),
    }  # fmt: skip
    numbers = {"#min": min(values), "#mean": sum(values) / len(values), "#max": max(values)}
    return {name: NUMERIC_SCALE * value for name, value in (numbers | marks).items() if value}


@dataclass(frozen=True, slots=True)
class Model:
    """Fitted weights of the model.

    Attributes
    ----------
    intercept : float
        Logits.
    weights : mapping of str to float
        Logits per unit of a feature; a feature that is missing counts 0.
    spread : tuple of 3 floats
        Natural logarithm of the concentration as a quadratic of the mean: how much people agree on a phrase perceived at that mean.
    """

    intercept: float
    weights: Mapping[str, float]
    spread: tuple[float, float, float]

    def mean(self, present: Mapping[str, float]) -> float:
        """Perceived confidence of a sentence with these features, in (0, 1)."""
        weights = self.weights
        return 1.0 / (
            1.0 + exp(-self.intercept - sum(weights.get(name, 0.0) * value for name, value in present.items()))
        )

    def concentration(self, mean: float) -> float:
        """Concentration of the Beta at this mean; higher = people agree more."""
        constant, linear, square = self.spread
        return exp(constant + linear * mean + square * mean * mean)

    def beta(self, present: Mapping[str, float]) -> Beta:
        """The Beta of a sentence with these features."""
        mean = self.mean(present)
        return Beta.from_mean(mean, self.concentration(mean))


@cache
def model() -> Model:
    """The shipped model."""
    raw = json.loads((DATA / "perception" / "perception.json").read_text(encoding="utf-8"))
    constant, linear, square = raw["spread"]
    return Model(raw["intercept"], raw["weights"], (constant, linear, square))


def perceived(tokens: Sequence[Token]) -> Beta:
    """The confidence that readers perceive in words with at least one cue."""
    return model().beta(features(tokens, find_cues(tokens)))


def logit(mean: float) -> float:
    """Log-odds of a mean in (0, 1)."""
    return log(mean / (1.0 - mean))
