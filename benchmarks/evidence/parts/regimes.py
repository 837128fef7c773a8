"""Maps that read the question: MMLU-Pro by subject, what beats what, exchanged labels, and fields whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.evidence import goals
from benchmarks.evidence.goals import Goal
from benchmarks.evidence.holding_out import Estimate
from benchmarks.evidence.plots import COLOURS, picture
from benchmarks.evidence.regime_audits import permute, worst_slice
from benchmarks.evidence.regime_fields import synthetic
from benchmarks.evidence.regime_rivals import RIVALS, learned_geometry
from benchmarks.evidence.regime_sets import Answers, load
from benchmarks.evidence.regime_splits import (
    Measured,
    brier,
    difference,
    goal_of_gaps,
    goal_of_models,
    mean,
    measure,
    short,
)
from hedgerow.calibration.regimes.direct import DirectEstimator
from hedgerow.calibration.regimes.discovery import discover

Floats = NDArray[np.float64]
SEEDS = (0,)
"""Of the splits: 60 % to learn, 15 % to choose, 25 % to measure. What needs no choice learns from the first two."""
SETS = 20
WORKERS = 4


def section(data: Path) -> str:
    """The part."""
    sets = load(data / "regimes")
    with ProcessPoolExecutor(WORKERS) as pool:
        fields_and_goals, paper = pool.submit(synthetic), pool.submit(_paper, {m: sets[m] for m in GEOMETRY})
        both = dict(zip(sets, pool.map(_both, sets.values()), strict=True))
        fields, table = fields_and_goals.result()
    measured, nulls = {model: one[0] for model, one in both.items()}, {model: one[1] for model, one in both.items()}
    _plot(measured)
    parts = [
        HEAD,
        _briers(measured),
        paper.result(),
        _gaps(measured),
        _nulls(nulls),
        fields,
        _goals(measured, nulls, table),
    ]
    return "\n\n".join(parts)


def _both(answers: Answers) -> tuple[list[Measured], Null]:
    return [measure(answers, seed) for seed in SEEDS], _null(answers)


HEAD = f"""## Regimes: maps that read the question

MMLU-Pro, the half of its questions that is beside the checkout, twelve models with the confidence that each states; embeddings of the question by the int8
MiniLM. Random splits 60/15/25 (seeds {", ".join(map(str, SEEDS))}); figures are of answers that nothing was learned from or chosen on, means where there are several splits. Only *per subject* is told the
subject. *Local* is what `hedgerow regimes` and `hedgerow fit --map local` learn."""


def _briers(measured: dict[str, list[Measured]]) -> str:
    names = list(RIVALS)
    lines = [
        "### Brier score",
        "",
        f"| model | {' | '.join(names)} | local minus Platt (95 %) |",
        "|---" * (len(names) + 2) + "|",
    ]
    for model, runs in measured.items():
        scores = {name: mean(runs, partial(brier, name=name)) for name in names}
        best = min(scores.values())
        cells = [f"**{s:.4f}**" if s == best else f"{s:.4f}" for s in scores.values()]
        change = difference(runs, "Platt")
        lines.append(
            f"| {short(model)} | {' | '.join(cells)} | {change.value:+.4f} ({change.low:+.4f} to {change.high:+.4f}) |"
        )
    means = [np.mean([mean(runs, partial(brier, name=name)) for runs in measured.values()]) for name in names]
    lines.append(f"| **mean** | {' | '.join(f'{m:.4f}' for m in means)} | |")
    return "\n".join([*lines, "", LEGEND, "", "![Brier score by method](regimes.svg)"])


LEGEND = """*Platt*: on log-odds within ±ln 999. *Logistic*: on embedding and log-odds, penalty 1. *Smoothing*: kernel smoothing of residuals among embeddings, bandwidth by the corrected validation
Brier score. *Per subject*: a Platt map for each true subject. *Trees*: boosted trees on 48 principal components and the confidence. *Multicalibrated*: boosting of Platt over groups of questions at four levels. *Residual ridge*: linear
regression of residuals on the embedding, penalty by validation: pointwise residual regression."""


def _paper(sets: dict[str, Answers]) -> str:
    """The paper's method beside the local map, on one split of two models."""
    lines = [
        "### The learned geometry of arXiv 2605.13484", "",
        "On the split of seed 0: its network, loss, choice by the corrected validation Brier score (bandwidth .5) and range-aware correction of the confidence as it came; a learning rate ten "
        "times its own and 8 epochs, since it is to run on a processor.", "",
        "| model | raw | learned geometry | local |", "|---|---|---|---|",
    ]  # fmt: skip
    for model in GEOMETRY:
        of, n = sets[model].columns, sets[model].subject.size
        order = np.random.default_rng(0).permutation(n)
        train, chosen, held = order[: int(0.6 * n)], order[int(0.6 * n) : int(0.75 * n)], order[int(0.75 * n) :]
        y = of.correct[held]
        mine = RIVALS["local"](of, sets[model].subject, train, chosen, held, 0)
        scores = (of.confidence[held], learned_geometry(of, train, chosen, held), mine)
        lines.append(f"| {short(model)} | " + " | ".join(f"{np.mean((p - y) ** 2):.4f}" for p in scores) + " |")
    return "\n".join(lines)


