"""Fit proxy/clustering/asked_support.json on what a language model read in samples: `python -m benchmarks.fits.asked_claims [--check]`.

For some answers of long_form/graph_uncertainty_* the share of four samples (and the answer itself) that say each claim was published, as a
language model read them. It does not say which four; the words are measured against four at random. By folds of whole prompts.
"""

from __future__ import annotations

import json
import lzma
import random

import numpy as np

from benchmarks import DATA
from benchmarks.fits.claims import SETS, Claims, fit, held_out, keep, none_of, subject
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
    for claim, words in zip(claims, features(subject(row), [c["text"] for c in claims], others), strict=True):
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


def main() -> None:
    claims = read()
    confidence = held_out(claims, none_of(claims))
    table = {}
    for group in sorted(set(claims.group)):
        chosen = claims.group == group
        figures = [
            auroc(by[chosen], claims.correct[chosen])
            for by in (confidence, 1.0 / (1.0 + np.exp(-claims.features[:, 0])))
        ]
        table[group] = dict(zip(("fitted", "share alone"), (round(float(f), 3) for f in figures), strict=True))
        print(f"{group:40} n {chosen.sum()} AUROC {table[group]}")
    weights = fit(claims.features, claims.correct)
    keep(
        WEIGHTS,
        dict(zip(("constant", *NAMES), weights, strict=True)),
        fitted_on="judged claims with a language model's reading of four samples, of " + ", ".join(SETS[:2]),
        claims=len(claims.correct),
        auroc_on_other_prompts=table,
    )


if __name__ == "__main__":
    main()
