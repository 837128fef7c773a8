"""The evidence's part on labels: which answers to ask a verdict on, so that few verdicts make the map that many drawn at random would make."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from benchmarks.data.equivalence import SAMPLE_SETS
from benchmarks.evidence import goals, plots
from benchmarks.evidence.designs import least_share
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from hedgerow.calibration.asking import levels, spread
from hedgerow.calibration.errors import CalibrationError
from hedgerow.calibration.maps.base import CalibrationMap, log_odds
from hedgerow.calibration.maps.learning import isotonic_regression
from hedgerow.calibration.maps.parametric import UNANIMITY, BoundedPlattMap
from hedgerow.proxy.lab.adaptive_rows import read_drawn
from hedgerow.proxy.lab.rows import read_rows

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Set = tuple[Floats, Floats]
"""Raw confidences and outcomes."""
SAMPLED = {
    "TriviaQA, gemma-2-2b": SAMPLE_SETS["gemma2"],
    "Maths, Mistral-7B": SAMPLE_SETS["maths, Mistral"],
    "TriviaQA, LLaMA-13B": SAMPLE_SETS["llama13b"],
    "Maths, Llama-3.1-8B": SAMPLE_SETS["maths, Llama"],
    "TriviaQA, Llama": "samples/balanced/triviaqa_BALANCED__llama.jsonl.gz",
}
STATED = ("gpt-4o-mini-2024-07-18", "claude-3-haiku-20240307", "Llama-3.2-3B-Instruct")
CHOSEN_ON = ("TriviaQA, gemma-2-2b", "Maths, Mistral-7B", "MMLU-Pro, gpt-4o-mini-2024-07-18")
"""Sets that were looked at while the ways of asking were chosen; the goal is judged on the others."""
REPEATS = 50
FIRST, STEP, MOST, POOL = 10, 10, 150, 1000
AT = (50, 100)
"""Random labels whose Brier score is to be reached."""
RESAMPLES = 200


def _random(x: Floats, p: Floats, asked: Indices, lot: Floats) -> Indices:
    return _first(lot, asked)


def _uncertain(x: Floats, p: Floats, asked: Indices, lot: Floats) -> Indices:
    return _first(np.abs(p - 0.5) + 1e-9 * lot, asked)


def _half_uncertain(x: Floats, p: Floats, asked: Indices, lot: Floats) -> Indices:
    drawn = _random(x, p, asked, lot)[: STEP // 2]
    return np.concatenate([drawn, _uncertain(x, p, np.concatenate([asked, drawn]), lot)[: STEP - drawn.size]])


def _d_optimal(x: Floats, p: Floats, asked: Indices, lot: Floats) -> Indices:
    """One by one where the map's parameters would become surest: the largest p(1-p) z'F^-1 z (Chernoff 1953; Settles 2009, 3.4)."""
    columns, weight = np.column_stack([x, np.ones_like(x)]), p * (1.0 - p)
    information = (columns[asked].T * weight[asked]) @ columns[asked] + np.eye(2)
    chosen: list[int] = []
    free = np.ones(x.size, bool)
    free[asked] = False
    for _ in range(STEP):
        value = weight * np.einsum("ij,ij->i", columns @ np.linalg.inv(information), columns) * (1.0 + 1e-9 * lot)
        best = int(np.where(free, value, -1.0).argmax())
        chosen.append(best)
        free[best] = False
        information += weight[best] * np.outer(columns[best], columns[best])
    return np.array(chosen)


def _spread(x: Floats, p: Floats, asked: Indices, lot: Floats) -> Indices:
    done = np.zeros(x.size, bool)
    done[asked] = True
    return spread(levels((x - x.min()) / max(float(np.ptp(x)), 1e-9)), done, lot)


WAYS: Mapping[str, Callable[[Floats, Floats, Indices, Floats], Indices]] = {
    "random": _random,
    "spread": _spread,
    "D-optimal": _d_optimal,
    "half random, half near one half": _half_uncertain,
}


def section(data: Path) -> str:
    """The part."""
    sets = {name: _sampled(data / path) for name, path in SAMPLED.items()} | _stated(data / "regimes")
    curves = {name: _curves(one) for name, one in sets.items()}
    least = {name: _least(one) for name, one in sets.items()}
    _draw(curves)
    chosen = {name: curves[name] for name in curves if name in CHOSEN_ON}
    reported = {name: curves[name] for name in curves if name not in CHOSEN_ON}
    return "\n\n".join(
        [
            HEAD,
            "![Brier score by labels](labels.svg)",
            "### Sets that nothing was chosen on",
            _table(reported, least),
            "### Sets that were looked at while choosing",
            _table(chosen, least),
            _goals(reported, least),
        ]
    )


HEAD = f"""## Which answers to ask a verdict on

