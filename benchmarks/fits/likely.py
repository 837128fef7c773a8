"""Fit proxy/clustering/likely.json on the even questions of EVOUNA and report on the odd ones: `python -m benchmarks.fits.likely`."""

from __future__ import annotations

import json
from dataclasses import astuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from benchmarks import DATA
from benchmarks.data.equivalence import Row, evouna, is_development
from hedgerow.proxy.clustering.likely import WEIGHTS, Features, features, suits
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.rules import compare_read, read

PRECISION = 0.967
"""Least precision of rules and logistic together, by folds of questions, at which the threshold is chosen: .96 and a margin."""
ROUNDS = 3
"""Fits, each on the right answer that the one before thinks likeliest; the first on the one with most letters held."""


class Pairs:
    """What the rules call the same, and the figures of the pairs that they leave undecided, with the row of each."""

    def __init__(self, rows: list[Row]) -> None:
        self.right = np.array([bool(row["correct"]) for row in rows])
        self.same = np.zeros(len(rows), dtype=bool)
        figures, of_row = [], []
        for at, row in enumerate(rows):
            asked = read_question(row["question"])
            answer, golds = read(row["answer"], asked), [read(gold, asked) for gold in row["gold"]]
            judged = [compare_read(gold, answer) for gold in golds]
            self.same[at] = any(j.same for j in judged)
            for gold, j in zip(golds, judged, strict=True):
                if not self.same[at] and j.same is None and suits(gold, answer):
                    figures.append(astuple(features(gold, answer)))
                    of_row.append(at)
        self.figures, self.of_row = np.array(figures), np.array(of_row)

    def fit(self, chosen: np.ndarray) -> LogisticRegression:
        """A logistic on the pairs of the chosen rows, one a row."""
        part = np.flatnonzero(chosen[self.of_row])
        score = self.figures[part, 2]
        for _ in range(ROUNDS):
            order = part[np.lexsort((-score, self.of_row[part]))]
            _, first = np.unique(self.of_row[order], return_index=True)
            model = LogisticRegression().fit(self.figures[order[first]], self.right[self.of_row[order[first]]])
            score = model.predict_proba(self.figures[part])[:, 1]
        return model

    def likeliest(self, model: LogisticRegression) -> np.ndarray:
        """The highest probability of any right answer, by row; 1 where the rules call it the same."""
        highest = self.same.astype(float)
        np.maximum.at(highest, self.of_row, model.predict_proba(self.figures)[:, 1])
        return highest


def scores(called: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1."""
    hit = int((called & right).sum())
    figures = {
        "precision": hit / called.sum(),
        "recall": hit / right.sum(),
        "f1": 2 * hit / (called.sum() + right.sum()),
    }
    return {"n": len(right), **{name: round(float(value), 4) for name, value in figures.items()}}


def main() -> None:
    rows = evouna(DATA, words=None)
    pairs, even = Pairs(rows), np.array([is_development(row) for row in rows])
    questions = np.array([row["question"] for row in rows])
    held = np.zeros(len(rows))
    for seen, apart in GroupKFold(5).split(rows, groups=questions):
        chosen = np.zeros(len(rows), dtype=bool)
        chosen[seen] = True
        held[apart] = pairs.likeliest(pairs.fit(chosen & even))[apart]
    tried = {float(t): scores(held[even] >= t, pairs.right[even]) for t in np.arange(0.3, 1.0, 0.01)}
    best = next(t for t, figures in tried.items() if figures["precision"] >= PRECISION)
    model = pairs.fit(even)
    weights = {
        "constant": float(model.intercept_[0]),
        **dict(zip(Features.__slots__, map(float, model.coef_[0]), strict=True)),
    }
    likeliest = pairs.likeliest(model)
    fitted = {
        "weights": {name: round(value, 4) for name, value in weights.items()} | {"threshold": round(best, 2)},
        "fitted_on": "EVOUNA (Natural Questions), even questions; the threshold by folds of them",
        "even, rules": scores(pairs.same[even], pairs.right[even]),
        "even, by folds": tried[best],
        "odd, rules": scores(pairs.same[~even], pairs.right[~even]),
        "odd": scores(likeliest[~even] >= round(best, 2), pairs.right[~even]),
    }
    WEIGHTS.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(fitted, indent=1))


if __name__ == "__main__":
    main()
