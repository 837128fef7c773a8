"""`hedgerow markers`: the confidence behind a model's own hedges."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ....calibration.metrics.markers import NO_MARKER, THRESHOLDS
from ...lab.datasets import read_objects
from ...lab.markers.analysis import METRIC_NAMES, Gathered, document
from ...lab.markers.measuring import from_audit, gather
from ...lab.markers.rows import read_rows
from ...types import Json
from ..shared.files import readable, report_bad
from ..shared.messages import counted, one_sentence, show_text, stop
from ..shared.options import CONFIG, ConfigPath, JsonForTables, SkipBad
from ..shared.progress import advancing
from ..shared.showing import show, styled, terminal
from ..shared.store import open_audit
from ..shared.times import moment

SHOWN = 25
"""Number of markers in the printed table; JSON has all."""


def markers(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="JSONL of sentences {text or marker, confidence, ...} or answers {question, answer, samples, ...}; plain, .gz or .xz.",
        ),
    ] = None,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit", help="Instead of --data: the answers whose words the audit keeps, each route a dataset."
        ),
    ] = False,
    since: Annotated[str, typer.Option(help="With --audit: how far back, such as 14d, or a date.")] = "30d",
    route: Annotated[str | None, typer.Option("--route", help="With --audit: answers of this route only.")] = None,
    as_json: JsonForTables = False,
    skip_bad: SkipBad = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Measure the confidence behind a model's epistemic markers: marker internal confidence and every metric of its stability."""
    if (data is None) is not audit:
        stop("name a file with --data, or take the audit with --audit")
    with one_sentence():
        name = "the audit" if data is None else data.name
        gathered = _audited(config, since, route) if data is None else _recorded(data, skip_bad)
    if not gathered.sentences:
        stop(_nothing(name, gathered))
    figures = {"data": name, "thresholds": list(THRESHOLDS)} | document(gathered)
    show_text(json.dumps(figures, indent=2, allow_nan=False)) if as_json else _print(figures)


def _recorded(data: Path, skip_bad: bool) -> Gathered:
    with readable(data), advancing(f"Measuring {data.name}", sum(1 for _ in read_objects(data))) as bar:
        gathered, bad = gather(read_rows(data), bar.advance)
    has_rows = bool(gathered.sentences or gathered.several or gathered.unread or gathered.unasserting)
    report_bad(data, bad, skip_bad, others=has_rows)
    if not has_rows:
        stop(f"{data}: contains no sentence and no answer")
    return gathered


def _audited(config: Path, since: str, route: str | None) -> Gathered:
    with open_audit(config) as (_, engine), advancing("Measuring the audit", None) as bar:
        gathered, _ = gather(from_audit(engine, moment(since), route), bar.advance)
    if not (gathered.sentences or gathered.several or gathered.unread or gathered.unasserting):
        stop("the audit keeps no answer with its words and several samples; routes keep them with `store_text: full`")
    return gathered


def _nothing(name: str, gathered: Gathered) -> str:
    if gathered.unread and not gathered.several:
        return f"{name}: no sentence is in English; markers of other languages are not known"
    if gathered.several:
        return f"{name}: every sentence bears several markers; only sentences with one or none are counted"
    return f"{name}: no answer holds a sentence that asserts something"


def _print(figures: Json) -> None:
    console = terminal()
    console.print(
        f"{figures['data']}: {counted(figures['sentences'], 'sentence')} with one marker or none; {figures['several']:,} with several and "
        f"{figures['unasserting']:,} that assert nothing are left out"
        + (f"; {figures['unread']:,} not in English and not read" if figures["unread"] else ""),
        soft_wrap=True,
    )
    for model in figures["models"]:
        _print_model(console, model, figures["thresholds"])


def _print_model(console: Console, model: Json, thresholds: Sequence[int]) -> None:
    read = f": {model['sentences']:,} sentences of {model['responses']:,} responses"
    console.print()
    console.print(styled((model["model"], "bold"), read), soft_wrap=True)
    for how in ("with", "without"):
        if _is_measured(model, how):
            show(_metrics_table(model, thresholds, how), console)
        else:
            console.print(
                f"{how} {NO_MARKER}: no metric is defined at T = {', '.join(map(str, thresholds))}", soft_wrap=True
            )
    for line in model["undefined"]:
        console.print(f"–  {line}", soft_wrap=True)
    show(_markers_table(model), console)
    if len(model["markers"]) > SHOWN:
        console.print(f"and {len(model['markers']) - SHOWN} rarer markers: --json has all")
    for note in model["notes"]:
        console.print(f"note: {note}", soft_wrap=True)


def _is_measured(model: Json, how: str) -> bool:
    return any(of["value"] is not None for figures in model["metrics"].values() for of in figures[how].values())


def _metrics_table(model: Json, thresholds: Sequence[int], how: str) -> Table:
    heads = [f"T = {at}" for at in thresholds]
    table = Table(f"{how} {NO_MARKER}", *heads, box=None, pad_edge=False)
    for name in METRIC_NAMES:
        table.add_row(name, *(_cell(model["metrics"][str(at)][how][name]) for at in thresholds))
    return table


def _markers_table(model: Json) -> Table:
    """By marker: its MIC over all datasets, and the confidence that people read in it; --json has each dataset."""
    counts = "train sentences" if any(of["test"] for of in model["datasets"]) else "sentences"
    table = Table("marker", counts, "datasets", "MIC", "right", "people read", box=None, pad_edge=False)
    for row in model["markers"][:SHOWN]:
        interval = row["right_interval"]
        table.add_row(
            row["marker"],
            f"{row['count']:,}",
            str(len(row["datasets"])),
            _number(row["mic"]),
            ""
            if interval is None
            else f"{row['right']:.2f} ({interval[0]:.2f} to {interval[1]:.2f}) of {row['graded']}",
            _number(row["people"]),
        )
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _cell(figure: Json) -> str:
    if figure["value"] is None:
        return "–"
    return f"{figure['value']:.3f}" + (f" ± {figure['deviation']:.2f}" if figure["deviation"] is not None else "")
