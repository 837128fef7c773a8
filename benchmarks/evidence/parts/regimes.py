"""Maps that read the question: MMLU-Pro by subject, what beats what, exchanged labels, and fields whose truth is known."""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import tempfile
from collections.abc import Callable, Iterator
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
from benchmarks.evidence.regime_fields import synthetic
from benchmarks.evidence.regime_rivals import RIVALS, learned_geometry
from hedgerow.calibration.metrics.binned import ece_equal_width
from hedgerow.calibration.regimes.audits import permute, worst_slice
from hedgerow.calibration.regimes.direct import DirectEstimator
from hedgerow.calibration.regimes.discovery import Columns, discover
from hedgerow.proxy.clustering.embeddings import OnnxEncoder
from hedgerow.proxy.lab.regime_data import encode

Floats = NDArray[np.float64]
SEEDS = (0,)
"""Of the splits: 60 % to learn, 15 % to choose, 25 % to measure. What needs no choice learns from the first two."""
SETS = 20
WORKERS = 4
LEAST = 20
"""Held-out answers that a subject needs for its gap to count."""


@dataclass(frozen=True, slots=True)
class Answers:
    """One model's answers, with the subject of each."""

    columns: Columns
    subject: NDArray[np.str_]


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
    return [_measure(answers, seed) for seed in SEEDS], _null(answers)


HEAD = f"""## Regimes: maps that read the question

MMLU-Pro, the half of its questions that is beside the checkout, twelve models with the confidence that each states; embeddings of the question by the int8
MiniLM. Random splits 60/15/25 (seeds {", ".join(map(str, SEEDS))}); figures are of answers that nothing was learned from or chosen on, means where there are several splits. Only *per subject* is told the
subject. *Local* is what `hedgerow regimes` and `hedgerow fit --map local` learn."""


def load(folder: Path) -> dict[str, Answers]:
    """The models' answers; a missing confidence leaves the answer out."""
    with lzma.open(folder / "mmlu_pro_questions.jsonl.xz", "rt", encoding="utf8") as lines:
        questions = [json.loads(line) for line in lines]
    x = _embedded([question["question"] for question in questions])
    place = {question["id"]: number for number, question in enumerate(questions)}
    subject = np.array([question["category"] for question in questions])
    rows: dict[str, list[tuple[int, float, int]]] = {}
    with lzma.open(folder / "mmlu_pro_confidences.csv.xz", "rt", encoding="utf8") as lines:
        for row in csv.DictReader(lines):
            if row["conf_verbal"]:
                rows.setdefault(row["model"], []).append(
                    (place[row["id"]], float(row["conf_verbal"]), int(row["correct"]))
                )
    return {model: _answers(np.array(found, dtype=np.float64), x, subject) for model, found in rows.items()}


def _answers(found: Floats, x: NDArray[np.float32], subject: NDArray[np.str_]) -> Answers:
    prompt = found[:, 0].astype(np.int64)
    return Answers(Columns(x[prompt], found[:, 1], found[:, 2], prompt), subject[prompt])


