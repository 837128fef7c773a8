"""`hedgerow evaluate`: fit a map on the first part of labelled answers and measure it on the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from hedgerow.calibration.errors import CalibrationError
from hedgerow.calibration.evaluation import Evaluation
from hedgerow.calibration.evaluation import evaluate as run
from hedgerow.calibration.maps import MapName
from hedgerow.calibration.metrics.table import METRICS
from hedgerow.proxy.cli.common import progress_bar, stop
from hedgerow.proxy.cli.conditions import parse_condition
from hedgerow.proxy.cli.records import Clusters, Signal, load_records
from hedgerow.proxy.lab.measuring import Records
from hedgerow.proxy.lab.report import render


def evaluate(
    data: Annotated[Path, typer.Option("--data", help="JSONL of labelled answers, plain or .gz.")],
    signal: Annotated[Signal, typer.Option(help="What measures the confidence.")] = "semantic",
    kind: Annotated[
        MapName, typer.Option("--map", help="The kind of map to fit: what `hedgerow fit` learns by default.")
    ] = "platt-bounded",
    train_fraction: Annotated[
        float, typer.Option(help="Share of the rows, from the top, that the map is fitted on.")
    ] = 0.3,
    clusters: Annotated[
        Clusters, typer.Option(help="How answers are grouped: the proxy's rules, or equal text.")
    ] = "rules",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page here.")] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(help="End with 1 where this holds, e.g. 'generalised_ece.after > 0.08'; repeatable."),
    ] = None,
    skip_bad: Annotated[bool, typer.Option(help="Continue without rows that cannot be used.")] = False,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap resamples for the intervals; 0 for none.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    allow_negative_slope: Annotated[bool, typer.Option(help="Accept a Platt map that reverses the order.")] = False,
) -> None:
    """Fit a map on the first part of labelled answers and measure it on the rest."""
    conditions = [parse_condition(text, "generalised_ece.after > 0.08") for text in fail_if or []]
    records, _ = load_records(data, signal=signal, clusters=clusters, skip_bad=skip_bad, fit_on=train_fraction)
    evaluation = _evaluate(records, kind, train_fraction, resamples, seed, signal, allow_negative_slope)
    document = to_document(evaluation, data.name, signal, clusters, len(records.bad))
    known = _figures(document)
    for condition in conditions:
        condition.value(document, known)  # a key that is not there is a mistake, whatever else happens
    if html is not None:
        _write_page(html, evaluation, document)
    typer.echo(json.dumps(document, indent=2)) if as_json else _print_table(document)
    for condition in conditions:
        condition.check(document, known)


def _evaluate(
    records: Records, kind: MapName, train_fraction: float, resamples: int, seed: int, signal: str, allow_negative: bool
) -> Evaluation:
    options: dict[str, Any] = {"allow_negative_slope": allow_negative} if kind.startswith("platt") else {}
    rng: np.random.Generator = np.random.default_rng(seed)
    with progress_bar() as progress:
        task = progress.add_task("Fitting and resampling", total=2 * len(METRICS) * resamples or None)
        try:
            return run(
                records.alpha, records.beta, records.correct,
                kind=kind, train_fraction=train_fraction, resamples=resamples, rng=rng,
                on_resample=lambda: progress.advance(task), signal=signal, model=records.model, **options,
            )  # fmt: skip
        except CalibrationError as error:
            stop(str(error))


def to_document(evaluation: Evaluation, data: str, signal: str, clusters: str, bad_rows: int) -> dict[str, Any]:
    """Every figure of an evaluation as one JSON object; metrics hold {before, after} and intervals where asked for."""
    fitted = evaluation.fitted
    document: dict[str, Any] = {
        "data": data,
        "signal": signal,
        "clusters": clusters,
        "n": int(evaluation.correct.size),
        "n_fitted": fitted.provenance.n,
        "bad_rows": bad_rows,
        "accuracy": float(evaluation.correct.mean()),
        "auroc": evaluation.before.get("auroc"),
        "auroc_after": evaluation.after.get("auroc"),
    }
    for name in evaluation.before:
        if name == "auroc":
            continue
        document[name] = {"before": evaluation.before[name], "after": evaluation.after[name]}
        for when, intervals in (("before", evaluation.intervals_before), ("after", evaluation.intervals_after)):
            if name in intervals:
                document[name][f"{when}_interval"] = [intervals[name].low, intervals[name].high]
    return {**document, **fitted.to_dict()}


def _figures(document: dict[str, Any]) -> str:
    known = [name for name, held in document.items() if isinstance(held, dict) and "after" in held]
    return f"n, accuracy, auroc and .before, .after of {', '.join(known)}"


def _write_page(path: Path, evaluation: Evaluation, document: dict[str, Any]) -> None:
    try:
        path.write_text(render(evaluation, document), encoding="utf-8")
    except OSError as error:
        stop(f"{path}: cannot be written: {error.strerror}")


def _print_table(document: dict[str, Any]) -> None:
    console = Console()
    console.print(
        f"{document['data']}: {document['n']} answers measured, {document['n_fitted']} fitted on, signal {document['signal']}, "
        f"accuracy {document['accuracy']:.3f}, auroc {_number(document['auroc'])}",
        highlight=False,
    )
    table = Table("metric", "before", "after", box=None, pad_edge=False)
    for name, held in document.items():
        if isinstance(held, dict) and "after" in held:
            table.add_row(name, *(_with_interval(held, when) for when in ("before", "after")))
    console.print(table)
    console.print(f"map: {document['map']}", highlight=False, soft_wrap=True)
    for note in document["provenance"]["notes"]:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _with_interval(held: dict[str, Any], when: str) -> str:
    interval = held.get(f"{when}_interval")
    return f"{held[when]:.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")
