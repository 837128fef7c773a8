"""Filling the template: the only place where Jinja is called."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from calibration.evaluation import Evaluation
from proxy.report import figures


def render(evaluation: Evaluation, document: dict[str, Any]) -> str:
    """The page of an evaluation; `document` is what `hedgerow evaluate --json` prints."""
    environment = Environment(
        loader=PackageLoader("proxy.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    metrics = {name: held for name, held in document.items() if isinstance(held, dict) and "after" in held}
    reliability = [
        figures.reliability(title, *betas, evaluation.correct)
        for title, betas in (("Before", evaluation.raw), ("After", evaluation.calibrated))
    ]
    return environment.get_template("evaluation.html").render(
        document=document,
        metrics=metrics,
        parameters={name: value for name, value in document["map"].items() if isinstance(value, float)},
        reliability=reliability,
        divergences=figures.divergences(evaluation),
        risk_before=figures.risk_curve(evaluation.raw, evaluation.correct),
        risk_after=figures.risk_curve(evaluation.calibrated, evaluation.correct),
        map_curve=figures.map_curve(evaluation.fitted.map),
        observed=figures.observed(evaluation),
    )
