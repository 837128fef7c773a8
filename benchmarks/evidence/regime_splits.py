"""How ways to predict an answer fare on held-out answers: on one random split, and on all answers, each held out once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.regime_rivals import RIVALS, Rows
from benchmarks.evidence.regime_sets import Answers
from hedgerow.calibration.metrics.binned import ece_equal_width

Floats = NDArray[np.float64]
LEAST = 20
"""Held-out answers that a subject needs for its gap to count."""
FOLDS = 4
REFERENCE = ("Platt", "isotonic", "logistic", "smoothing", "per subject")
"""The simple methods."""


@dataclass(frozen=True, slots=True)
class Measured:
    """By method, squared errors of the held-out answers, the worst subject's gap and the ECE; the gap that outcomes drawn from the local map's
    probabilities would show; and which questions they are.
    """

    squared: dict[str, Floats]
    worst: dict[str, float]
    ece: dict[str, float]
    chance: float
    prompt: NDArray[np.int64]


def measure(answers: Answers, seed: int) -> Measured:
    """All methods on one random split: 60 % to learn, 15 % to choose, 25 % to measure."""
    n = answers.subject.size
    order = np.random.default_rng(seed).permutation(n)
    train, chosen, held = order[: int(0.6 * n)], order[int(0.6 * n) : int(0.75 * n)], order[int(0.75 * n) :]
    of, subject = answers.columns, answers.subject
    predicted = {name: method(of, subject, train, chosen, held, seed) for name, method in RIVALS.items()}
    return _judged(answers, held, predicted, seed)


def crossed(answers: Answers, seed: int = 0) -> Measured:
    """The simple methods and the local map on all answers, each predicted by what was learned from the other three quarters."""
    n = answers.subject.size
    order = np.random.default_rng(seed).permutation(n)
    predicted = {name: np.empty(n) for name in (*REFERENCE, "local")}
    for fold in range(FOLDS):
        held, learn = order[fold::FOLDS], np.delete(order, np.s_[fold::FOLDS])
        chosen, train = learn[: learn.size // 5], learn[learn.size // 5 :]
        for name, p in predicted.items():
            p[held] = RIVALS[name](answers.columns, answers.subject, train, chosen, held, seed)
    return _judged(answers, np.arange(n), predicted, seed)


def _judged(answers: Answers, held: Rows, predicted: dict[str, Floats], seed: int) -> Measured:
    """`predicted` are the probabilities of the rows in `held`."""
    y, subject = answers.columns.correct[held], answers.subject[held]
    names = predicted.items()
    return Measured(
        {name: (p - y) ** 2 for name, p in names},
        {name: _worst(p, y, subject) for name, p in names},
        {name: ece_equal_width(p, y) for name, p in names},
        _chance(predicted["local"], subject, seed),
        answers.columns.prompt[held],
    )


def _chance(p: Floats, subject: NDArray[np.str_], seed: int) -> float:
    """The worst subject's gap, on average, were these probabilities the true ones."""
    rng = np.random.default_rng(seed)
    return float(np.mean([_worst(p, (rng.random(p.size) < p).astype(float), subject) for _ in range(20)]))


def _worst(p: Floats, y: Floats, subject: NDArray[np.str_]) -> float:
    names, counts = np.unique(subject, return_counts=True)
    return max(abs(float((y - p)[subject == name].mean())) for name in names[counts >= LEAST])


def short(model: str) -> str:
    """A model's name in a table."""
    return model.replace("-Instruct", "").replace("-instruct", "").replace("Meta-", "").replace("-Turbo", "")


def mean(runs: list[Measured], get: Callable[[Measured], float]) -> float:
    """Of a figure over splits."""
    return float(np.mean([get(run) for run in runs]))


def brier(run: Measured, name: str) -> float:
    """Brier score of one method."""
    return float(run.squared[name].mean())


def difference(runs: list[Measured], name: str) -> Estimate:
    """Local minus another method, over all splits; a question's differences are averaged before they count once."""
    prompt = np.concatenate([run.prompt for run in runs])
    change = np.concatenate([run.squared["local"] - run.squared[name] for run in runs])
    names, place = np.unique(prompt, return_inverse=True)
    each = np.bincount(place, change) / np.bincount(place)
    error = 1.96 * float(each.std(ddof=1)) / np.sqrt(names.size)
    return Estimate(float(each.mean()), float(each.mean()) - error, float(each.mean()) + error, int(names.size))


def _ratio(a: Floats, b: Floats) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(a), (1000, len(a)))
    ratios = a[drawn].mean(axis=(1, 2)) / b[drawn].mean(axis=(1, 2))
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(a.mean() / b.mean()), float(low), float(high)


def best(runs: list[Measured]) -> str:
    """The simple method with the lowest Brier score on these very answers."""
    return min(REFERENCE, key=lambda name: mean(runs, partial(brier, name=name)))


def goal_of_models(measured: Mapping[str, list[Measured]], how: str = "") -> Goal:
    """Of each model, against the best of the simple methods on the same answers."""
    behind = [difference(runs, best(runs)) for runs in measured.values()]
    reached = sum(change.value <= 0.0 for change in behind)
    worst = max(behind, key=lambda change: change.value)
    return Goal(
        f"models of 12 whose Brier score is at most that of the best simple method (Platt, isotonic, logistic, smoothing, per subject){how}",
        Estimate(reached, sum(c.high <= 0.0 for c in behind), sum(c.low <= 0.0 for c in behind), 12), 12, at_least=True, spec=".0f",
        closes=f"the model farthest behind is so by {worst.value:+.4f} ({worst.low:+.4f} to {worst.high:+.4f})",
    )  # fmt: skip


def goal_of_gaps(measured: Mapping[str, list[Measured]], how: str = "", closes: str = "") -> Goal:
    """The worst subject's gap, against Platt's."""
    local, platt = (
        np.array([[run.worst[name] for run in runs] for runs in measured.values()]) for name in ("local", "Platt")
    )
    value, low, high = _ratio(local, platt)
    stands = Estimate(value, low, high, local.size)
    return Goal(f"worst subject's gap, local over Platt, mean of 12 models <= .5{how}", stands, 0.5, closes=closes)
