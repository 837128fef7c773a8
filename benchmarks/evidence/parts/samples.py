"""The evidence's part on what samples buy: metrics against their number, and stopping when more would hardly matter."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import track

from benchmarks.data.answers import Answers, Columns, Floats, load_set
from benchmarks.evidence import goals, plots
from benchmarks.evidence.holding_out import DEFAULT, FITTED_ON, FOLDS, LEARNERS, Estimate, bootstrap, held_out, metric
from hedgerow.calibration import CalibrationMap
from hedgerow.calibration.beta import PARAMETER_FLOOR
from hedgerow.proxy.clustering.clusterer import cluster_by_rules
from hedgerow.proxy.clustering.normal import normalise
from hedgerow.proxy.config import Sampling
from hedgerow.proxy.grading.rules import alias_grade
from hedgerow.proxy.pipeline.sampling.early_stopping import StoppingRule, samples_wanted

SETS = ("TriviaQA, LLaMA-13B", "TriviaQA, gemma-2-2b")
ORDERS = 3
TOLERANCES = (0.05, 0.1, 0.15, 0.18, 0.2, 0.25, 0.3)
METRICS = {
    "generalised_ece": "generalised ECE",
    "faithfulness_divergence": "FD",
    "brier": "Brier of the mean",
    "auroc": "AUROC",
}
FEW = 9
"""The goal: with so many of 20."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Samples of a set in one random order (rows are questions): cluster and normal form of each by number, and whether each is right."""

    cluster: np.ndarray
    form: np.ndarray
    right: np.ndarray

    @property
    def budget(self) -> int:
        """Samples of a question."""
        return self.cluster.shape[1]

    def after(self, n: int, question: int) -> tuple[int, bool]:
        """Size of the largest cluster of the first n samples, and whether its commonest wording is right."""
        first = self.cluster[question, :n]
        best, size = _commonest(first)
        inside = np.flatnonzero(first == best)
        forms = self.form[question, inside]
        return size, bool(self.right[question, inside[np.argmax(forms == _commonest(forms)[0])]])

    def columns(self, sizes: np.ndarray) -> tuple[Columns, Floats]:
        """Raw Betas and outcomes where question i has `sizes[i]` samples."""
        by_count = [self.after(int(n), i) for i, n in enumerate(sizes)]
        largest = np.array([f[0] for f in by_count], np.float64)
        betas = np.maximum(largest, PARAMETER_FLOOR), np.maximum(sizes - largest, PARAMETER_FLOOR)
        return betas, np.array([f[1] for f in by_count], np.float64)


def _commonest(numbers: np.ndarray) -> tuple[int, int]:
    """The commonest number, the earliest among equals, and how often it stands there."""
    counts = np.bincount(numbers)
    most = counts.max()
    return int(numbers[np.argmax(counts[numbers] == most)]), int(most)


def drawn(answers: Answers) -> list[Drawn]:
    """The set in several orders. Clusters are those of all samples; fewer samples see their part of them."""
    columns: list[list[np.ndarray]] = [[], [], []]
    for case in track(answers.cases, f"{answers.name}: clusters", disable=not sys.stderr.isatty()):
        texts = [sample.text for sample in case.samples]
        ids = np.empty(len(texts), np.int64)
        for number, members in enumerate(cluster_by_rules(case.question, texts).clusters):
            ids[list(members)] = number
        gold = case.row["gold"] if case.row else []
        forms = np.unique([normalise(text, case.question).key for text in texts], return_inverse=True)[1]
        for column, values in zip(columns, (ids, forms, _graded(case.question, texts, gold)), strict=True):
            column.append(values)
    every, rng = [np.array(column) for column in columns], np.random.default_rng(0)
    orders = [np.argsort(rng.random(every[0].shape), axis=1) for _ in range(ORDERS)]
    return [Drawn(*(np.take_along_axis(column, order, 1) for column in every)) for order in orders]


def _graded(question: str, texts: Sequence[str], gold: Sequence[str]) -> np.ndarray:
    """Which samples are right, each wording graded once."""
    right = {text: alias_grade(question, text, gold).correct == 1.0 for text in set(texts)}
    return np.array([right[text] for text in texts])


def maps(one: Drawn) -> list[CalibrationMap]:
    """For each question the map that calibrates it, fitted on the whole budget of three other tenths."""
    betas, correct = one.columns(np.full(len(one.cluster), one.budget))
    fold = np.random.default_rng(0).permutation(correct.size) % FOLDS
    fitted = []
    for held in range(FOLDS):
        seen = np.isin(fold, [(held + step) % FOLDS for step in range(1, FITTED_ON + 1)])
        fitted.append(LEARNERS[DEFAULT]((betas[0] / (betas[0] + betas[1]))[seen], correct[seen]).map)
    return [fitted[f] for f in fold]


def stopped(one: Drawn, tolerance: float, of: list[CalibrationMap]) -> np.ndarray:
    """How many samples the rule draws for each question."""
    rule = StoppingRule(one.budget, first=min(Sampling().min_n, one.budget), batch=1, tolerance=tolerance)
    sizes = []
    for question, calibrated in enumerate(of):
        count = largest = 0
        while more := samples_wanted(rule, largest, count, lambda beta, m=calibrated: m.apply(beta).mean):
            count += more
            largest = one.after(count, question)[0]
        sizes.append(count)
    return np.array(sizes)


def _score(name: str, betas: Columns, correct: Floats) -> float:
    if name == "brier":
        return float(((betas[0] / (betas[0] + betas[1]) - correct) ** 2).mean())
    return metric(name, betas, correct)