def _gaps(measured: dict[str, list[Measured]]) -> str:
    names = [name for name in RIVALS if name not in ("smoothing", "trees", "residual ridge", "multicalibrated")]
    head = " | ".join([*(f"gap, {name}" for name in names), *(f"ECE, {name}" for name in names)])
    lines = ["### Worst subject, and ECE", "", f"| model | {head} |", "|---" * (2 * len(names) + 1) + "|"]
    for model, runs in measured.items():
        cells = [f"{mean(runs, lambda run, name=name: run.worst[name]):.3f}" for name in names]
        cells += [f"{mean(runs, lambda run, name=name: run.ece[name]):.3f}" for name in names]
        lines.append(f"| {short(model)} | {' | '.join(cells)} |")
    rows = measured.values()
    cells = [f"{np.mean([mean(runs, lambda run, name=name: run.worst[name]) for runs in rows]):.3f}" for name in names]
    cells += [f"{np.mean([mean(runs, lambda run, name=name: run.ece[name]) for runs in rows]):.3f}" for name in names]
    chance = np.mean([mean(runs, lambda run: run.chance) for runs in rows])
    note = f"A gap is the distance of mean probability and accuracy in a subject. The worst of fourteen is above 0 by chance alone: {chance:.3f} here if the probabilities were true."
    return "\n".join([*lines, f"| **mean** | {' | '.join(cells)} |", "", note])


@dataclass(frozen=True, slots=True)
class Null:
    """What was found in a model's answers, and in sets with exchanged labels."""

    found: int
    reported: int
    sd: float
    null_sd: float
    gap: float
    low: float
    high: float
    null_gap: float


def _null(answers: Answers) -> Null:
    rng = np.random.default_rng(0)
    n = answers.subject.size
    order = rng.permutation(n)
    train, held = answers.columns.take(order[: int(0.6 * n)]), answers.columns.take(order[int(0.6 * n) :])
    estimator = DirectEstimator(train.x, train.confidence, train.prompt, rng)
    field = estimator.fit(train.correct)
    found = discover(field, train, held, rng)
    worst = worst_slice(found, field, held, 0.05, rng, resamples=100)
    null = permute(estimator, train, held, found, worst, repeat(rng, SETS))
    return Null(
        len(found.regimes), null.reported, null.sd, float(null.null_sd.mean()), worst.gap, worst.low, worst.high, float(null.null_gap.mean())
    )  # fmt: skip


