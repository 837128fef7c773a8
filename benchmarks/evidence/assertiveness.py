"""How far a small model fitted on the rated texts themselves would get on assertiveness: a probe, not a part of the product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import pearsonr, spearmanr
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold
from sklearn.preprocessing import StandardScaler

from benchmarks.fits.assertiveness import STYLE_SCALE, Floats, Rated, embedded, fit, linked, rated
from hedgerow.lexicon.perception.embedding_reader import perceived_by, style


def held_out(data: Rated, folds: BaseCrossValidator) -> Floats:
    """Ratings of texts as a ridge regression on words and style predicts them that saw none of their fold."""
    styles = np.array([style(text) for text in data.texts])
    predicted = np.zeros(data.ratings.size)
    for train, test in folds.split(data.texts, groups=data.sources if isinstance(folds, GroupKFold) else None):
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True)
        scaler = StandardScaler().fit(styles[train])
        seen = words.fit_transform([data.texts[i] for i in train])
        new = words.transform([data.texts[i] for i in test])
        x, z = (
            sparse.hstack([a, STYLE_SCALE * scaler.transform(styles[part])]).tocsr()
            for a, part in ((seen, train), (new, test))
        )
        predicted[test] = Ridge(1.0).fit(x, data.ratings[train]).predict(z)
    return predicted


def held_out_embedded(data: Rated, vectors: Floats, folds: BaseCrossValidator) -> Floats:
    """As `held_out`, on embeddings in place of words; penalty and weight of style as there."""
    styles = np.array([style(text) for text in data.texts])
    predicted = np.zeros(data.ratings.size)
    for train, test in folds.split(data.texts, groups=data.sources if isinstance(folds, GroupKFold) else None):
        scaler = StandardScaler().fit(styles[train])
        x, z = (np.hstack([vectors[part], STYLE_SCALE * scaler.transform(styles[part])]) for part in (train, test))
        predicted[test] = Ridge(1.0).fit(x, data.ratings[train]).predict(z)
    return predicted


def held_out_reader(data: Path, texts: Rated, vectors: Floats) -> Floats:
    """What the embedding reader perceives, fitted on the other sources."""
    link, means = linked(data, texts), np.zeros(texts.ratings.size)
    for train, test in GroupKFold(5).split(texts.texts, groups=texts.sources):
        weights = fit([texts.texts[i] for i in train], vectors[train], texts.ratings[train], link)
        means[test] = [perceived_by(weights, texts.texts[i], lambda i=i: vectors[i]).mean for i in test]
    return means


def table(data: Path, perceived: Floats) -> str:
    """Markdown rows: the reader as it is, then two probes with texts held out and with whole sources held out."""
    texts = rated(data)
    vectors = embedded(texts.texts)
    by_text, by_source = KFold(10, shuffle=True, random_state=0), GroupKFold(5)
    rows = {
        "`reader: local`, fitted on none of these": perceived,
        "`reader: embeddings`, whole sources held out": held_out_reader(data, texts, vectors),
        "probe: words and style, texts held out (10 folds)": held_out(texts, by_text),
        "probe: words and style, whole sources held out": held_out(texts, by_source),
        "probe: embeddings and style, texts held out": held_out_embedded(texts, vectors, by_text),
        "probe: embeddings and style, whole sources held out": held_out_embedded(texts, vectors, by_source),
    }
    return "\n".join(
        f"| {name} | {spearmanr(p, texts.ratings)[0]:.3f} | {pearsonr(p, texts.ratings)[0]:.3f} |"
        for name, p in rows.items()
    )
