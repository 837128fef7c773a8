"""The evidence's part on cheap confidence: drawing until the question and the counts make further answers not worth their price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import numpy as np
from numpy.typing import NDArray

from benchmarks.data.equivalence import SAMPLE_SETS, read
from benchmarks.evidence import goals, plots
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from hedgerow.calibration.regimes.adaptive import fit_adaptive
from hedgerow.calibration.regimes.drawings import Draft, Drawings, paths
from hedgerow.calibration.regimes.states import States, judged
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.lab.adaptive_rows import drawings_of, read_drawn
from hedgerow.proxy.lab.rows import read_rows

Floats = NDArray[np.float64]
SETS = {
    "maths, Llama": "Maths, Llama-3.1-8B",
    "maths, Mistral": "Maths, Mistral-7B",
    "gemma2": "TriviaQA, gemma-2-2b (token probabilities)",
    "llama13b": "TriviaQA, LLaMA-13B",
}
SEEDS = (0, 1, 2)
FEW = (100, 167, 250, 600)
AIMS = (2.2, 3.0, 5.0)
"""Mean numbers of answers that prices are chosen for, on the questions that were learned from."""
SHOWN = (1, 2, 3, 5, 10)
CHARS_PER_TOKEN = 4.0


@dataclass(frozen=True, slots=True)
class Held:
    """One split: states of the questions that nothing was learned from, the price for each aim, and whether the map drew by it or drew all."""

    states: States
    prices: Mapping[float, float]
    pays: Mapping[float, bool]
    helps: bool

    def sizes(self, aim: float) -> NDArray[np.int64]:
        """Answers drawn to each question."""
        if not self.pays[aim]:
            return np.full(len(self.states.right), self.states.right.shape[1])
        return self.states.drawn(self.prices[aim], alone=not self.helps)

    def lost(self, sizes: NDArray[np.int64], *, alone: bool) -> Floats:
        """Squared error of each question's confidence."""
        p, y = self.states.at(sizes, alone=alone)
        return np.asarray((p - y) ** 2)

    def lost_at(self, n: int, *, alone: bool = True) -> Floats:
        """The same with a fixed number of answers."""
        return self.lost(np.full(len(self.states.right), n), alone=alone)


def drawings(data: Path, name: str) -> Drawings:
    """A recorded set, grouped and graded as `hedgerow fit --map adaptive` does it."""
    rows = anyio.run(read_drawn, read_rows(data / SAMPLE_SETS[name]), "rules")
    return drawings_of(rows.rows, OnnxEncoder(step="evidence"))[0]


