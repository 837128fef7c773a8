"""`hedgerow faithfulness`: do a model's answers sound as sure as the model is?"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ...audit.engine import transaction
from ...audit.queries import Period
from ...audit.spoken import spoken
from ...lab.datasets import read_objects
from ...lab.faithfulness import served
from ...lab.faithfulness.figures import METRICS, document, group_name
from ...lab.faithfulness.measuring import measure
from ...lab.faithfulness.rows import read_rows
from ...types import Json
from ..shared.files import readable, report_bad
from ..shared.messages import counted, one_sentence, say, show_text, stop
from ..shared.options import CONFIG, ConfigPath, JsonForTables, SkipBad
from ..shared.progress import advancing
from ..shared.showing import show, terminal
from ..shared.store import open_audit
from ..shared.times import moment
from .conditions import checked, parse_conditions

_KNOWN = ", ".join((*METRICS, "cmfg_always_decisive", "n", "punting_rate", "accuracy", "worst.cmfg", "worst.mfg"))


def faithfulness(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            help="JSONL of {question, answer, samples, model, prompt, dataset, correct, split}; plain, .gz or .xz.",
        ),
    ] = None,
    audit: Annotated[
        bool, typer.Option("--audit", help="Measure what the proxy served instead, from the figures of its audit.")
    ] = False,
    since: Annotated[str, typer.Option(help="With --audit: how far back, 7d, 36h or a date; all.")] = "all",
    route: Annotated[str | None, typer.Option("--route", help="With --audit: answers of this route only.")] = None,
    as_json: JsonForTables = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            help="Exit with status 1 if this holds, e.g. 'cmfg < 0.7' or, with several groups, 'worst.cmfg < 0.7'; repeatable."
        ),
    ] = None,
    skip_bad: SkipBad = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Measure how well the wording of recorded answers matches the model's own confidence: cMFG, MFG, decisiveness by confidence."""
    conditions = parse_conditions(fail_if, "cmfg < 0.7")
    if (data is None) is not audit:
        stop("name the answers to measure: --data FILE, or --audit for what the proxy served")
    with one_sentence():
        figures = _served(config, route, since) if data is None else _measured(data, skip_bad)
    with checked(conditions, figures, _KNOWN):
        show_text(json.dumps(figures, indent=2, allow_nan=False)) if as_json else _print(figures)


def _served(config: Path, route: str | None, since: str) -> Json:
    """The document on served answers."""
    period = Period(None if since == "all" else moment(since), time.time())
    with open_audit(config) as (_, engine), transaction(engine) as connection:
        said = spoken(connection, period, route)
    if not len(said):
        stop("no answer of this period has a confidence and words that were read", code=1)
    figures: Json = {"data": "the audit" + (f", route {route}" if route else "")}
    figures |= {"confidence_is": "mean calibrated confidence of the route's signal"}
    return figures | served.document(said)


def _measured(data: Path, skip_bad: bool) -> Json:
    """The document on the answers of a file."""
    with readable(data), advancing(f"Measuring {data.name}", sum(1 for _ in read_objects(data))) as bar:
        gathered, bad, unread = measure(read_rows(data), bar.advance)
    for line, why in unread:
        say(f"line {line}: {why}", err=True)
    figures: Json = {"data": data.name, "confidence_is": "share of further answers that do not contradict"}
    figures |= document(gathered)
    has_rows = bool(figures["n"] or figures["punts"] or unread)
    report_bad(data, bad, skip_bad, others=has_rows)
    if not has_rows:
        stop(f"{data}: contains no answer")
    return figures


def _print(figures: Json) -> None:
    console = terminal()
    samples = figures["samples"]
    of = (
        ""
        if samples is None
        else f", {samples[0] if samples[0] == samples[1] else f'{samples[0]} to {samples[1]}'} further answers each"
    )
    console.print(
        f"{figures['data']}: {counted(figures['n'], 'answer')} with {counted(figures['assertions'], 'assertion')}{of}, {counted(figures['punts'], 'punt')}"
        + (f", {figures['unread']:,} not read" if figures["unread"] else ""),
        soft_wrap=True,
    )
    _print_figures(console, "all answers" if figures["groups"] else "", figures)
    _print_groups(console, figures["groups"])
    _print_curve(console, figures["curve"])
    for note in figures["notes"]:
        console.print(f"note: {note}", soft_wrap=True)


def _print_figures(console: Console, title: str, group: Json) -> None:
    table = Table(
        title=title or None, title_justify="left", title_style="bold", show_header=False, box=None, pad_edge=False
    )
    for metric in METRICS:
        table.add_row(metric, *_figure(group, metric))
    for name in ("cmfg_always_decisive", "punting_rate", "accuracy"):
        table.add_row(name, _number(group[name]), group["why"].get(name, ""))
    table.add_row("n", f"{group['n']:,}", "")
    console.print(table)


def _print_groups(console: Console, groups: list[Json]) -> None:
    """Print one line a group, to compare prompts and models."""
    if not groups:
        return
    table = Table(
        "", "n", "punts", "cmfg (95 %)", "always decisive", *METRICS[1:], "accuracy", box=None, pad_edge=False
    )
    for group in groups:
        held = " ({:.3f} to {:.3f})".format(*interval) if (interval := group.get("cmfg_interval")) else ""
        names = ("cmfg_always_decisive", *METRICS[1:], "accuracy")
        numbers = ("–" if group[name] is None else _number(group[name]) for name in names)
        counts = (f"{group['n']:,}", f"{group['punts']:,}")
        table.add_row(group_name(group), *counts, _number(group["cmfg"]) + held, *numbers)
    show(table, console)


def _print_curve(console: Console, curve: list[Json]) -> None:
    if not curve:
        return
    table = Table("confidence", "answers", "decisiveness", "faithfulness", box=None, pad_edge=False)
    for row in curve:
        error = "" if row["spread"] is None else f" ± {1.96 * row['spread']:.2f}"
        table.add_row(
            f"{row['low']:.1f}–{row['high']:.1f}",
            f"{row['weight']:,g}",
            f"{row['decisiveness']:.2f}{error}",
            f"{row['faithfulness']:.2f}",
        )
    show(table, console)


def _figure(group: Json, metric: str) -> tuple[str, str]:
    interval = group.get(f"{metric}_interval")
    return _number(group[metric]), f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else group["why"].get(
        metric, ""
    )


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
