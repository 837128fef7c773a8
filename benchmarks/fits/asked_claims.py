"""Fit what a language model says of claims beside the words: `python -m benchmarks.fits.asked_claims [--check]`.

Two files of weights (proxy/clustering/), each on judged claims of long_form/graph_uncertainty_* and of their samples:

asked_support.json: the share of four other answers that say a claim, as a language model read them. It was published for gpt-4's biographies and
gpt-3.5's facts; not which four, so the words are measured against four at random, and against nine.

stated_support.json: how sure the model that gave the answer says it is of each claim, asked once a claim. It was published for all six sets.

The words' own score is one figure beside these, so that few claims are enough. Reported by folds of whole prompts.
"""

from __future__ import annotations

import json
from statistics import fmean

import numpy as np

from benchmarks import DATA
from benchmarks.fits.claims import FOLDS, SETS, Beside, Claims, fit, folds, keep, models, read
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering import asked_support, stated_support
from hedgerow.proxy.clustering.support import NAMES, log_odds

COUNTS = (4, 9)
READ = 4
"""Other answers that the language model had read."""
WORDS = len(NAMES)


def said(claims: list[dict]) -> list[tuple[float]] | None:
    """The log-odds of the share that states each claim. The published share counts the answer itself."""
    if any(claim["sc_4samples"] is None for claim in claims):
        return None
    shares = (max(0.0, (claim["sc_4samples"] * (READ + 1) - 1.0) / READ) for claim in claims)
    return [(log_odds(share, READ),) for share in shares]


def stated(claims: list[dict]) -> list[tuple[float, float]]:
    """How sure the model says it is of each claim, and the mean of these; both in [0, 1]."""
    of_all = fmean(claim["verbal_conf"] for claim in claims)
    return [(claim["verbal_conf"], of_all) for claim in claims]


ASKED = {asked_support: said, stated_support: stated}
"""What is known beside the words, by the module that weighs it."""


def joined(features: np.ndarray, correct: np.ndarray, of_words: np.ndarray) -> np.ndarray:
    """Constant and weights of words and of the columns behind them: the words' own weights as one figure, and the columns beside it, so that few
    claims are enough.
    """
    score = of_words[0] + features[:, :WORDS] @ of_words[1:]
    constant, scale, *beside = fit(np.column_stack([score, features[:, WORDS:]]), correct.astype(float))
    return np.array([constant + scale * of_words[0], *(scale * of_words[1:]), *beside])


def probabilities(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What a logistic makes of features, (n,)."""
    return 1.0 / (1.0 + np.exp(-weights[0] - features @ weights[1:]))


def measured(beside: Beside) -> tuple[Claims, Claims]:
    """The judged claims for which it is known: of answers, and of answers and their samples."""
    of_answers = read(DATA, SETS[:2], COUNTS, beside=beside)
    return of_answers, of_answers.and_also(read(DATA, SETS[:2], COUNTS, of_samples=True, beside=beside))


def all_words() -> Claims:
    """All judged claims by words alone, with those of samples."""
    return read(DATA, counts=COUNTS).and_also(read(DATA, SETS[:2], COUNTS, of_samples=True))


def held_out(claims: Claims, known: Claims, words: Claims, *, other_models: bool = False) -> np.ndarray:
    """Each claim's confidence by weights fitted on other prompts; `other_models`: of other models than its own only."""
    fold, confidence = folds(claims.prompt), np.zeros(len(claims.correct))
    model = models(claims.group)
    for k in range(FOLDS):
        for name in set(model) if other_models else {""}:
            alone, beside = (
                of.where((folds(of.prompt) != k) & (not other_models or models(of.group) != name))
                for of in (words, known)
            )
            weights = joined(beside.features, beside.correct, fit(alone.features, alone.correct))
            here = (fold == k) & (not other_models or model == name)
            confidence[here] = probabilities(claims.features[here], weights)
    return confidence


def table(claims: Claims, **confidences: np.ndarray) -> dict[str, dict]:
    """AUROC by group and number of other answers."""
    rows = {}
    for group in sorted(set(claims.group)):
        for count in COUNTS:
            here = (claims.group == group) & (claims.count == count)
            figures = {name: round(float(auroc(c[here], claims.correct[here])), 3) for name, c in confidences.items()}
            rows[f"{group}, {count} others"] = {"n": int(here.sum())} | figures
    return rows


def main() -> None:
    words = all_words()
    of_words = fit(words.features, words.correct)
    for module, beside in ASKED.items():
        claims, known = measured(beside)
        rows = table(
            claims,
            other_prompts=held_out(claims, known, words),
            other_models=held_out(claims, known, words, other_models=True),
        )
        print(json.dumps(rows, indent=1))
        keep(
            module.WEIGHTS,
            dict(zip(("constant", *module.NAMES), joined(known.features, known.correct, of_words), strict=True)),
            fitted_on="judged claims of " + ", ".join(SETS[:2]),
            claims=int((known.count == COUNTS[-1]).sum()),
            auroc=rows,
        )


if __name__ == "__main__":
    main()
