"""Fills the templates; the only module that calls Jinja."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ....calibration.evaluation import Evaluation
from ...monitoring import diagrams
from ...monitoring.figures import signed
from ..evaluating import metrics_of


def render(evaluation: Evaluation, document: dict[str, Any]) -> str:
    """The page of an evaluation; `document` is the output of `hedgerow evaluate --json`."""
    metrics = metrics_of(document)
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


def render_comparison(document: dict[str, Any]) -> str:
    """The page for the output of `hedgerow evaluate --compare --json`: one chart of all intervals, and one table."""
    ends = [end for candidate in document["candidates"] for end in candidate["difference_interval"]]
    low, high = min(ends), max(*ends, min(ends) + 1e-4)
    return (
        environment()
        .get_template("comparison.html")
        .render(document=document, low=low, high=high, ticks=_ticks(low, high))
    )


def _ticks(low: float, high: float) -> list[float]:
    """Round values between two ends, including 0 if it is between them."""
    rough = (high - low) / 5.0
    power = 10.0 ** floor(log10(rough))
    step = power * next(factor for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough)
    return [step * i for i in range(ceil(low / step), floor(high / step) + 1)]


def environment() -> Environment:
    """The templates of all reports."""
    made = Environment(
        loader=PackageLoader("hedgerow.proxy.lab.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["signed"] = signed
    return made


def _reliability(evaluation: Evaluation) -> list[diagrams.Reliability]:
    return [
        diagrams.reliability(title, *betas, evaluation.correct)
        for title, betas in (("Before", evaluation.raw), ("After", evaluation.calibrated))
    ]
