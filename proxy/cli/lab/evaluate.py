"""`hedgerow evaluate`: fit a map on the first part of labelled answers and measure it on the rest; or rank all maps and signals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, get_args

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from ....calibration.errors import CalibrationError
from ....calibration.evaluation import Evaluation
from ....calibration.evaluation import evaluate as run
from ....calibration.maps import DEFAULT, MapName
from ....calibration.metrics.table import METRICS
from ...lab.datasets import read_objects
from ...lab.evaluating import (
    COMPARED_KINDS,
    compare_signals,
    comparison_document,
    evaluation_document,
    metrics_of,
    signals_in,
)
from ...lab.measuring import Records
from ...lab.report import render, render_comparison
from ..shared.files import readable, write_page
from ..shared.messages import one_sentence, show_text, stop
from ..shared.options import BootstrapSeed, JsonForTable, NegativeSlope, Resamples, SkipBad
from ..shared.progress import advancing
from ..shared.records import Clusters, HowGrouped, Signal, load_records, report_records, without_picked
from ..shared.showing import show, terminal
from .conditions import checked, parse_conditions

COMPARISON_RESAMPLES = 2000
"""Of all candidates at once; they are quick."""
_FAR = 10.0
"""An end of an interval, in nats, that no usual answer explains."""
_WIDE = 120
"""Columns of a terminal from which on every figure is shown with its interval, not its change alone; --json and --html have all."""


def evaluate(
    data: Annotated[
        Path, typer.Option("--data", help="Labelled answers: JSONL, JSON, CSV or Parquet, or a log of evaluations.")
    ],
    signal: Annotated[
        Signal,
        typer.Option(metavar="SIGNAL", help=f"What measures the confidence: {', '.join(get_args(Signal))}."),
    ] = "semantic",
    kind: Annotated[
        MapName, typer.Option("--map", metavar="KIND", help=f"The kind of map to fit: {', '.join(get_args(MapName))}.")
    ] = DEFAULT,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare", help="Rank all maps and signals on held-out answers, each against --signal with --map."
        ),
    ] = False,
    train_fraction: Annotated[float, typer.Option(help="Share of the rows, from the top, to fit the map on.")] = 0.3,
    clusters: HowGrouped = "rules",
    as_json: JsonForTable = False,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained page here.")] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(help="Exit with status 1 if this holds, such as 'auroc < 0.7'; repeatable."),
    ] = None,
    skip_bad: SkipBad = False,
    resamples: Resamples = 200,
    seed: BootstrapSeed = 0,
    allow_negative_slope: NegativeSlope = False,
) -> None:
    """Fit a map on the first part of labelled answers and measure it on the rest; with --compare, rank all maps and signals."""
    if compare:
        if fail_if:
            stop("--fail-if goes with one map; leave out --compare")
        return _compare(data, (signal, kind), clusters, seed, html, as_json=as_json, skip_bad=skip_bad)
    conditions = parse_conditions(fail_if, "generalised_ece.after > 0.08")
    with one_sentence():
        records, _ = load_records(
            data,
            signal=signal,
            clusters=clusters,
            skip_bad=skip_bad,
            fit_on=train_fraction,
            drawn_only=True,
        )
    evaluation = _evaluate(records, kind, train_fraction, resamples, seed, signal, allow_negative_slope)
    document = evaluation_document(evaluation, data.name, signal, clusters, len(records.bad))
    with checked(conditions, document, _figures(document)):
        if html is not None:
            write_page(html, render(evaluation, document))
        show_text(json.dumps(document, indent=2)) if as_json else _print_table(document)
    return None


def _evaluate(
    records: Records, kind: MapName, train_fraction: float, resamples: int, seed: int, signal: str, allow_negative: bool
) -> Evaluation:
    options: dict[str, Any] = {"allow_negative_slope": allow_negative} if kind.startswith("platt") else {}
    rng: np.random.Generator = np.random.default_rng(seed)
    with advancing("Fitting and resampling", len(METRICS) * resamples or None) as bar:
        try:
            return run(
                records.alpha, records.beta, records.correct,
                kind=kind, train_fraction=train_fraction, resamples=resamples, rng=rng,
                on_resample=bar.advance, signal=signal, model=records.model, groups=records.groups, **options,
            )  # fmt: skip
        except CalibrationError as error:
            stop(str(error))


def _figures(document: dict[str, Any]) -> str:
    known = [name for name, held in document.items() if isinstance(held, dict) and "after" in held]
    return f"n, accuracy, auroc, worse and .before, .after, .difference of {', '.join(known)}"


def _print_table(document: dict[str, Any]) -> None:
    console = terminal()
    console.print(
        f"{document['data']}: {document['n']} answers measured, {document['n_fitted']} fitted on, signal {document['signal']}, "
        f"accuracy {document['accuracy']:.3f}, auroc {_number(document['auroc'])}",
        highlight=False,
    )
    table = Table("metric", "before", "after", "change", "", box=None, pad_edge=False)
    for name, held in metrics_of(document).items():
        shown = _with_interval if console.width >= _WIDE else _value
        table.add_row(
            name, shown(held, "before"), shown(held, "after"), _with_interval(held, "difference"), _flag(held)
        )
    show(table, console)
    parts = ", ".join(f"{name} {value:.4g}" for name, value in document["map"].items() if isinstance(value, float))
    if any(_reaches_far(held) for held in metrics_of(document).values()):
        console.print(
            "An interval that reaches far allows for a wrong answer of full confidence (all its samples agreed): few have been seen, and one decides the figure.",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    console.print(f"map: {document['map']['kind']}{f' ({parts})' if parts else ''}", highlight=False, soft_wrap=True)
    for note in document["provenance"]["notes"]:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"


def _value(held: dict[str, Any], part: str) -> str:
    return f"{held[part]:{'+' if part == 'difference' else ''}.3f}"


def _with_interval(held: dict[str, Any], part: str) -> str:
    interval, sign = held.get(f"{part}_interval"), "+" if part == "difference" else ""
    return _value(held, part) + (f" ({_end(interval[0], sign)} to {_end(interval[1], sign)})" if interval else "")


def _end(value: float, sign: str) -> str:
    return f"{value:{sign}.3f}" if abs(value) < _FAR else f"{value:{sign},.0f}"


def _reaches_far(held: dict[str, Any]) -> bool:
    return any(abs(end) >= _FAR for end in held.get("difference_interval", ()))


def _flag(held: dict[str, Any]) -> Text:
    if not held["worse"]:
        return Text("")
    return Text("worse", "red") if held.get("beyond_noise", True) else Text("worse, within noise", "yellow")


def _compare(
    data: Path,
    reference: tuple[Signal, str],
    clusters: Clusters,
    seed: int,
    html: Path | None,
    *,
    as_json: bool,
    skip_bad: bool,
) -> None:
    with (
        one_sentence(),
        readable(data),
        advancing(f"Measuring {data.name}", sum(1 for _ in read_objects(data))) as bar,
    ):
        measured = signals_in(data, clusters, bar.advance)
    measured = without_picked(measured)
    report_records(next(iter(measured.values())), data, next(iter(measured)), skip_bad)
    with (
        one_sentence(),
        advancing("Comparing", len(COMPARED_KINDS) * (3 if len(measured) > 1 else 1)) as bar,
    ):
        comparison = compare_signals(
            measured, reference=reference, resamples=COMPARISON_RESAMPLES, seed=seed, on_candidate=bar.advance
        )
    document = comparison_document(comparison, data.name, clusters)
    if html is not None:
        write_page(html, render_comparison(document))
    show_text(json.dumps(document, indent=2)) if as_json else _print_comparison(document)


def _print_comparison(document: dict[str, Any]) -> None:
    console, reference = terminal(), document["reference"]
    console.print(
        f"{document['data']}: {document['n']} answers, {document['folds']} folds, accuracy {document['accuracy']:.3f}; each answer measured by a "
        f"map that did not see it, compared with {reference['signal']}, {reference['map']} (intervals hold together, 95 %)",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    table = Table(
        "signal",
        "map",
        "Brier",
        "difference",
        "",
        "smooth ECE",
        "FD",
        "AUROC",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for one in document["candidates"]:
        is_reference = (one["signal"], one["map"]) == (reference["signal"], reference["map"])
        verdict = Text("reference") if is_reference else _VERDICTS[one["verdict"]]
        figures = (_number(one.get(name)) for name in ("smooth_ece", "faithfulness_divergence", "auroc"))
        difference = "" if is_reference else _difference(one)
        table.add_row(one["signal"], one["map"], f"{one['brier']:.4f}", difference, verdict, *figures)
    show(table, console)
    for one in document["failed"]:
        console.print(f"{one['signal']}, {one['map']}: {one['reason']}", highlight=False, soft_wrap=True)


_VERDICTS = {"better": Text("better", "green"), "worse": Text("worse", "red"), "even": Text("")}


def _difference(one: dict[str, Any]) -> str:
    low, high = one["difference_interval"]
    return f"{one['difference']:+.4f} ± {(high - low) / 2.0:.4f}"