def _embedded(texts: list[str]) -> NDArray[np.float32]:
    """Embeddings, kept in the folder for temporary files: they take minutes."""
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    kept = Path(tempfile.gettempdir()) / f"hedgerow-minilm-{name}.npy"
    if not kept.exists():
        np.save(kept, encode(texts, OnnxEncoder()))
    return np.asarray(np.load(kept), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Measured:
    """One split: by method, squared errors of the held-out answers, the worst subject's gap and the ECE; the gap that outcomes drawn from the local map's
    probabilities would show; and which questions they are.
    """

    squared: dict[str, Floats]
    worst: dict[str, float]
    ece: dict[str, float]
    chance: float
    prompt: NDArray[np.int64]


def _measure(answers: Answers, seed: int) -> Measured:
    n = answers.subject.size
    order = np.random.default_rng(seed).permutation(n)
    train, chosen, held = order[: int(0.6 * n)], order[int(0.6 * n) : int(0.75 * n)], order[int(0.75 * n) :]
    y, subject = answers.columns.correct[held], answers.subject[held]
    predicted = {
        name: method(answers.columns, answers.subject, train, chosen, held, seed) for name, method in RIVALS.items()
    }
    return Measured(
        {name: (p - y) ** 2 for name, p in predicted.items()},
        {name: _worst(p, y, subject) for name, p in predicted.items()},
        {name: ece_equal_width(p, y) for name, p in predicted.items()},
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


def _short(model: str) -> str:
    return model.replace("-Instruct", "").replace("-instruct", "").replace("Meta-", "").replace("-Turbo", "")


def _mean(runs: list[Measured], get: Callable[[Measured], float]) -> float:
    return float(np.mean([get(run) for run in runs]))


def _brier(run: Measured, name: str) -> float:
    return float(run.squared[name].mean())


def _difference(runs: list[Measured], name: str) -> Estimate:
    """Local minus another method, over all splits; a question's differences are averaged before they count once."""
    prompt = np.concatenate([run.prompt for run in runs])
    change = np.concatenate([run.squared["local"] - run.squared[name] for run in runs])
    names, place = np.unique(prompt, return_inverse=True)
    each = np.bincount(place, change) / np.bincount(place)
    error = 1.96 * float(each.std(ddof=1)) / np.sqrt(names.size)
    return Estimate(float(each.mean()), float(each.mean()) - error, float(each.mean()) + error, int(names.size))


def _briers(measured: dict[str, list[Measured]]) -> str:
    names = list(RIVALS)
    lines = [
        "### Brier score",
        "",
        f"| model | {' | '.join(names)} | local minus Platt (95 %) |",
        "|---" * (len(names) + 2) + "|",
    ]
    for model, runs in measured.items():
        scores = {name: _mean(runs, partial(_brier, name=name)) for name in names}
        best = min(scores.values())
        cells = [f"**{s:.4f}**" if s == best else f"{s:.4f}" for s in scores.values()]
        change = _difference(runs, "Platt")
        lines.append(
            f"| {_short(model)} | {' | '.join(cells)} | {change.value:+.4f} ({change.low:+.4f} to {change.high:+.4f}) |"
        )
    means = [np.mean([_mean(runs, partial(_brier, name=name)) for runs in measured.values()]) for name in names]
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
        lines.append(f"| {_short(model)} | " + " | ".join(f"{np.mean((p - y) ** 2):.4f}" for p in scores) + " |")
    return "\n".join(lines)


def _gaps(measured: dict[str, list[Measured]]) -> str:
    names = [name for name in RIVALS if name not in ("smoothing", "trees", "residual ridge", "multicalibrated")]
    head = " | ".join([*(f"gap, {name}" for name in names), *(f"ECE, {name}" for name in names)])
    lines = ["### Worst subject, and ECE", "", f"| model | {head} |", "|---" * (2 * len(names) + 1) + "|"]
    for model, runs in measured.items():
        cells = [f"{_mean(runs, lambda run, name=name: run.worst[name]):.3f}" for name in names]
        cells += [f"{_mean(runs, lambda run, name=name: run.ece[name]):.3f}" for name in names]
        lines.append(f"| {_short(model)} | {' | '.join(cells)} |")
    rows = measured.values()
    cells = [f"{np.mean([_mean(runs, lambda run, name=name: run.worst[name]) for runs in rows]):.3f}" for name in names]
    cells += [f"{np.mean([_mean(runs, lambda run, name=name: run.ece[name]) for runs in rows]):.3f}" for name in names]
    chance = np.mean([_mean(runs, lambda run: run.chance) for runs in rows])
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
            f"| {_short(model)} | {null.found} | {null.reported} of {SETS} | {null.sd:.3f} | {null.null_sd:.3f} | "
            f"{null.gap:+.3f} ({null.low:+.3f} to {null.high:+.3f}) | {null.null_gap:+.3f} |"
        )
    return "\n".join(lines)


GEOMETRY = ("claude-3-haiku-20240307", "gpt-4o-mini-2024-07-18")
BEST = {
    "claude-3-haiku-20240307": 0.2199, "Llama-3.2-3B-Instruct": 0.2001, "gpt-4o-mini-2024-07-18": 0.1992, "gpt-4.1": 0.1518,
}  # fmt: skip
"""The lowest Brier score of Platt, isotonic, logistic, smoothing and per subject on the split of seed 0, as they were first measured."""
REFERENCE = ("Platt", "isotonic", "logistic", "smoothing", "per subject")


def _goals(measured: dict[str, list[Measured]], nulls: dict[str, Null], table: Any) -> str:
    """The two that the summary shows, and the rest."""
    all_goals = [*_models(measured), *_overall(measured, nulls), *_each(measured), *table]
    rest = goals.table(all_goals[2:]).replace("### Goals", "### Further goals", 1)
    return f"{rest}\n\n{goals.table(all_goals[:2])}"


def _models(measured: dict[str, list[Measured]]) -> Iterator[Goal]:
    """Of each model, against the best of the simple methods on the same splits."""
    behind = []
    for runs in measured.values():
        best = min(REFERENCE, key=lambda name: _mean(runs, partial(_brier, name=name)))  # used at once
        behind.append(_difference(runs, best))
    reached = sum(change.value <= 0.0 for change in behind)
    worst = max(behind, key=lambda change: change.value)
    yield Goal(
        "models of 12 whose Brier score is at most that of the best simple method (Platt, isotonic, logistic, smoothing, per subject)",
        Estimate(reached, sum(c.high <= 0.0 for c in behind), sum(c.low <= 0.0 for c in behind), 12), 12, at_least=True, spec=".0f",
        closes=f"the model farthest behind is so by {worst.value:+.4f} ({worst.low:+.4f} to {worst.high:+.4f})",
    )  # fmt: skip


def _each(measured: dict[str, list[Measured]]) -> Iterator[Goal]:
    """Of the models with published figures, on one split."""
    for model, limit in BEST.items():
        squared = measured[model][0].squared["local"]
        error = 1.96 * float(squared.std(ddof=1)) / np.sqrt(squared.size)
        mean = float(squared.mean())
        yield Goal(
            f"{_short(model)}: Brier score on the split of seed 0 <= {limit:.4f}",
            Estimate(mean, mean - error, mean + error, squared.size), limit, spec=".4f",
            closes="within the noise of one split of 1,500 answers",
        )  # fmt: skip


def _overall(measured: dict[str, list[Measured]], nulls: dict[str, Null]) -> Iterator[Goal]:
    local, platt = (
        np.array([[run.worst[name] for run in runs] for runs in measured.values()]) for name in ("local", "Platt")
    )
    ratio, low, high = _ratio(local, platt)
    yield Goal(
        "worst subject's gap, local over Platt, mean of 12 models <= .5", Estimate(ratio, low, high, local.size), 0.5,
        closes="more held-out answers a subject: much of the worst of fourteen gaps is chance, see the table",
    )  # fmt: skip
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


def _ratio(a: Floats, b: Floats) -> tuple[float, float, float]:
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(a), (1000, len(a)))
    ratios = a[drawn].mean(axis=(1, 2)) / b[drawn].mean(axis=(1, 2))
    low, high = np.quantile(ratios, [0.025, 0.975])
    return float(a.mean() / b.mean()), float(low), float(high)


def _plot(measured: dict[str, list[Measured]]) -> None:
    shown = ("isotonic", "per subject", "logistic", "local")
    with picture("regimes", 2, 1, size=(6.5, 5.0)) as axes:
        for side, (get, label) in enumerate(((_brier, "Brier score"), (_gap, "worst subject's gap"))):
            axis = axes[0][side]
            for number, name in enumerate(shown):
                mine = [
                    _mean(runs, partial(get, name=name)) - _mean(runs, partial(get, name="Platt"))
                    for runs in measured.values()
                ]
                axis.scatter(mine, range(len(mine)), label=name, color=COLOURS[number], s=40, alpha=0.85)
            axis.axvline(0.0, color="#7f7f7f", linewidth=1)
            axis.set_yticks(range(len(measured)), [_short(model) for model in measured] if side == 0 else [])
            axis.set_xlabel(f"{label}, minus Platt's")
        axes[0][0].legend()


def _gap(run: Measured, name: str) -> float:
    return run.worst[name]
