"""Ways to predict whether an answer is right from its confidence and its question, with one signature: columns, subjects, rows to learn from, to
choose on and to measure, a seed; probabilities of the rows to measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.evidence.regime_geometry import Answers, Training, grid, learn_field
from benchmarks.evidence.regime_smoothing import proxy, smooth
from hedgerow.calibration.maps.base import log_odds
from hedgerow.calibration.maps.nonparametric import IsotonicMap
from hedgerow.calibration.regimes.direct import DirectEstimator
from hedgerow.calibration.regimes.discovery import Columns
from hedgerow.calibration.regimes.features import find_centres, nearest

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Method = Callable[[Columns, NDArray[np.str_], Rows, Rows, Rows, int], Floats]
LIMIT = float(np.log(999.0))
COMPONENTS, LEVELS, ROUNDS = 48, 4, 60


def logistic(columns: Floats, y: Floats, penalty: Floats, offset: Floats | float = 0.0) -> Floats:
    """Penalised logistic regression by Newton's method."""
    at = np.zeros(columns.shape[1])
    for _ in range(12):
        p = special.expit(offset + columns @ at)
        hessian = columns.T @ (columns * (p * (1.0 - p))[:, None]) + np.diag(penalty + 1e-6)
        at = at - np.linalg.solve(hessian, columns.T @ (p - y) + penalty * at)
    return at


def _basis(confidence: Floats) -> Floats:
    return np.column_stack([log_odds(confidence, LIMIT), np.ones(confidence.size)])


def platt_on(of: Columns, learn: Rows, rows: Rows) -> Floats:
    """A Platt map learned on some rows, on others."""
    at = logistic(_basis(of.confidence[learn]), of.correct[learn], np.full(2, 1e-3))
    return np.asarray(special.expit(_basis(of.confidence[rows]) @ at))


