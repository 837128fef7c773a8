"""Maps that read the question, with every answer held out once: the worst subject's gap where it is less a matter of chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.evidence import goals
from benchmarks.evidence.regime_sets import load
from benchmarks.evidence.regime_splits import (
    FOLDS,
    Measured,
    best,
    brier,
    crossed,
    difference,
    goal_of_gaps,
    goal_of_models,
    short,
)

IN_FOLDS = ", every answer held out once"


def section(data: Path) -> str:
    """The part."""
    folds = {model: [crossed(answers)] for model, answers in load(data / "regimes").items()}
    shown = [goal_of_models(folds, IN_FOLDS), goal_of_gaps(folds, IN_FOLDS)]
    return "\n\n".join([HEAD, _table(folds), NOTE, goals.table(shown)])


HEAD = f"""## Regimes with every answer held out once

The models, questions and maps of [regimes](regimes.md). There, the worst subject's gap is measured on one random quarter of the answers: about a hundred a subject, so that the worst of fourteen is large by
chance alone, whatever the map. Here all answers are measured, in {FOLDS} folds: each is predicted by what was learned from the other three quarters, as many as there. The settings are the same; nothing was changed for these figures."""

NOTE = """*Best simple method*: of Platt, isotonic, logistic, smoothing and per subject, the one with the lowest Brier score on these very answers. *Gap*: the largest distance of mean probability and accuracy in a
subject; *by chance*: what it would be, were the local map's probabilities true."""


def _table(folds: dict[str, list[Measured]]) -> str:
    lines = [
        "| model | answers | best simple method | its Brier score | local | local minus it (95 %) | gap, Platt | gap, local | gap by chance | ECE, Platt | ECE, local |",
        "|---" * 11 + "|",
    ]  # fmt: skip
    figures = []
    for model, (run,) in folds.items():
        name, change = best([run]), difference([run], best([run]))
        row = (run.worst["Platt"], run.worst["local"], run.chance, run.ece["Platt"], run.ece["local"])
        figures.append(row)
        lines.append(
            f"| {short(model)} | {run.prompt.size:,} | {name} | {brier(run, name):.4f} | {brier(run, 'local'):.4f} | "
            f"{change.value:+.4f} ({change.low:+.4f} to {change.high:+.4f}) | {_cells(row)} |"
        )
    means = tuple(np.mean(figures, axis=0).tolist())
    return "\n".join([*lines, f"| **mean** | | | | | | {_cells(means)} |"])


def _cells(figures: tuple[float, ...]) -> str:
    return " | ".join(f"{figure:.3f}" for figure in figures)
