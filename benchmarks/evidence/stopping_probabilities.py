"""Adaptive sampling where the upstream gives log-probabilities (gemma2): does the likeliest wording's probability help to stop?

The confidence is that of share and token probability together, as on a route with `signal: combined`, and of the share alone. The weight of the
prior was chosen on the questions of one half; what stands here is the other. Platt maps are fitted on half of those and measured on
the rest, both ways, over random orders of the samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.data.equivalence import SAMPLE_SETS, Row, contains, exact, read
from hedgerow.proxy.pipeline.sampling.early_stopping import StoppingRule, samples_wanted

BUDGET = 10
ORDERS = 6
TOLERANCES = (0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True, slots=True)
class State:
    """What the first samples of a question say: size of the largest cluster, whether its first answer is right, its mean token
    probability and the probability of its likeliest wording.
    """

    largest: int
    right: bool
    token: float
    likelihood: float


def reported(data: Path) -> list[Row]:
    """The half of the questions that nothing was chosen on."""
    rows = read(data / SAMPLE_SETS["gemma2"])
    half = np.random.default_rng(0).integers(0, 2, len(rows))
    return [row for row, held in zip(rows, half, strict=True) if held]


def states(row: Row, order: np.ndarray) -> list[State]:
    """State after 1, 2, ... samples."""
    samples = [row["samples"][i] for i in order]
    keys = [exact(sample["text"]) for sample in samples]
    scores_of = []
    for n in range(1, BUDGET + 1):
        best = max(dict.fromkeys(keys[:n]), key=keys[:n].count)
        inside = [s for s, key in zip(samples[:n], keys, strict=False) if key == best]
        scores_of.append(
            State(
                len(inside),
                any(contains(gold, inside[0]["text"]) for gold in row["gold"]),
                float(np.mean([np.exp(min(s["logprob_mean"], 0.0)) for s in inside])),
                float(np.exp(min(0.0, max(s["logprob_sum"] for s in inside)))),
            )
        )
    return scores_of


def stop(path: list[State], rule: StoppingRule, *, with_probabilities: bool) -> int:
    """How many samples the rule draws."""
    drawn = largest = 0
    likelihood = None
    while more := samples_wanted(rule, largest, drawn, lambda beta: beta.mean, likelihood):
        drawn += more
        largest = path[drawn - 1].largest
        likelihood = path[drawn - 1].likelihood if with_probabilities else None
    return drawn


def _logit(p: np.ndarray) -> np.ndarray:
    bounded = np.clip(p, 0.02, 0.98)
    return np.log(bounded / (1 - bounded))


def brier(paths: list[list[State]], sizes: list[int]) -> np.ndarray:
    """Brier scores of the share alone and of share and token probability, after two-fold Platt maps."""
    at = [path[n - 1] for path, n in zip(paths, sizes, strict=True)]
    right = np.array([s.right for s in at], float)
    share = _logit(np.array([s.largest / n for s, n in zip(at, sizes, strict=True)]))
    token, fold = _logit(np.array([s.token for s in at])), np.arange(len(at)) % 2
    scores = []
    for features in (share[:, None], np.column_stack([share, token])):
        lost = np.empty_like(right)
        for held in (0, 1):
            model = LogisticRegression(C=1e6).fit(features[fold != held], right[fold != held])
            lost[fold == held] = (model.predict_proba(features[fold == held])[:, 1] - right[fold == held]) ** 2
        scores.append(lost.mean())
    return np.array(scores)


def table(data: Path) -> str:
    """Fixed numbers, then the rule without and with probabilities."""
    rows, rng = reported(data), np.random.default_rng(1)
    orders = [[states(row, rng.permutation(BUDGET)) for row in rows] for _ in range(ORDERS)]
    fixed = {n: np.mean([brier(paths, [n] * len(rows)) for paths in orders], axis=0) for n in range(2, BUDGET + 1)}
    full, curve = fixed[BUDGET], np.array(list(fixed.values()))
    lines = [
        f"n = {len(rows)} questions.",
        "",
        "| rule | samples, mean | share: Brier | fixed n at the same cost | against all samples | share and token: Brier | fixed n at the same cost | against all samples |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for n in (2, 3, 5, 7, 10):
        alone, both = fixed[n]
        lines.append(
            f"| fixed {n} | {n} | {alone:.4f} | | {alone / full[0] - 1:+.1%} | {both:.4f} | | {both / full[1] - 1:+.1%} |"
        )
    for helped, name in ((False, "counts alone"), (True, "with probabilities")):
        for tolerance in TOLERANCES:
            rule = StoppingRule(BUDGET, tolerance=tolerance)
            sizes = [[stop(path, rule, with_probabilities=helped) for path in paths] for paths in orders]
            cost = float(np.mean(sizes))
            scores_of = np.mean([brier(paths, n) for paths, n in zip(orders, sizes, strict=True)], axis=0)
            cells = [
                f"{scores_of[i]:.4f} | {np.interp(cost, list(fixed), curve[:, i]):.4f} | {scores_of[i] / full[i] - 1:+.1%}"
                for i in (0, 1)
            ]
            lines.append(f"| {name}, tolerance {tolerance:g} | {cost:.1f} | {' | '.join(cells)} |")
    return "\n".join(lines)
