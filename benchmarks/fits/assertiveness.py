"""Fit the embedding reader's figures: `python -m benchmarks.fits.assertiveness`. Deterministic; a minute; rewrites its data file.

A ridge regression of the assertiveness that people rated (Ghafouri et al.) on embeddings and style. The link to confidence comes from the
findings of Pei & Jurgens among those texts, which other people rated for certainty as well: a logistic regression of the one on the other.
"""

from __future__ import annotations

import csv
import gzip
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from benchmarks import DATA
from hedgerow.lexicon.hedges.loading import DATA as SHIPPED
from hedgerow.lexicon.perception.embedding_reader import Weights, style
from hedgerow.proxy.clustering.embeddings import OnnxEncoder

Floats = NDArray[np.float64]
STYLE_SCALE = 0.1  # weight of the nine style figures beside the words; not tuned


@dataclass(frozen=True)
class Rated:
    """Texts, how assertive people found them, and where they come from."""

    texts: list[str]
    ratings: Floats
    sources: list[str]


def rated(data: Path) -> Rated:
    """The texts of Ghafouri et al."""
    with gzip.open(data / "assertiveness" / "epistemic_integrity_train.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ratings = np.array([float(r["assertiveness"]) for r in rows])
    return Rated([r["text"] for r in rows], ratings, [r["source"] for r in rows])


def embedded(texts: list[str]) -> Floats:
    """Sentence embeddings by the int8 MiniLM of the extra `semantic`, one by one as the reader asks for them; half a minute or more."""
    encode = OnnxEncoder()
    return np.vstack([encode([text]) for text in texts]).astype(np.float64)


def fit(texts: list[str], vectors: Floats, ratings: Floats, link: tuple[float, float]) -> Weights:
    """Ridge with the penalty and the weight of style of the probes; the scaling of style goes into its weights."""
    styles = np.array([style(text) for text in texts])
    scaler = StandardScaler().fit(styles)
    fitted = Ridge(1.0).fit(np.hstack([vectors, STYLE_SCALE * scaler.transform(styles)]), ratings)
    width = vectors.shape[1]
    by_style = STYLE_SCALE * fitted.coef_[width:] / scaler.scale_
    return Weights(float(fitted.intercept_ - by_style @ scaler.mean_), fitted.coef_[:width], by_style, link)


def linked(data: Path, texts: Rated) -> tuple[float, float]:
    """Log-odds of certainty at a rating of 0 and by point, over the texts that were rated for both."""
    with (data / "assertiveness" / "pei_sentence_certainty.jsonl").open(encoding="utf-8") as file:
        certainty = {_bare(row["finding"]): (row["sentence-level-certainty"] - 1) / 5 for row in map(json.loads, file)}
    both = [(r, certainty[_bare(t)]) for t, r in zip(texts.texts, texts.ratings, strict=True) if _bare(t) in certainty]
    x, y = np.array(both).T
    labels = np.r_[np.ones(y.size), np.zeros(y.size)]
    fitted = LogisticRegression(C=1e6).fit(np.r_[x, x][:, None], labels, sample_weight=np.r_[y, 1 - y])
    return round(float(fitted.intercept_[0]), 4), round(float(fitted.coef_[0, 0]), 4)


def _bare(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def main() -> int:
    """Fit, and rewrite the data file."""
    texts = rated(DATA)
    fitted_weights = fit(texts.texts, embedded(texts.texts), texts.ratings, linked(DATA, texts))
    written = {
        "about": "made by benchmarks/fits/assertiveness.py from people's ratings (Ghafouri et al.; Pei & Jurgens); see docs/lexicon.md",
        "intercept": round(fitted_weights.intercept, 5),
        "link": list(fitted_weights.link),
        "style": fitted_weights.style.round(5).tolist(),
        "embedding": fitted_weights.embedding.round(4).tolist(),
    }
    (SHIPPED / "perception" / "assertiveness.json").write_text(json.dumps(written) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
