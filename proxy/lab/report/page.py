"""Filling the template: the only place where Jinja is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hedgerow.calibration.evaluation import Evaluation
from hedgerow.proxy.monitoring import diagrams


def render(evaluation: Evaluation, document: dict[str, Any]) -> str:
    """The page of an evaluation; `document` is what `hedgerow evaluate --json` prints."""
    metrics = _metrics(document)
    return (
        environment()
        .get_template("evaluation.html")
        .render(
            document=document,
            metrics=metrics,
            parameters={name: value for name, value in document["map"].items() if isinstance(value, float)},
            reliability=_reliability(evaluation),
            divergences=diagrams.divergences(evaluation),
            risk_before=diagrams.risk_curve(evaluation.raw, evaluation.correct),
            risk_after=diagrams.risk_curve(evaluation.calibrated, evaluation.correct),
            map_curve=diagrams.map_curve(evaluation.fitted.map),
            observed=diagrams.observed(evaluation),
        )
    )


def render_experiment(runs: Sequence[tuple[dict[str, Any], Evaluation]]) -> str:
    """The page of an experiment: each run's document with the evaluation of its first signal."""
    shown = []
    for document, evaluation in runs:
        spaces = [(f"signal space, {name}", held) for name, held in document["signal_space"].items()]
        spaces.append(("linguistic space", document["linguistic_space"]))
        tables = [(title, held, _metrics(held)) for title, held in spaces]
        shown.append({"document": document, "tables": tables, "reliability": _reliability(evaluation)})
    return environment().get_template("experiment.html").render(runs=shown)


def environment() -> Environment:
    """The templates of all reports."""
    return Environment(
        loader=PackageLoader("hedgerow.proxy.lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _metrics(document: dict[str, Any]) -> dict[str, Any]:
    return {name: held for name, held in document.items() if isinstance(held, dict) and "after" in held}


def _reliability(evaluation: Evaluation) -> list[diagrams.Reliability]:
    return [
        diagrams.reliability(title, *betas, evaluation.correct)
        for title, betas in (("Before", evaluation.raw), ("After", evaluation.calibrated))
    ]
