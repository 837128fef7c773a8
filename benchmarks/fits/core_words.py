"""Fit proxy/clustering/core_words.json on the even questions of EVOUNA and report on the odd ones: `python -m benchmarks.fits.core_words`.

The words of right answers in full sentences, told by whether they stand in a right short answer; then pairs of answers to one question of which one
is a sentence: two right ones say the same, a right one and a wrong one do not, and two wrong ones that the rules do not call the same count as
different, because most are. Reported: how well the mean agreement of the other systems' sentences tells right sentences from wrong ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import astuple
from itertools import combinations, groupby

import numpy as np
from scipy.special import logit
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks import DATA
from benchmarks.data.equivalence import Row, evouna, is_development
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering import agreement
from hedgerow.proxy.clustering.agreement import WEIGHTS, read_asked, read_core
from hedgerow.proxy.clustering.normal import read_question
from hedgerow.proxy.clustering.rules import SHORT, compare_read, read

ALIKE = 0.25
"""Share of the pairs that the rules leave apart which say the same. On EVOUNA it is a half, for its systems are right three times in four; models are
asked harder questions, and then sentences of other groups would count too much beside the short answers that the rules tell apart."""
Figures = tuple[float, ...]
Pair = tuple[int, int, bool, Figures]
"""Two answers by their index among those of a question, whether the rules call them the same, and their figures."""


def is_sentence(row: Row) -> bool:
    """Whether an answer has more words than a short one."""
    return len(row["answer"].split()) > SHORT


def fit_words(rows: list[Row]) -> dict[str, float]:
    """Constant and weights of the words."""
    figures: list[Mapping[str, float]] = []
    answers: list[bool] = []
    for row in rows:
        if row["correct"] and is_sentence(row):
            asked, text = read_asked(row["question"]), row["answer"][: agreement.LOOKED_AT]
            right = frozenset().union(*(read_asked(gold).stems for gold in row["gold"]))
            own = list(agreement.own_words(text, list(agreement.words_of(text)), asked))
            if any(word.stem in right for word, _ in own):
                figures += [of_word for _, of_word in own]
                answers += [word.stem in right for word, _ in own]
    columns = DictVectorizer()
    model = LogisticRegression(max_iter=3000).fit(columns.fit_transform(figures), answers)
    return _rounded(model, list(columns.feature_names_))


def pairs_of(rows: list[Row]) -> list[Pair]:
    """The pairs of a question's answers of which one is a sentence."""
    question = rows[0]["question"]
    asked, of_rules = read_asked(question), read_question(question)
    cores = [read_core(row["answer"], asked) for row in rows]
    normal = [read(row["answer"], of_rules) for row in rows]
    return [
        (i, k, compare_read(normal[i], normal[k]).same is True, astuple(agreement.features(cores[i], cores[k])))
        for i, k in combinations(range(len(rows)), 2)
        if is_sentence(rows[i]) or is_sentence(rows[k])
    ]


def fit_pairs(questions: list[list[Row]]) -> dict[str, float]:
    """Constant and weights of the pairs that the rules do not call the same: where they do, nothing is asked."""
    figures, same = [], []
    for rows in questions:
        for i, k, by_rules, of_pair in pairs_of(rows):
            if not by_rules:
                figures.append(of_pair)
                same.append(bool(rows[i]["correct"] and rows[k]["correct"]))
    fitted = _rounded(LogisticRegression().fit(figures, same), list(agreement.AgreementFeatures.__slots__))
    rarer = float(logit(ALIKE) - logit(np.mean(same)))
    return fitted | {"constant": round(fitted["constant"] + rarer, 4)}


def _rounded(model: LogisticRegression, names: list[str]) -> dict[str, float]:
    weights = {"constant": model.intercept_[0], **dict(zip(names, model.coef_[0], strict=True))}
    return {name: round(float(weight), 4) for name, weight in weights.items()}


def consensus(questions: list[list[Row]], weights: Mapping[str, float]) -> dict[str, float]:
    """AUROC by which the mean agreement of the other sentences tells right sentences from wrong ones; by the rules alone, and by the fit."""
    by_rules, by_words, right = [], [], []
    for rows in questions:
        compared: dict[int, list[tuple[float, float]]] = {}
        for i, k, same, figures in pairs_of(rows):
            if is_sentence(rows[i]) and is_sentence(rows[k]):
                z = weights["constant"] + float(np.dot(list(weights.values())[1:], figures))
                likely = 1.0 if same else 1.0 / (1.0 + float(np.exp(-z)))
                for at in (i, k):
                    compared.setdefault(at, []).append((float(same), likely))
        for at, of_others in compared.items():
            rules, words = np.mean(of_others, axis=0)
            by_rules.append(rules)
            by_words.append(words)
            right.append(float(rows[at]["correct"]))
    figures = {"rules": auroc(by_rules, right), "rules, then words": auroc(by_words, right)}
    return {"n": len(right), **{name: round(float(value), 4) for name, value in figures.items()}}


def main() -> None:
    rows = evouna(DATA, words=None)
    fitted = {"words": fit_words([row for row in rows if is_development(row)])}
    _keep(fitted)
    by_question = [list(of) for _, of in groupby(rows, key=lambda row: row["question"])]
    fitted["pairs"] = fit_pairs([of for of in by_question if is_development(of[0])])
    odd = [of for of in by_question if not is_development(of[0])]
    report = {"fitted_on": "EVOUNA (Natural Questions), even questions", "odd": consensus(odd, fitted["pairs"])}
    _keep(fitted | report)
    print(json.dumps(fitted | report, indent=1))


def _keep(fitted: Mapping[str, object]) -> None:
    """Write what is fitted so far, for the next fit reads it."""
    WEIGHTS.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
