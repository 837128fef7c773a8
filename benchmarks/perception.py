"""Perceived confidence on wordings that no choice has seen: what the hand-set vocabulary owes to having looked.

The words and fixed phrases of the vocabulary and their positions were set by authors who had looked at all the expressions. Here
both are taken back by rule, fold by fold: a word or phrase that occurs in no row of the fold's training set is struck out, and every position is
estimated anew from that set. No row of the benchmark is in any training set, and no row that shares its words of confidence with a tested one.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks.fit_lexicon import Floats, Row, fit, rows
from lexicon.cues import Cue, find_cues
from lexicon.features import features
from lexicon.model import logit, model
from lexicon.tokens import Token, tokenize
from lexicon.vocabulary import Vocabulary, vocabulary

KAPPA = 5.0  # weight of its class in the position of a cue, in single scores; not tuned
ENDS = (0.02, 0.98)  # scores of 0 and 1 have no logarithm of odds
HEAVIEST = 20.0  # a survey phrase weighs 60 scores in the fit; here it should not drown a class


@dataclass(frozen=True)
class Unseen:
    """Expressions of Tao et al. with what people heard and what models heard that knew less or more of them."""

    heard: Floats
    benchmark: Floats
    phrase: Floats
    by_shipped_words: Floats
    by_words_of_the_training_set: Floats
    by_nothing_seen: Floats


def restricted(training: Sequence[Sequence[Token]]) -> Vocabulary:
    """The shipped vocabulary less every word and phrase that the training set does not hold."""
    lines = [[token.word for token in tokens] for tokens in training]
    known = {word for line in lines for word in line}
    text = " | ".join(" ".join(line) for line in lines)
    book = vocabulary()

    def kept(values: Mapping[str, Any]) -> dict[str, Any]:
        return {word: value for word, value in values.items() if word in known}

    idioms = {
        first: tuple(e for e in entries if f" {' '.join(e[0])} " in f" {text} ")
        for first, entries in book.idioms.items()
    }
    return replace(
        book, negations=book.negations & known, quantified=book.quantified & known, factors=kept(book.factors),
        quantities=kept(book.quantities), bases=kept(book.bases), idioms={k: v for k, v in idioms.items() if v},
    )  # fmt: skip


def positions(cues: Iterable[Sequence[Cue]], chosen: Iterable[Row]) -> Callable[[Cue], float]:
    """Mean log-odds of the rows that hold a cue, drawn towards its class, and that towards all."""
    of_symbol: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    of_class: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row, inside in zip(chosen, cues, strict=True):
        odds = logit(min(max(row.score, ENDS[0]), ENDS[1]))
        for cue in inside:
            weight = min(row.weight, HEAVIEST) / len(inside) ** 2
            for sums in (of_symbol[cue.symbol], of_class[_class(cue)]):
                sums[0] += weight * odds
                sums[1] += weight
    total = sum(s for s, _ in of_class.values()) / sum(w for _, w in of_class.values())

    def place(cue: Cue) -> float:
        s, w = of_class.get(_class(cue), (0.0, 0.0))
        middle = (s + KAPPA * total) / (w + KAPPA)
        s, w = of_symbol.get(cue.symbol, (0.0, 0.0))
        return (s + KAPPA * middle) / (w + KAPPA)

    return place


def _class(cue: Cue) -> str:
    return f"neg.{cue.base}" if cue.symbol.startswith("neg") else cue.base


def unseen(data: Path) -> Unseen:
    """Predictions of every expression by three kinds of model, five folds by phrase."""
    chosen = rows(data)
    tokens = [tokenize(row.text) for row in chosen]
    _, phrase = np.unique([row.phrase for row in chosen], return_inverse=True)
    p = np.zeros((3, len(chosen)))
    for train, test in GroupKFold(5).split(phrase, groups=phrase):
        taught = [i for i in train if not chosen[i].benchmark]
        book = restricted([tokens[i] for i in taught])
        for row, (words, moved) in enumerate(((vocabulary(), False), (book, False), (book, True))):
            p[row, test] = _predicted(chosen, tokens, taught, test, words, moved=moved)
    keep = np.array([row.source == "tao" for row in chosen])
    y, bench = np.array([row.score for row in chosen]), np.array([row.benchmark for row in chosen])
    return Unseen(y[keep], bench[keep], phrase[keep], p[0, keep], p[1, keep], p[2, keep])


def unseen_survey(data: Path, folds: int = 7) -> tuple[Floats, Floats]:
    """(heard, predicted) of the survey phrases, bare, by models to whom nothing of them was shown: whole phrases held out."""
    chosen = rows(data)
    tokens = [tokenize(row.text) for row in chosen]
    phrases = sorted({row.phrase for row in chosen if row.source == "survey"})
    fold = {phrase: i % folds for i, phrase in enumerate(np.random.default_rng(0).permutation(phrases))}
    held = [fold[row.phrase] if row.source == "survey" else -1 for row in chosen]
    bare = [i for i, row in enumerate(chosen) if row.source == "survey" and row.text == row.phrase]
    predicted: dict[int, float] = {}
    for k in range(folds):
        train = [i for i, at in enumerate(held) if at != k]
        test = np.array([i for i in bare if held[i] == k])
        book = restricted([tokens[i] for i in train])
        predicted |= zip(test.tolist(), _predicted(chosen, tokens, train, test, book, moved=True), strict=True)
    return np.array([chosen[i].score for i in bare]), np.array([predicted[i] for i in bare])


def levels(data: Path) -> list[str]:
    """The level of confidence that the writer of each expression had been asked for, in the order of the file."""
    with gzip.open(data / "hedges" / "tao_expressions.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line)["llm_level"] for line in file]


def _predicted(
    chosen: Sequence[Row], tokens: Sequence[Sequence[Token]], train: Sequence[int], test: Floats, book: Vocabulary, *, moved: bool
) -> list[float]:  # fmt: skip
    cues = {i: find_cues(tokens[i], book) for i in (*train, *test)}
    if moved:
        place = positions([cues[i] for i in train], [chosen[i] for i in train])
        cues = {i: [replace(cue, value=place(cue)) for cue in inside] for i, inside in cues.items()}
    found = {i: features(tokens[i], inside, book) for i, inside in cues.items()}
    fitted = fit([found[i] for i in train], [chosen[i] for i in train], model().spread)
    return [fitted.mean(found[i]) for i in test]
