"""Adaptive sampling against fixed numbers of samples: Brier score of the calibrated mean, beside the samples it cost.

For every number of samples, and for every rule, a Platt map is fitted on one half of the questions and measured on the other, both ways,
over ten random orders of the samples. The adaptive rule's own map is the one fitted on what it stopped with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.data.equivalence import SAMPLE_SETS, contains, exact, read
from hedgerow.calibration import Beta
from hedgerow.proxy.pipeline.sampling.early_stopping import StoppingRule, samples_wanted

TOLERANCES = (0.02, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35)
ORDERS = 10


def answers(data: Path, name: str) -> list[tuple[list[str], list[bool]]]:
    """Normal forms of the samples, and whether each is right on the surface, one pair a question."""
    rows = read(data / SAMPLE_SETS[name])
    return [
        (
            [exact(s["text"]) for s in r["samples"]],
            [any(contains(g, s["text"]) for g in r["gold"]) for s in r["samples"]],
        )
        for r in rows
    ]


def state(keys: list[str], right: list[bool], n: int) -> tuple[int, bool]:
    """Size of the largest cluster of the first n samples, and whether its first sample is right."""
    counts: dict[str, int] = {}
    for key in keys[:n]:
        counts[key] = counts.get(key, 0) + 1
    best = max(counts, key=counts.__getitem__)
    return counts[best], right[keys.index(best)]


def _logit(largest: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    mean = np.clip(largest / drawn, 0.02, 0.98)
    return np.log(mean / (1 - mean))[:, None]


def brier(results: np.ndarray, halves: np.ndarray) -> float:
    """Two-fold Brier score of Platt-calibrated shares; rows are (largest, drawn, right)."""
    scores = []
    for half in (0, 1):
        fit, held = results[halves != half], results[halves == half]
        model = LogisticRegression(C=1e6).fit(_logit(fit[:, 0], fit[:, 1]), fit[:, 2])
        scores.append((model.predict_proba(_logit(held[:, 0], held[:, 1]))[:, 1] - held[:, 2]) ** 2)
    return float(np.concatenate(scores).mean())


def adaptive(
    keys: list[str], right: list[bool], rule: StoppingRule, mean: Callable[[Beta], float]
) -> tuple[int, int, bool]:
    """(largest, drawn, right) where the rule stops."""
    drawn = largest = 0
    correct = False
    while more := samples_wanted(rule, largest, drawn, mean):
        drawn += more
        largest, correct = state(keys, right, drawn)
    return largest, drawn, correct


def curves(data: Path, name: str) -> tuple[dict[int, float], dict[float, tuple[float, float]]]:
    """Fixed n -> Brier; tolerance -> (mean samples, Brier)."""
    questions = answers(data, name)
    budget = len(questions[0][0])
    rng = np.random.default_rng(0)
    halves = rng.integers(0, 2, len(questions))
    orders = [[rng.permutation(budget) for _ in questions] for _ in range(ORDERS)]
    shuffled = [
        [([k[i] for i in o], [r[i] for i in o]) for (k, r), o in zip(questions, order, strict=True)] for order in orders
    ]
    fixed = {}
    for n in range(2, budget + 1):
        runs = [np.array([(*state(k, r, n)[:1], n, state(k, r, n)[1]) for k, r in run], float) for run in shuffled]
        fixed[n] = float(np.mean([brier(run, halves) for run in runs]))
    by_tolerance = {}
    for tolerance in TOLERANCES:
        rule = StoppingRule(budget, first=min(3, budget), batch=1, tolerance=tolerance)
        runs = [np.array([adaptive(k, r, rule, lambda b: b.mean) for k, r in run], float) for run in shuffled]
        by_tolerance[tolerance] = (
            float(np.mean([run[:, 1].mean() for run in runs])),
            float(np.mean([brier(run, halves) for run in runs])),
        )
    return fixed, by_tolerance


def table(data: Path, name: str) -> str:
    fixed, by_tolerance = curves(data, name)
    lines = [
        "| rule | samples, mean | Brier | fixed n at the same cost | against all samples |",
        "|---|---|---|---|---|",
    ]
    ns, scores, full = list(fixed), list(fixed.values()), fixed[max(fixed)]
    lines += [
        f"| fixed {n} | {n} | {fixed[n]:.4f} | | {fixed[n] / full - 1:+.1%} |" for n in ns if n in (3, 5, 7, 10, 14, 20)
    ]
    for tolerance, (cost, score) in by_tolerance.items():
        lines.append(
            f"| tolerance {tolerance} | {cost:.1f} | {score:.4f} | {np.interp(cost, ns, scores):.4f} | {score / full - 1:+.1%} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    from benchmarks import DATA

    for name in ("llama13b", "gemma2"):
        print(f"\n{name}\n\n{table(DATA, name)}")
