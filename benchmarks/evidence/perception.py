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
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

from benchmarks.fits.lexicon import Floats, Row, fit, rows
from hedgerow.lexicon.perception.cues import Cue, Vocabulary, find_cues, vocabulary
from hedgerow.lexicon.perception.model import features, logit, model
from hedgerow.lexicon.text.words import Token, tokenize

KAPPA = 5.0  # L2 penalty of what a part adds, in single scores; not tuned
ENDS = (0.02, 0.98)  # scores of 0 and 1 have no logarithm of odds
HEAVIEST = 20.0  # a survey phrase weighs 60 scores in the fit; here it should not drown a class


@dataclass(frozen=True)
class Unseen:
    """Expressions of Tao et al. with what people perceived and what models perceived that knew less or more of them."""

    perceived: Floats
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
    """Log-odds at which cues stand, as the sum of what their parts add: class, modifiers, and the whole; ridge regression on the rows."""
    cued = [(inside, row) for inside, row in zip(cues, chosen, strict=True) if inside]
    parts = DictVectorizer()
    x = parts.fit_transform([_parts(inside) for inside, _ in cued])
    odds = [logit(min(max(row.score, ENDS[0]), ENDS[1])) for _, row in cued]
    weights = [min(row.weight, HEAVIEST) / len(inside) for inside, row in cued]
    fitted = Ridge(KAPPA).fit(x, odds, sample_weight=weights)
    added = dict(zip(parts.get_feature_names_out().tolist(), fitted.coef_.tolist(), strict=True))
    return lambda cue: fitted.intercept_ + sum(added.get(part, 0.0) for part in _parts([cue]))


def _parts(cues: Sequence[Cue]) -> dict[str, float]:
    """The parts of cues by name; several cues share one vote."""
    cue_features: dict[str, float] = defaultdict(float)
    for cue in cues:
        said = "neg" if cue.symbol.startswith("neg") else "as said"
        names = {f"all {cue.symbol}", f"{said} {cue.base}"} | {f"{said} part {part}" for part in cue.symbol.split(".")}
        for name in sorted(names):
            cue_features[name] += 1.0 / len(cues)
    return cue_features


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


def unseen_survey(data: Path, folds: int = 7) -> tuple[Floats, Floats, Floats]:
    """(perceived, predicted, predicted) of the survey phrases, bare, whole phrases held out.

    First with the shipped words, whose class is known and whose position is estimated from the training set; then without the words
    that the training set does not hold.
    """
    chosen = rows(data)
    tokens = [tokenize(row.text) for row in chosen]
    phrases = sorted({row.phrase for row in chosen if row.source == "survey"})
    fold = {phrase: i % folds for i, phrase in enumerate(np.random.default_rng(0).permutation(phrases))}
    held = [fold[row.phrase] if row.source == "survey" else -1 for row in chosen]
    bare = [i for i, row in enumerate(chosen) if row.source == "survey" and row.text == row.phrase]
    p = np.zeros((2, len(chosen)))
    for k in range(folds):
        train = [i for i, at in enumerate(held) if at != k]
        test = np.array([i for i in bare if held[i] == k])
        for row, book in enumerate((vocabulary(), restricted([tokens[i] for i in train]))):
            p[row, test] = _predicted(chosen, tokens, train, test, book, moved=True)
    return np.array([chosen[i].score for i in bare]), p[0, bare], p[1, bare]


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
    cue_features = {i: features(tokens[i], inside, book) for i, inside in cues.items()}
    fitted = fit([cue_features[i] for i in train], [chosen[i] for i in train], model().spread)
    return [fitted.mean(cue_features[i]) for i in test]
