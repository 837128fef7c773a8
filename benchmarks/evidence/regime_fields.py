"""Miscalibration fields whose truth is known: three clusters and sinusoids, as arXiv 2605.13484 (appendix E) makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.plots import COLOURS, picture
from benchmarks.evidence.regime_geometry import Answers, Training, learn_field
from benchmarks.evidence.regime_smoothing import proxy, smooth

Floats = NDArray[np.float64]
N, FOLDS = 10_000, 5
WIDE = (0.4, 0.8, 1.2, 2.0)
AMPLITUDES, FREQUENCIES = (0.2, 0.4, 0.6, 0.8, 1.0), (1, 2, 3, 4, 5)
BANDWIDTHS, PENALTIES, LANDMARKS = (0.1, 0.2, 0.4, 0.8), (0.3, 1.0, 3.0, 10.0, 30.0, 100.0), 300
NARROW = (0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.8)


@dataclass(frozen=True, slots=True)
class Known:
    """Points, confidences, outcomes and the true field; 80 % to learn, 10 % to choose, 10 % to measure."""

    x: Floats
    f: Floats
    y: Floats
    delta: Floats

    @property
    def parts(self) -> tuple[slice, slice, slice]:
        """To learn, to choose, to measure."""
        return slice(0, 8 * N // 10), slice(8 * N // 10, 9 * N // 10), slice(9 * N // 10, N)


def _known(x: Floats, logit: Floats, shift: Floats, rng: np.random.Generator) -> Known:
    f, truth = special.expit(logit), special.expit(logit + shift)
    return Known(x, f, (rng.random(N) < truth).astype(float), truth - f)


def clusters(seed: int = 0) -> Known:
    """Three kinds of points, with a shift of -1, 0 and 1 in log-odds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, N)
    x = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.5]])[kind] + rng.normal(0, 0.6, (N, 2))
    return _known(x, x @ np.array([0.3, 0.2]) + rng.normal(0, 0.5, N), kind - 1.0, rng)


def sinusoid(amplitude: float, frequency: int, seed: int = 0) -> Known:
    """A shift of A sin(2 pi k u x) in log-odds over the unit square."""
    rng = np.random.default_rng([int(10 * amplitude), frequency, seed])
    x = rng.random((N, 2))
    logit = (x - 0.5) @ np.array([2.0, 1.0]) + rng.normal(0, 0.5, N)
    return _known(x, logit, amplitude * np.sin(2 * np.pi * frequency * (x @ np.ones(2)) / np.sqrt(2.0)), rng)


@dataclass(frozen=True, slots=True)
class Searched:
    """Every candidate's score (lower is better) and its correlation with the true field."""

    score: Floats
    correlation: Floats

    @property
    def chosen(self) -> float:
        """Correlation of the candidate that the score chooses."""
        return float(self.correlation[self.score.argmin()])

    @property
    def regret(self) -> float:
        """How far it stays behind the best candidate."""
        return float(self.correlation.max()) - self.chosen


def smoothed(known: Known, bandwidths: Sequence[float] = NARROW) -> Searched:
    """Residuals smoothed among the points themselves; scored by the corrected validation Brier score."""
    learn, choose, measure = known.parts
    residual, found = (known.y - known.f)[learn], []
    for bandwidth in bandwidths:
        on = [smooth(known.x[part], known.x[learn], residual, bandwidth=bandwidth).delta for part in (choose, measure)]
        found.append((proxy(known.f[choose], on[0], known.y[choose]), np.corrcoef(on[1], known.delta[measure])[0, 1]))
    return Searched(*np.array(found).T)


