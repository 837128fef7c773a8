"""Fit proxy/clustering/prior.json on the development half of EVOUNA: `python -m benchmarks.fits.prior`."""

from __future__ import annotations

import json

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from benchmarks import DATA
from benchmarks.data.equivalence import evouna, is_development
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.clustering.prior import WEIGHTS, content_stems, in_context, overlap
from hedgerow.proxy.clustering.rules import judge_pair

PRECISION = 0.8
"""Least share of right merges among those that the prior makes, by ten-fold cross-validation."""


def undecided(rows: list[dict]) -> list[tuple[str, str, str, bool]]:
    """(question, gold, answer, verdict) where the rules call no gold the same and leave one undecided."""
    examples = []
    for row in rows:
        judged = [(judge_pair(row["question"], gold, row["answer"]), gold) for gold in row["gold"]]
        if not any(j.same for j, _ in judged):
            examples += [(row["question"], g, row["answer"], row["correct"]) for j, g in judged if j.same is None][:1]
    return examples


def main() -> None:
    pairs = undecided([row for row in evouna(DATA) if is_development(row)])
    encoder = OnnxEncoder(threads=2)
    features = []
    for at in range(0, len(pairs), 64):
        part = pairs[at : at + 64]
        gold, answer = (
            encoder([in_context(q, t) for q, t in texts])
            for texts in zip(*(((q, g), (q, a)) for q, g, a, _ in part), strict=True)
        )
        features += [
            [float(x @ y), overlap(content_stems(q, g), content_stems(q, a))]
            for x, y, (q, g, a, _) in zip(gold, answer, part, strict=True)
        ]
    x, y = np.array(features), np.array([verdict for *_, verdict in pairs])
    model = LogisticRegression(C=10).fit(x, y)
    held = cross_val_predict(LogisticRegression(C=10), x, y, cv=10, method="predict_proba")[:, 1]
    threshold = next(t for t in np.arange(0.5, 1.0, 0.05) if y[held >= t].mean() >= PRECISION)
    weights = {
        "fitted_on": f"EVOUNA (Natural Questions), even questions, answers of <= 8 words, {len(pairs)} undecided pairs",
        "bias": round(float(model.intercept_[0]), 4),
        "cosine": round(float(model.coef_[0, 0]), 4),
        "overlap": round(float(model.coef_[0, 1]), 4),
        "threshold": round(float(threshold), 2),
    }
    WEIGHTS.write_text(json.dumps(weights, indent=2) + "\n", encoding="utf-8")
    print(
        weights, f"cross-validated: {int(y[held >= threshold].sum())} of {int((held >= threshold).sum())} merges right"
    )


if __name__ == "__main__":
    main()