A map (`platt-bounded`, the default) is learned from {FIRST} labels drawn at random and then from {STEP} more at a time, asked for in one of these ways; its Brier score is that on the other half of the set. {REPEATS} repetitions, each with a split
of its own (at most {POOL:,} answers to ask about), the same for all ways.

*Spread*: each level of confidence as often as it occurs, within a level by lot. *D-optimal*: where the variance of the map's two parameters falls most (p(1-p) z'F⁻¹z, one by one). *Half random*: every second
one by lot, the others where the map is least sure, as the queue's order `mixed` does. Tried on the sets below that were looked at, and no better there: I-optimal (the expected variance of the map's means over the set), the same levels in equal numbers, drawing with probabilities by
leverage with weighted fits, and a fit that is drawn towards the map of another model on such questions, by a fixed strength or as far as the labels bear it out: few labels do where that map is right, and more are needed where it is not.

A figure says how many labels a way needs to reach what so many random ones reach, on average curves made monotone, as a share of those; 95 % interval: bootstrap over repetitions, paired. 1 = no better than random; below 1 = fewer labels.

*Least possible*: what the best of all ways of choosing would need, were the map's form right and its parameters known beforehand, for many labels (the design that minimises the expected excess of the
Brier score, tr(AM⁻¹)). A wrong form or few labels can move a measured share to either side of it."""


def _least(one: Set) -> float:
    mean, y = one
    return least_share(log_odds(mean, UNANIMITY), _learned(mean, y).means(mean))


def _sampled(path: Path) -> Set:
    """Share of the largest group of answers, and whether its first answer is right."""
    rows = anyio.run(read_drawn, read_rows(path), "rules").rows
    found: list[tuple[float, float]] = []
    for row in rows:
        cluster = np.array(row.cluster)
        size = np.bincount(cluster)
        draft = int(np.flatnonzero(size[cluster] == size.max())[0])
        right = row.right[draft]
        if right is not None:
            found.append((size.max() / cluster.size, float(right)))
    columns = np.array(found)
    return np.clip(columns[:, 0], 1e-6, 1.0 - 1e-6), columns[:, 1]


def _stated(folder: Path) -> dict[str, Set]:
    rows: dict[str, list[tuple[float, float]]] = {model: [] for model in STATED}
    with lzma.open(folder / "mmlu_pro_confidences.csv.xz", "rt", encoding="utf8") as lines:
        for row in csv.DictReader(lines):
            if row["conf_verbal"] and row["model"] in rows:
                rows[row["model"]].append((float(row["conf_verbal"]), float(row["correct"])))
    columns = {model: np.array(found) for model, found in rows.items()}
    return {f"MMLU-Pro, {model}": (np.clip(c[:, 0], 1e-6, 1.0 - 1e-6), c[:, 1]) for model, c in columns.items()}


def _curves(one: Set) -> dict[str, Floats]:
    """By way, Brier scores of shape (repetitions, numbers of labels)."""
    return {name: np.array([_curve(one, way, seed) for seed in range(REPEATS)]) for name, way in WAYS.items()}


def _curve(one: Set, way: Callable[[Floats, Floats, Indices, Floats], Indices], seed: int) -> Floats:
    mean, y = one
    rng = np.random.default_rng(seed)
    order = rng.permutation(y.size)
    pool, held = order[: min(y.size // 2, POOL)], order[y.size // 2 :]
    x, lot = log_odds(mean[pool], UNANIMITY), rng.random(pool.size)
    asked, scores = np.arange(FIRST), []
    while True:
        made = _learned(mean[pool[asked]], y[pool[asked]])
        scores.append(float(np.mean((made.means(mean[held]) - y[held]) ** 2)))
        if asked.size + STEP > min(MOST, pool.size):
            return np.array(scores)
        asked = np.concatenate([asked, way(x, made.means(mean[pool]), asked, lot)[:STEP]])


def _learned(mean: Floats, y: Floats) -> CalibrationMap:
    try:
        return BoundedPlattMap.learn(mean, y, allow_negative_slope=True).map
    except CalibrationError:  # one class so far
        return BoundedPlattMap(1.0, 0.0)


def _first(value: Floats, asked: Indices) -> Indices:
    """Indices that are not asked yet, the smallest value first."""
    order = np.argsort(value, kind="stable")
    return order[~np.isin(order, asked)]


def _needed(random: Floats, way: Floats, at: int) -> float:
    """Labels that a way needs to reach what `at` random ones reach, over `at`; where it never does, what it had at most."""
    falling = [-isotonic_regression(-curve.mean(axis=0), np.ones(curve.shape[1])) for curve in (random, way)]
    numbers = FIRST + STEP * np.arange(random.shape[1])
    target = float(np.interp(at, numbers, falling[0]))
    below = np.flatnonzero(falling[1] <= target + 1e-12)
    if not below.size:
        return float(numbers[-1] / at)
    k = int(below[0])
    if k == 0:
        return FIRST / at
    high, low = falling[1][k - 1], falling[1][k]
    return float((numbers[k - 1] + STEP * (high - target) / (high - low)) / at)


def _estimate(curves: Mapping[str, Floats], way: str, at: int) -> Estimate:
    rng = np.random.default_rng(0)
    random, mine = curves["random"], curves[way]
    drawn = (rng.integers(0, REPEATS, REPEATS) for _ in range(RESAMPLES))
    low, high = np.quantile([_needed(random[rows], mine[rows], at) for rows in drawn], [0.025, 0.975])
    return Estimate(_needed(random, mine, at), float(low), float(high), REPEATS)


def _table(by_set: Mapping[str, Mapping[str, Floats]], least: Mapping[str, float]) -> str:
    ways = [way for way in WAYS if way != "random"]
    lines = [
        "| set | random labels | their Brier score | " + " | ".join(ways) + " | least possible |",
        "|---|---|---|" + "---|" * (len(ways) + 1),
    ]
    for name, curves in by_set.items():
        for at in AT:
            brier = curves["random"].mean(axis=0)[(at - FIRST) // STEP]
            cells = [_estimate(curves, way, at) for way in ways]
            shown = " | ".join(f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})" for one in cells)
            lines.append(f"| {name} | {at} | {brier:.4f} | {shown} | {least[name]:.2f} |")
    for at in AT:
        means = " | ".join(f"**{_mean(by_set, way, at).value:.2f}**" for way in ways)
        lines.append(f"| **mean** | {at} | | {means} | {np.mean([least[name] for name in by_set]):.2f} |")
    return "\n".join(lines)


def _mean(by_set: Mapping[str, Mapping[str, Floats]], way: str, at: int) -> Estimate:
    """Mean share over the sets; repetitions are drawn anew in each."""
    rng = np.random.default_rng(1)
    value = float(np.mean([_needed(one["random"], one[way], at) for one in by_set.values()]))
    means = []
    for _ in range(RESAMPLES):
        drawn = [rng.integers(0, REPEATS, REPEATS) for _ in by_set]
        pairs = zip(by_set.values(), drawn, strict=True)
        means.append(np.mean([_needed(one["random"][rows], one[way][rows], at) for one, rows in pairs]))
    low, high = np.quantile(means, [0.025, 0.975])
    return Estimate(value, float(low), float(high), REPEATS * len(by_set))


def _draw(by_set: Mapping[str, Mapping[str, Floats]]) -> None:
    with plots.picture("labels", columns=4, rows=2, size=(4.2, 3.4)) as axes:
        for axis, name in zip(axes.flat, by_set, strict=True):
            for number, (way, curve) in enumerate(by_set[name].items()):
                numbers = FIRST + STEP * np.arange(curve.shape[1])
                axis.plot(numbers[1:], curve.mean(axis=0)[1:], color=plots.COLOURS[number], label=way)
            axis.set(title=name, xlabel="labels", ylabel="Brier score")
        axes[0, 0].legend(fontsize=9)


def _goals(reported: Mapping[str, Mapping[str, Floats]], least: Mapping[str, float]) -> str:
    mean, best = float(np.mean([least[name] for name in reported])), min(least[name] for name in reported)
    closes = f"no choice of labels for a map of two numbers: with many labels the best of all designs would need {mean:.2f} of the random ones ({best:.2f} on the set where it gains most)"
    rows = [
        Goal(f"labels to the Brier score of {at} random ones, {way}, share <= .5", _mean(reported, way, at), 0.5, closes=closes, spec=".2f")
        for way in ("spread", "D-optimal")
        for at in AT
    ]  # fmt: skip
    return goals.table(rows)