def _nulls(nulls: dict[str, Null]) -> str:
    lines = [
        f"### Regimes found, and with exchanged labels ({SETS} sets a model)", "",
        "| model | regimes | sets with regimes | field beyond confidence, sd | exchanged | worst slice's smooth ECE over all (95 %) | exchanged |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for model, null in nulls.items():
        lines.append(
            f"| {short(model)} | {null.found} | {null.reported} of {SETS} | {null.sd:.3f} | {null.null_sd:.3f} | "
            f"{null.gap:+.3f} ({null.low:+.3f} to {null.high:+.3f}) | {null.null_gap:+.3f} |"
        )
    return "\n".join(lines)


GEOMETRY = ("claude-3-haiku-20240307", "gpt-4o-mini-2024-07-18")
BEST = {
    "claude-3-haiku-20240307": 0.2199, "Llama-3.2-3B-Instruct": 0.2001, "gpt-4o-mini-2024-07-18": 0.1992, "gpt-4.1": 0.1518,
}  # fmt: skip
"""The lowest Brier score of Platt, isotonic, logistic, smoothing and per subject on the split of seed 0, as they were first measured."""


def _goals(measured: dict[str, list[Measured]], nulls: dict[str, Null], table: Any) -> str:
    """The two that the summary shows, and the rest."""
    shown = (
        goal_of_models(measured),
        goal_of_gaps(measured, closes="more held-out answers a subject: much of the worst of fourteen gaps is chance; see the same with every answer held out once (part `subjects`)"),
    )  # fmt: skip
    rest = goals.table([*_overall(measured, nulls), *_each(measured), *table])
    return f"{rest.replace('### Goals', '### Further goals', 1)}\n\n{goals.table(shown)}"


def _each(measured: dict[str, list[Measured]]) -> Iterator[Goal]:
    """Of the models with published figures, on one split."""
    for model, limit in BEST.items():
        squared = measured[model][0].squared["local"]
        error = 1.96 * float(squared.std(ddof=1)) / np.sqrt(squared.size)
        mean = float(squared.mean())
        yield Goal(
            f"{short(model)}: Brier score on the split of seed 0 <= {limit:.4f}",
            Estimate(mean, mean - error, mean + error, squared.size), limit, spec=".4f",
            closes="within the noise of one split of 1,500 answers",
        )  # fmt: skip


def _overall(measured: dict[str, list[Measured]], nulls: dict[str, Null]) -> Iterator[Goal]:
    ece = np.array([[run.ece["local"] - run.ece["Platt"] for run in runs] for runs in measured.values()]).mean(axis=1)
    error = 1.96 * float(ece.std(ddof=1)) / np.sqrt(ece.size)
    yield Goal(
        "ECE (generalised, of points), local minus Platt, mean of 12 models <= 0",
        Estimate(float(ece.mean()), float(ece.mean()) - error, float(ece.mean()) + error, ece.size), 0.0, spec="+.4f",
    )  # fmt: skip
    worst = max(null.reported for null in nulls.values())
    total = sum(null.reported for null in nulls.values())
    yield Goal(
        f"sets of {SETS} with exchanged labels in which a regime is reported, of the worst of 12 models <= 1",
        Estimate(worst, 0, worst, SETS * len(nulls)), 1, spec=".0f", closes=f"{total} of {SETS * len(nulls)} in all",
    )  # fmt: skip


def _plot(measured: dict[str, list[Measured]]) -> None:
    shown = ("isotonic", "per subject", "logistic", "local")
    with picture("regimes", 2, 1, size=(6.5, 5.0)) as axes:
        for side, (get, label) in enumerate(((brier, "Brier score"), (_gap, "worst subject's gap"))):
            axis = axes[0][side]
            for number, name in enumerate(shown):
                mine = [
                    mean(runs, partial(get, name=name)) - mean(runs, partial(get, name="Platt"))
                    for runs in measured.values()
                ]
                axis.scatter(mine, range(len(mine)), label=name, color=COLOURS[number], s=40, alpha=0.85)
            axis.axvline(0.0, color="#7f7f7f", linewidth=1)
            axis.set_yticks(range(len(measured)), [short(model) for model in measured] if side == 0 else [])
            axis.set_xlabel(f"{label}, minus Platt's")
        axes[0][0].legend()


def _gap(run: Measured, name: str) -> float:
    return run.worst[name]