def platt(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """One Platt map."""
    return platt_on(of, np.concatenate([train, chosen]), held)


def isotonic(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """The best non-decreasing map."""
    learn = np.concatenate([train, chosen])
    return IsotonicMap.learn(of.confidence[learn], of.correct[learn]).map.means(of.confidence[held])


def per_subject(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """A Platt map for each true subject."""
    learn, found = np.concatenate([train, chosen]), np.empty(held.size)
    for name in np.unique(subject):
        here = subject[held] == name
        found[here] = platt_on(of, learn[subject[learn] == name], held[here])
    return found


def embedding_logistic(
    of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int
) -> Floats:
    """Logistic regression on the embedding and the log-odds, penalty 1."""
    learn = np.concatenate([train, chosen])
    mean = of.x[learn].mean(axis=0)

    def columns(rows: Rows) -> Floats:
        return np.column_stack([of.x[rows] - mean, _basis(of.confidence[rows])]).astype(np.float64)

    penalty = np.append(np.ones(of.x.shape[1]), [1e-3, 1e-3])
    return np.asarray(special.expit(columns(held) @ logistic(columns(learn), of.correct[learn], penalty)))


def smoothing(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """Residuals of the Platt map, smoothed among embeddings; the bandwidth by validation."""
    base = {name: platt_on(of, train, rows) for name, rows in (("train", train), ("chosen", chosen), ("held", held))}
    residual = of.correct[train] - base["train"]

    def score(bandwidth: float) -> float:
        delta = smooth(of.x[chosen], of.x[train], residual, bandwidth=bandwidth).delta
        return proxy(base["chosen"], delta, of.correct[chosen])

    best = min((0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0), key=score)
    return np.clip(base["held"] + smooth(of.x[held], of.x[train], residual, bandwidth=best).delta, 0.0, 1.0)


def residual_ridge(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """Residuals of the Platt map, regressed linearly on the embedding; the penalty by validation."""
    mean = of.x[train].mean(axis=0)
    a, b, c = ((of.x[rows] - mean).astype(np.float64) for rows in (train, chosen, held))
    residual = of.correct[train] - platt_on(of, train, train)
    values, directions = np.linalg.eigh(a.T @ a)
    along = directions.T @ (a.T @ residual)
    base = platt_on(of, train, chosen)

    def weights(penalty: float) -> Floats:
        return np.asarray(directions @ (along / (values + penalty)))

    best = min((1.0, 3.0, 10.0, 30.0, 100.0), key=lambda p: proxy(base, b @ weights(p), of.correct[chosen]))
    return np.clip(platt_on(of, train, held) + c @ weights(best), 0.0, 1.0)


def trees(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """Boosted trees on principal components of the embedding and the confidence."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    learn = np.concatenate([train, chosen])
    mean = of.x[learn].mean(axis=0)
    directions = np.linalg.svd(of.x[learn] - mean, full_matrices=False)[2][:COMPONENTS].T

    def columns(rows: Rows) -> Floats:
        return np.column_stack([(of.x[rows] - mean) @ directions, of.confidence[rows]])

    model = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=200, max_leaf_nodes=8, min_samples_leaf=40, l2_regularization=5.0, early_stopping=True,
        random_state=seed,
    )  # fmt: skip
    return np.asarray(model.fit(columns(learn), of.correct[learn]).predict_proba(columns(held))[:, 1])


def multicalibrated(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """The Platt map, moved in turn where a group of questions at a level of probability is off most; stopped by validation."""
    rng = np.random.default_rng(seed)
    at = [find_centres(of.x[train], k, rng).at for k in (8, 16, 32)]
    parts = (train, chosen, held)
    groups = [[nearest(of.x[rows], centres) for centres in at] for rows in parts]
    p = [platt_on(of, train, rows) for rows in parts]
    best, kept = np.inf, p[2]
    for _ in range(ROUNDS):
        score = float(np.mean((p[1] - of.correct[chosen]) ** 2))
        if score < best:
            best, kept = score, p[2]
        edges = np.quantile(p[0], np.arange(1, LEVELS) / LEVELS)
        level = [np.searchsorted(edges, one) for one in p]
        cells = [(k, g, v) for k in range(len(at)) for g in range(len(at[k])) for v in range(LEVELS)]
        off = [
            float((of.correct[train] - p[0])[(groups[0][k] == g) & (level[0] == v)].sum()) / np.sqrt(train.size)
            for k, g, v in cells
        ]
        k, g, v = cells[int(np.argmax(np.abs(off)))]
        here = [(groups[i][k] == g) & (level[i] == v) for i in range(3)]
        step = float((of.correct[train] - p[0])[here[0]].sum() / (here[0].sum() + 20.0))
        p = [np.clip(one + step * where, 0.01, 0.99) for one, where in zip(p, here, strict=True)]
    return np.asarray(kept)


def local(of: Columns, subject: NDArray[np.str_], train: Rows, chosen: Rows, held: Rows, seed: int) -> Floats:
    """What this package learns."""
    learn = np.concatenate([train, chosen])
    rng = np.random.default_rng(seed)
    estimator = DirectEstimator(of.x[learn], of.confidence[learn], of.prompt[learn], rng)
    return estimator.fit(of.correct[learn]).corrected(of.x[held], of.confidence[held])


def learned_geometry(of: Columns, train: Rows, chosen: Rows, held: Rows) -> Floats:
    """The paper's method on the confidence as it came, with its architecture; a higher learning rate and fewer epochs than its own."""
    parts = [Answers.of(of.x[rows], of.confidence[rows], of.correct[rows]) for rows in (train, chosen)]
    quick = Training(learning_rate=3e-4, epochs=8, patience=4)
    field = learn_field(parts[0], parts[1], grid((0.5,), (1e-3,), quick))
    return field.corrected(of.x[held], of.confidence[held])


RIVALS: Mapping[str, Method] = {
    "Platt": platt, "isotonic": isotonic, "per subject": per_subject, "smoothing": smoothing, "residual ridge": residual_ridge,
    "trees": trees, "multicalibrated": multicalibrated, "logistic": embedding_logistic, "local": local,
}  # fmt: skip