def measured(orders: list[Drawn], sizes: list[np.ndarray]) -> dict[str, Estimate]:
    """Metrics after the held-out map, mean over the orders, questions resampled alike in all of them."""
    ready = []
    for one, drawn_each in zip(orders, sizes, strict=True):
        raw, correct = one.columns(drawn_each)
        ready.append((held_out(raw, correct), correct))

    def mean_of(name: str, rows: np.ndarray) -> float:
        return float(np.mean([_score(name, (b[0][rows], b[1][rows]), y[rows]) for b, y in ready]))

    n = len(orders[0].cluster)
    return {name: bootstrap([n], lambda rows, name=name: mean_of(name, rows[0])) for name in METRICS}


Curve = dict[float, dict[str, Estimate]]


def curves(answers: Answers) -> tuple[Curve, dict[float, tuple[float, dict[str, Estimate]]]]:
    """By the number of samples; and by tolerance: the mean number drawn, and the metrics."""
    orders = drawn(answers)
    n, budget = len(answers), orders[0].budget
    fixed: Curve = {}
    for size in track(range(1, budget + 1), f"{answers.name}: numbers", disable=not sys.stderr.isatty()):
        if size > 1:  # one sample agrees with itself: nothing to calibrate
            fixed[size] = measured(orders, [np.full(n, size)] * len(orders))
    of, adaptive = [maps(one) for one in orders], {}
    for tolerance in track(TOLERANCES, f"{answers.name}: stopping", disable=not sys.stderr.isatty()):
        sizes = [stopped(one, tolerance, m) for one, m in zip(orders, of, strict=True)]
        adaptive[tolerance] = (float(np.mean(sizes)), measured(orders, sizes))
    return fixed, adaptive


def table(fixed: Curve, adaptive: dict[float, tuple[float, dict[str, Estimate]]]) -> list[str]:
    """One line a number of samples, then one a tolerance."""
    lines = [f"| samples | {' | '.join(METRICS.values())} |", "|---" * (1 + len(METRICS)) + "|"]
    lines += [f"| {n} | {' | '.join(str(m[name]) for name in METRICS)} |" for n, m in fixed.items()]
    lines += [
        f"| stops at tolerance {t:g}: {cost:.1f} | {' | '.join(str(m[name]) for name in METRICS)} |"
        for t, (cost, m) in adaptive.items()
    ]
    return lines


def _draw(by_count: dict[str, tuple[Curve, dict[float, tuple[float, dict[str, Estimate]]]]]) -> None:
    with plots.picture("samples", columns=4, size=(4.0, 4.0)) as axes:
        for axis, (name, title) in zip(axes[0], METRICS.items(), strict=True):
            for (of, (fixed, adaptive)), colour, mark in zip(
                by_count.items(), plots.COLOURS, plots.MARKS, strict=False
            ):
                numbers = list(fixed)
                axis.plot(numbers, [fixed[n][name].value for n in numbers], color=colour, label=f"{of}, fixed")
                axis.fill_between(
                    numbers,
                    [fixed[n][name].low for n in numbers],
                    [fixed[n][name].high for n in numbers],
                    color=colour,
                    alpha=0.13,
                    linewidth=0,
                )
                axis.plot(
                    [cost for cost, _ in adaptive.values()],
                    [m[name].value for _, m in adaptive.values()],
                    color=colour,
                    marker=mark,
                    linestyle="none",
                    label=f"{of}, stopping",
                )
            axis.set(xlabel="samples a question (mean)", ylabel=title)
        axes[0, 0].set_ylim(0, None)
        axes[0, 1].set_ylim(0, None)
        axes[0, 3].legend(loc="lower right", fontsize=10)


def aims(fixed: Curve) -> list[goals.Goal]:
    """What holds with nine of twenty."""
    by_count, full, where = fixed[FEW], fixed[max(fixed)], f"{SETS[0]}, {FEW} of {max(fixed)}"
    ece, fd = (full[name].value for name in ("generalised_ece", "faithfulness_divergence"))
    closes = f"a sharper signal, not more samples: all give {fd:.3f}, and any calibrated confidence tends to 1/2 as it concentrates"
    return [
        goals.Goal(
            f"generalised ECE ≤ .06 at ≤ 9 of 20 samples ({where})",
            by_count["generalised_ece"],
            0.06,
            closes=f"more samples: all give {ece:.3f}",
        ),
        goals.Goal(
            f"FD ≤ .45 at ≤ 9 of 20 samples ({where})", by_count["faithfulness_divergence"], 0.45, closes=closes
        ),
    ]


def section(data: Path, limit: int | None = None) -> str:
    """The whole part; `limit` takes the first rows of every set only."""
    by_count = {name: curves(load_set(data, name, limit)) for name in SETS}
    _draw(by_count)
    lines = [
        "## Samples",
        "",
        f"Semantic signal, bounded Platt map fitted on 30 % at the same number of samples, held out; mean over {ORDERS} random orders of the samples. A question is right where the"
        " commonest wording of the largest cluster gives a gold answer by the alias rule, so it is not the same answer at every number. FD and generalised ECE also move with the concentration alone, which is the"
        " number of samples: of calibrated confidences the first rises towards 1/2 and the second falls. Brier score and AUROC tell what the samples were worth. Stopping: the rule of `proxy/pipeline/sampling/early_stopping.py` asks the map fitted on the whole budget whether"
        f" further samples would move the calibrated mean by more than the tolerance; routes have {StoppingRule(20).tolerance:g}. Intervals: 95 %, bootstrap over questions.",
        "",
        "![Metrics by number of samples](samples.svg)",
    ]
    for name, (fixed, adaptive) in by_count.items():
        lines += ["", f"### {name}", "", *table(fixed, adaptive)]
    return "\n".join([*lines, "", goals.table(aims(by_count[SETS[0]][0]))])