def held_out(drawn: Drawings, draft: Draft, seed: int, labels: int | None = None) -> Held:
    """Learn from a drawn half of the questions, or from so many of it, and judge the other half."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(drawn.prompt))
    half = len(order) // 2
    learned = order[: min(half, labels or half)]
    fits = fit_adaptive(drawn.take(learned), draft=draft, seed=seed)
    made, prices = fits.map, {}
    for aim in AIMS:
        below = [row for row in made.policy if row[1] <= aim] or [made.policy[-1]]
        paying = [row for row in below if made.pays(row[0])] or below
        prices[aim] = min(row[0] for row in paying)
    states = judged(made, paths(drawn.take(order[half:]), rng, draft))
    return Held(states, prices, {aim: made.pays(price) for aim, price in prices.items()}, made.helps)


def _estimate(differences: list[Floats], seed: int = 0) -> Estimate:
    """Mean over splits of mean differences; questions are drawn anew within each split."""
    rng = np.random.default_rng(seed)
    means = [
        np.mean([rng.choice(one, one.size).mean() for one in differences]) for _ in range(500)
    ]  # splits overlap in questions: the interval is of one split's size at least
    wide = np.sqrt(len(differences))
    value = float(np.mean([one.mean() for one in differences]))
    low, high = (value + wide * (float(np.quantile(means, q)) - value) for q in (0.025, 0.975))
    return Estimate(value, low, high, sum(one.size for one in differences) // len(differences))


def _row(name: str, splits: list[Held], aim: float) -> str:
    sizes = [one.sizes(aim) for one in splits]
    lost = [one.lost(s, alone=not one.helps) for one, s in zip(splits, sizes, strict=True)]
    cost = float(np.mean([s.mean() for s in sizes]))
    right = float(np.mean([one.states.at(s, alone=True)[1].mean() for one, s in zip(splits, sizes, strict=True)]))
    five = _estimate([a - one.lost_at(5) for a, one in zip(lost, splits, strict=True)])
    full = _estimate([a - one.lost_at(one.states.right.shape[1]) for a, one in zip(lost, splits, strict=True)])
    brier = float(np.mean([one.mean() for one in lost]))
    return f"| {name} | {cost:.2f} | {brier:.4f} | {right:.3f} | {five:+.4f} | {full:+.4f} |"


def _table(splits: list[Held]) -> list[str]:
    budget = splits[0].states.right.shape[1]
    lines = [
        "| drawn | answers, mean | Brier | right | minus 5, counts alone | minus all, counts alone |",
        "|---|---|---|---|---|---|",
    ]
    for n in sorted({*SHOWN, budget}):
        for alone, name in ((True, "counts alone"), (False, "with the question")):
            brier = np.mean([one.lost_at(n, alone=alone).mean() for one in splits])
            right = np.mean([one.states.right[:, n - 1].mean() for one in splits])
            lines.append(f"| {n}, {name} | {n} | {brier:.4f} | {right:.3f} | | |")
    return lines + [_row(f"by price, for {aim:g}", splits, aim) for aim in AIMS]


def _curve(splits: list[Held], *, alone: bool) -> tuple[list[float], list[float]]:
    """Mean answers and Brier score of drawing by many prices."""
    points = []
    for price in np.geomspace(0.0005, 0.04, 20):
        sizes = [one.states.drawn(price, alone=alone) for one in splits]
        points.append(
            (
                np.mean([s.mean() for s in sizes]),
                np.mean([one.states.brier(s, alone=alone) for one, s in zip(splits, sizes, strict=True)]),
            )
        )
    return [float(p[0]) for p in points], [float(p[1]) for p in points]


def _draw(by_set: Mapping[str, list[Held]]) -> None:
    with plots.picture("cheap", columns=len(by_set), size=(4.2, 4.0)) as axes:
        for axis, (name, splits) in zip(axes[0], by_set.items(), strict=True):
            budget = splits[0].states.right.shape[1]
            numbers = range(1, min(10, budget) + 1)
            for alone, colour, label in ((True, 7, "counts alone"), (False, 0, "with the question")):
                fixed = [np.mean([one.lost_at(n, alone=alone).mean() for one in splits]) for n in numbers]
                axis.plot(numbers, fixed, color=plots.COLOURS[colour], label=f"fixed number, {label}")
                cost, brier = _curve(splits, alone=alone)
                axis.plot(
                    cost,
                    brier,
                    color=plots.COLOURS[colour],
                    linestyle="--",
                    marker=plots.MARKS[0],
                    markersize=4,
                    label=f"by price, {label}",
                )
            axis.set(
                xlabel="answers a question (mean)",
                ylabel="Brier score",
                title=SETS[name].split(" (")[0],
                xlim=(0.8, 10.2),
            )
        axes[0, 0].legend(fontsize=9)


def _few(drawn: Mapping[str, Drawings]) -> list[str]:
    lines = [
        "| set | labelled questions | the question helps (splits) | drawn by price (splits) | answers, mean | Brier | minus a fixed number at that cost, counts alone (95 %) |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in drawn.items():
        for labels in (n for n in FEW if n <= len(one.prompt) // 2):
            splits = [held_out(one, "first", seed, labels) for seed in SEEDS]
            sizes = [s.sizes(3.0) for s in splits]
            lost = [s.lost(n, alone=not s.helps) for s, n in zip(splits, sizes, strict=True)]
            cost = [float(n.mean()) for n in sizes]
            apart = _estimate([_against(s, a, c) for s, a, c in zip(splits, lost, cost, strict=True)])
            brier = np.mean([a.mean() for a in lost])
            lines.append(
                f"| {SETS[name]} | {labels} | {sum(s.helps for s in splits)} of {len(splits)} | {sum(s.pays[3.0] for s in splits)} of {len(splits)} | "
                f"{np.mean(cost):.2f} | {brier:.4f} | {apart:+.4f} |"
            )
    return lines


def _against(split: Held, lost: Floats, cost: float) -> Floats:
    """Differences from fixed numbers at the same cost: the whole numbers around it, weighted."""
    below = int(np.floor(cost))
    above, weight = min(below + 1, split.states.right.shape[1]), cost - below
    return np.asarray(lost - (1.0 - weight) * split.lost_at(below) - weight * split.lost_at(above))


def _saved(data: Path, splits: Mapping[str, list[Held]]) -> list[str]:
    """What drawing by price saves against all answers: calls and tokens, at four characters a token, every answer a call of its own."""
    lines = [
        "| set | answers, mean | calls saved a question | tokens saved a 1,000 questions | share of the cost |",
        "|---|---|---|---|---|",
    ]
    for name, held in splits.items():
        rows, cost = read(data / SAMPLE_SETS[name]), float(np.mean([one.sizes(3.0).mean() for one in held]))
        budget = held[0].states.right.shape[1]
        chars = np.mean([len(r["question"]) + np.mean([len(s["text"]) for s in r["samples"]]) for r in rows])
        saved = budget - cost
        lines.append(
            f"| {SETS[name]} | {cost:.2f} of {budget} | {saved:.2f} | {1000 * saved * chars / CHARS_PER_TOKEN:,.0f} | {saved / budget:.0%} |"
        )
    return lines


def _goal(name: str, splits: list[Held], aim: float, n: int | None, closes: str) -> Goal:
    budget = splits[0].states.right.shape[1]
    lost = [one.lost(one.sizes(aim), alone=not one.helps) for one in splits]
    cost = np.mean([one.sizes(aim).mean() for one in splits])
    apart = _estimate([a - one.lost_at(n or budget) for a, one in zip(lost, splits, strict=True)])
    text = f"Brier at {cost:.2f} answers (aim {aim:g}) minus {n or f'all {budget}'} of the counts alone <= 0, {SETS[name].split(' (')[0]}"
    return Goal(text, apart, 0.0, closes=closes, spec="+.4f")


CLOSES = "an answer that is fixed before it is measured gains from every further one: more labels, or a better reading of the question"


def section(data: Path) -> str:
    """The part."""
    drawn = {name: drawings(data, name) for name in SETS}
    first = {name: [held_out(one, "first", seed) for seed in SEEDS] for name, one in drawn.items()}
    served = {name: [held_out(one, "largest", seed) for seed in SEEDS] for name, one in drawn.items()}
    _draw(first)
    lines = [HEAD, "", "![Brier score by answers drawn](cheap.svg)", ""]
    for name, title in SETS.items():
        lines += [f"### {title}: confidence in the first answer", "", *_table(first[name]), ""]
        lines += [f"### {title}: confidence in the answer that is served", "", *_table(served[name]), ""]
    lines += ["### Few labels (confidence in the first answer, price for 3)", "", *_few(drawn), ""]
    lines += ["### Saved (price for 3)", "", *_saved(data, first), ""]
    aims = [_goal(name, first[name], 3.0, 5, CLOSES) for name in ("maths, Llama", "maths, Mistral")]
    aims += [_goal(name, first[name], 5.0, None, CLOSES) for name in ("maths, Llama", "maths, Mistral")]
    aims += [_goal("gemma2", first["gemma2"], 2.2, None, CLOSES)]
    served_aims = [_goal(name, served[name], 3.0, 5, "") for name in ("maths, Llama", "maths, Mistral")]
    served_aims += [_goal(name, served[name], 5.0, None, "") for name in ("maths, Llama", "maths, Mistral")]
    served_aims += [_goal("gemma2", served["gemma2"], 2.2, None, "")]
    aims += [replace(aim, text=f"{aim.text}, answer that is served") for aim in served_aims]
    return "\n".join([*lines, goals.table(aims)])


HEAD = f"""## Cheap confidence

`hedgerow fit --map adaptive` learns from a random half of each set's questions; every figure is of the other half (mean of {len(SEEDS)} such splits, samples in random order).
*Counts alone*: a logistic map of how many answers agree out of how many. *With the question*: the same with the question's embedding ({48} principal components), ten plain features of
question and draft, and token probabilities where the set has them. *By price*: answers are drawn while the expected fall of the Brier score is worth it; the price was chosen on the learned half
for that mean number. Where that half says that a price is no better than a fixed number, all answers are drawn. Intervals: 95 %, bootstrap over the questions of one split.

Two things are measured. *The first answer*: what is judged is fixed before anything is counted, so that only the confidence changes with the number of answers. *The answer that is served*, of the largest group so far:
further answers change which it is, so that its own rate of being right (column *right*) moves too, and a Brier score can fall because an answer is surely wrong: read both columns."""