def ridges(known: Known, bandwidths: Sequence[float] = BANDWIDTHS) -> tuple[Searched, Searched]:
    """Kernel ridge regression of residuals; scored on the validation part, and by cross-validation."""
    learn, choose, measure = known.parts
    rng = np.random.default_rng(0)
    residual, fold = known.y - known.f, rng.permutation(8 * N // 10) % FOLDS
    landmarks = known.x[learn][rng.permutation(8 * N // 10)[:LANDMARKS]]
    rows: list[tuple[float, float, float]] = []
    for bandwidth in bandwidths:
        a, b, c = _features(known, landmarks, bandwidth)
        gram, moment = a.T @ a, a.T @ residual[learn]
        crossed = np.zeros(len(PENALTIES))
        for k in range(FOLDS):
            held = fold == k
            values, directions = np.linalg.eigh(gram - a[held].T @ a[held])
            along = directions.T @ (moment - a[held].T @ residual[learn][held])
            for i, penalty in enumerate(PENALTIES):
                crossed[i] += (
                    (residual[learn][held] - a[held] @ (directions @ (along / (values + penalty)))) ** 2
                ).sum()
        values, directions = np.linalg.eigh(gram)
        for i, penalty in enumerate(PENALTIES):
            weights = directions @ ((directions.T @ moment) / (values + penalty))
            validated = proxy(known.f[choose], b @ weights, known.y[choose])
            rows.append((validated, crossed[i], float(np.corrcoef(c @ weights, known.delta[measure])[0, 1])))
    validated, crossed, correlation = np.array(rows).T
    return Searched(validated, correlation), Searched(crossed, correlation)


def _features(known: Known, landmarks: Floats, bandwidth: float) -> list[Floats]:
    def kernel(points: Floats) -> Floats:
        return np.exp(-((points[:, None] - landmarks[None]) ** 2).sum(axis=2) / bandwidth**2)

    values, directions = np.linalg.eigh(kernel(landmarks))
    kept = values > 1e-6 * values.max()
    whitening = directions[:, kept] / np.sqrt(values[kept])
    return [kernel(known.x[part]) @ whitening for part in known.parts]


def network(known: Known) -> float:
    """Residual regression by a neural network (two layers of 128, early stopping): correlation with the true field."""
    import warnings

    from sklearn.neural_network import MLPRegressor

    learn, _, measure = known.parts
    model = MLPRegressor(
        hidden_layer_sizes=(128, 128), max_iter=40, early_stopping=True, n_iter_no_change=8, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may stop at its last epoch
        model.fit(known.x[learn], (known.y - known.f)[learn])
    predicted = model.predict(known.x[measure])
    return float(np.corrcoef(predicted, known.delta[measure])[0, 1]) if predicted.std() > 0 else 0.0


def geometry(known: Known, bandwidth: float = 0.4) -> float:
    """The paper's learned geometry; a higher learning rate and fewer epochs than its own."""
    learn, choose, measure = known.parts
    parts = [Answers.of(known.x[p], known.f[p], known.y[p]) for p in (learn, choose)]
    quick = Training(bandwidth=bandwidth, width=256, out=64, learning_rate=1e-3, epochs=8)
    field = learn_field(parts[0], parts[1], (quick,))
    return float(np.corrcoef(field.at(known.x[measure]).delta, known.delta[measure])[0, 1])


def synthetic() -> tuple[str, list[Goal]]:
    """The section, and its goals."""
    three = clusters()
    learned = geometry(three)
    ridge = ridges(three, WIDE)[1].chosen
    found = {(a, k): ridges(sinusoid(a, k)) for a in AMPLITUDES for k in FREQUENCIES}
    near = {(a, k): smoothed(sinusoid(a, k)) for a in AMPLITUDES for k in FREQUENCIES}
    networks = [network(sinusoid(1.0, k)) for k in FREQUENCIES]
    _plot([found[1.0, k][1].chosen for k in FREQUENCIES], [near[1.0, k].chosen for k in FREQUENCIES], networks)
    regrets = {
        "kernel ridge, validation": [one[0].regret for one in found.values()],
        "kernel ridge, cross-validation": [one[1].regret for one in found.values()],
        "smoothing, validation": [one.regret for one in near.values()],
    }
    text = [
        "### Fields whose truth is known", "",
        f"Three clusters, 10,000 points: correlation with the true field on held-out points: learned geometry {learned:.3f} (the paper's: .95), "
        f"smoothing {smoothed(three, WIDE).chosen:.3f}, kernel ridge on residuals {ridge:.3f}.", "",
        "Sinusoids: correlation of the kernel ridge that cross-validation chose, and its regret against the best of the 24 candidates, by amplitude A and frequency k:", "",
        f"| A \\ k | {' | '.join(map(str, FREQUENCIES))} |", "|---" * (len(FREQUENCIES) + 1) + "|",
        *(
            f"| {a} | " + " | ".join(f"{found[a, k][1].chosen:.2f} ({found[a, k][1].regret:.3f})" for k in FREQUENCIES) + " |"
            for a in AMPLITUDES
        ),
        "", "Median regret: " + "; ".join(f"{name} {np.median(values):.4f}" for name, values in regrets.items()) + " (the paper's: .008).", "",
        "Residual regression at A = 1, correlation for k = 1 to 5: by a neural network (two layers of 128) " + ", ".join(f"{r:.2f}" for r in networks)
        + "; by kernel ridge " + ", ".join(f"{found[1.0, k][1].chosen:.2f}" for k in FREQUENCIES)
        + ". What fails at high frequencies is the network, not the regression of residuals.", "",
        "![Correlation with the true field by frequency](regimes-fields.svg)",
    ]  # fmt: skip
    return "\n".join(text), [
        Goal("three clusters: correlation with the true field >= .95, learned geometry", Estimate(learned, learned, learned, N // 10), 0.95, at_least=True),
        Goal("three clusters: correlation >= .95, kernel ridge on residuals", Estimate(ridge, ridge, ridge, N // 10), 0.95, at_least=True),
        _median("sinusoids: median regret <= .008, kernel ridge chosen by the validation Brier score", regrets["kernel ridge, validation"]),
        _median("sinusoids: median regret <= .008, kernel ridge chosen by cross-validation", regrets["kernel ridge, cross-validation"]),
    ]  # fmt: skip


def _median(text: str, regrets: Sequence[float]) -> Goal:
    low, high = np.quantile(
        np.median(np.random.default_rng(0).choice(regrets, (1000, len(regrets))), axis=1), [0.025, 0.975]
    )
    return Goal(text, Estimate(float(np.median(regrets)), float(low), float(high), len(regrets)), 0.008, spec=".4f")


def _plot(ridge: Sequence[float], smoothing: Sequence[float], networks: Sequence[float]) -> None:
    with picture("regimes-fields") as axes:
        axis = axes[0][0]
        for number, (name, values) in enumerate(
            (
                ("kernel ridge on residuals", ridge),
                ("smoothing of residuals", smoothing),
                ("network on residuals", networks),
            )
        ):
            axis.plot(FREQUENCIES, values, label=name, color=COLOURS[number], marker="os^"[number])
        axis.set_ylim(-0.1, 1.0)
        axis.set_xlabel("frequency k (A = 1)")
        axis.set_ylabel("correlation with the true field")
        axis.legend(loc="lower left")
