"""Fit proxy/clustering/asked_support.json on what a language model read in samples: `python -m benchmarks.fits.asked_claims [--check]`.

For some answers of long_form/graph_uncertainty_* the share of four samples (and the answer itself) that say each claim was published, as a
language model read them. It does not say which four; the words are measured against four at random. The words' own weights are one figure beside what
was read, so that few claims are enough. By folds of whole prompts.
"""

from __future__ import annotations

import json
import lzma
import random

import numpy as np

from benchmarks import DATA
from benchmarks.fits.claims import FOLDS, SETS, Claims, fit, folds, keep, subject
from benchmarks.fits.judged_claims import Words
from hedgerow.calibration.metrics import auroc
from hedgerow.proxy.clustering.asked_support import WEIGHTS, columns
from hedgerow.proxy.clustering.support import Features, features

READ = 4
NAMES = ("said", *Features.__slots__)


def _measure(row: dict, name: str):
    claims = [c for c in row["claims"] if c.get("from_answer", True) and c.get("sc_4samples") is not None]
    others = random.Random(row["id"]).sample(row["samples"], READ)
    if not claims:
        return
    measured = features(subject(row), [c["text"] for c in claims], others)
    for claim, words in zip(claims, measured, strict=True):
        if claim["label"] is not None:
            share = max(0.0, (claim["sc_4samples"] * (READ + 1) - 1.0) / READ)  # without the answer itself
            yield columns(share, READ, words), claim["label"], f"{name} {row['model']}", row["prompt_id"], READ


def read() -> Claims:
    """Every judged claim with a published reading."""
    rows = []
    for name in SETS[:2]:
        with lzma.open(DATA / "long_form" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                rows += _measure(json.loads(line), name)
    return Claims.of(rows)


def joined(features: np.ndarray, correct: np.ndarray, of_words: np.ndarray) -> np.ndarray:
    """Constant and weights of what was read and of the words, in the order of `NAMES`."""
    score = of_words[0] + features[:, 1:] @ of_words[1:]
    constant, of_read, scale = fit(np.column_stack([features[:, 0], score]), correct)
    return np.array([constant + scale * of_words[0], of_read, *(scale * of_words[1:])])


def held_out(claims: Claims, words: Words) -> np.ndarray:
    """Each claim's confidence by weights fitted on other prompts."""
    fold, of_words, confidence = folds(claims.prompt), folds(words.prompt), np.zeros(len(claims.correct))
    for k in range(FOLDS):
        seen = fold != k
        weights = joined(claims.features[seen], claims.correct[seen], words.fit(of_words != k))
        confidence[~seen] = 1.0 / (1.0 + np.exp(-weights[0] - claims.features[~seen] @ weights[1:]))
    return confidence


def main() -> None:
    claims, words = read(), Words.read()
    confidence = held_out(claims, words)
    table = {}
    for group in sorted(set(claims.group)):
        chosen = claims.group == group
        figures = [
            auroc(by[chosen], claims.correct[chosen])
            for by in (confidence, 1.0 / (1.0 + np.exp(-claims.features[:, 0])))
        ]
        table[group] = dict(zip(("fitted", "share alone"), (round(float(f), 3) for f in figures), strict=True))
        print(f"{group:40} n {chosen.sum()} AUROC {table[group]}")
    weights = joined(claims.features, claims.correct, words.fit(np.ones(len(words.correct), dtype=bool)))
    keep(
        WEIGHTS,
        dict(zip(("constant", *NAMES), weights, strict=True)),
        fitted_on="judged claims with a language model's reading of four samples, of " + ", ".join(SETS[:2]),
        claims=len(claims.correct),
        auroc_on_other_prompts=table,
    )


if __name__ == "__main__":
    main()
