"""`hedgerow faithfulness`: do a model's answers sound as sure as the model is?"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from ...audit.engine import transaction
from ...audit.queries import Period
from ...audit.spoken import spoken
from ...lab.answers import Looked
from ...lab.faithfulness import measuring, served
from ...lab.faithfulness.asking import CALLS
from ...lab.faithfulness.drawing import INSTRUCTIONS
from ...lab.faithfulness.figures import METRICS, Gathered, document, group_name
from ...lab.report.faithfulness import render
from ...monitoring.faithful import Against
from ...types import Json
from ..shared.files import readable, write_page
from ..shared.judging import Judge, Way, check, judging, paced
from ..shared.messages import confirm, counted, one_sentence, show_text, stop
from ..shared.options import (
    CONFIG,
    BootstrapSeed,
    ConfigPath,
    HtmlPage,
    JsonForTables,
    Resamples,
    SkipBad,
    Yes,
)
from ..shared.showing import show, terminal
from ..shared.store import open_audit
from ..shared.times import moment
from .conditions import parse_conditions
from .faithfulness_drawing import ToDraw, draw_to, prompts_of

_SHARE = "share of further answers that do not contradict"
KEPT = ".measured.jsonl"
"""Suffix of the file beside the data that stores a language model's replies."""
_KNOWN = ", ".join((*METRICS, "cmfg_always_decisive", "n", "punting_rate", "accuracy", "worst.cmfg", "worst.mfg"))


DataFile = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="JSONL of {question, answer, samples, model, prompt, dataset, correct, split}; plain, .gz or .xz.",
    ),
]
FromAudit = Annotated[
    bool, typer.Option("--audit", help="Measure what the proxy served instead, from the figures of its audit.")
]
Which = Annotated[Against, typer.Option(help="With --audit: the confidence after the map, or before it.")]
Since = Annotated[str, typer.Option(help="With --audit: how far back, 7d, 36h or a date; all.")]
Questions = Annotated[
    Path | None,
    typer.Option(
        "--draw",
        help="Questions (JSONL or CSV) to ask the route's model first; the answers are added to --data.",
    ),
]
Prompts = Annotated[
    list[str] | None,
    typer.Option("--prompt", help=f"With --draw: {', '.join(INSTRUCTIONS)}; repeatable. Default: vanilla."),
]
Shots = Annotated[
    Path | None,
    typer.Option(
        help="With --draw and uncertainty+: JSONL of {question, answer} shown to the model. Default: six of our own."
    ),
]
RouteName = Annotated[
    str | None,
    typer.Option(
        "--route",
        help="With --draw: whose model, with --judge llm: whose judge; by default of the first route that calibrates. With --audit: answers of this route only.",
    ),
]
Model = Annotated[str, typer.Option(help="With --draw: model to ask for, where the route does not fix one.")]
Conditions = Annotated[
    list[str] | None,
    typer.Option(
        help="Exit with status 1 if this holds, e.g. 'cmfg < 0.7' or, with several groups, 'worst.cmfg < 0.7'; repeatable."
    ),
]
Kept = Annotated[
    Path | None,
    typer.Option(
        help=f"JSONL that keeps what was measured and is read again. Default with --judge llm: DATA{KEPT}; else none."
    ),
]
AtOnce = Annotated[int, typer.Option(min=1, help="With --judge llm and --draw: rows under way at once.")]


def faithfulness(
    data: DataFile = None,
    audit: FromAudit = False,
    against: Which = "calibrated",
    since: Since = "all",
    draw: Questions = None,
    prompts: Prompts = None,
    demonstrations: Shots = None,
    model: Model = "",
    judge: Judge = "none",
    route: RouteName = None,
    as_json: JsonForTables = False,
    fail_if: Conditions = None,
    report: HtmlPage = None,
    out: Kept = None,
    resamples: Resamples = 1000,
    seed: BootstrapSeed = 0,
    skip_bad: SkipBad = False,
    concurrency: AtOnce = 4,
    yes: Yes = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Measure how well the wording of recorded answers matches the model's own confidence: cMFG, MFG, decisiveness by confidence."""
    if resamples == 1:
        stop("--resamples must be 0, or 2 at least")
    conditions = parse_conditions(fail_if, "cmfg < 0.7")
    if (data is None) is not audit:
        stop("name the answers to measure: --data FILE, or --audit for what the proxy served")
    if data is None:
        figures, unfinished = _served(config, route, since, against, resamples, seed), 0
    else:
        out = data.with_name(data.name + KEPT) if out is None and judge == "llm" else out
        way = Way(judge, route, config, out, concurrency, yes)
        with one_sentence(on_interrupt="stopped; the same command continues" if out or draw else "stopped"):
            if draw is not None:
                anyio.run(
                    draw_to,
                    ToDraw(
                        draw, prompts_of(prompts or ["vanilla"]), model, demonstrations, route, config, concurrency, yes
                    ),
                    data,
                )
            gathered, unfinished = anyio.run(_measured, data, way, skip_bad)
            figures = {"data": data.name, "judge": judge, "confidence_is": _SHARE}
            figures |= document(gathered, resamples=resamples, seed=seed)
        if unfinished and not figures["n"] and not figures["punts"]:
            stop(f"none of {counted(unfinished, 'row')} could be measured; the same command tries again", code=1)
    _show(figures, as_json=as_json, report=report)
    if unfinished:
        stop(f"{counted(unfinished, 'row')} could not be measured yet; the same command continues with them", code=1)
    for condition in conditions:
        condition.check(figures, _KNOWN)


def _served(config: Path, route: str | None, since: str, against: Against, resamples: int, seed: int) -> Json:
    """The document on served answers."""
    period = Period(None if since == "all" else moment(since), time.time())
    with open_audit(config) as (_, engine), transaction(engine) as connection:
        said = spoken(connection, period, route)
    if not len(said):
        stop("no answer of this period has a confidence and words that were read", code=1)
    figures = {"data": "the audit" + (f", route {route}" if route else ""), "judge": None}
    figures |= {"confidence_is": f"mean {against} confidence of the route's signal"}
    return figures | served.document(said, against=against, resamples=resamples, seed=seed)


async def _measured(data: Path, way: Way, skip_bad: bool) -> tuple[Gathered, int]:
    """The measured answers, and the number of rows left for another run."""
    with way.ledger() as ledger:
        kept = measuring.kept_in(way.out)
        with readable(data):
            looked = measuring.look(data, kept)
        check(looked, str(data), skip_bad, nothing="contains no answer")
        _confirm(way, looked)
        async with judging(measuring, way) as judge:
            with paced(way, data.name, looked.left) as pace:
                gathered, outcome = await measuring.measure(data, judge, kept, ledger, pace)
    return gathered, looked.left - outcome.done


def _confirm(way: Way, looked: Looked) -> None:
    """Show the cost of a language model and ask for confirmation."""
    if way.judge == "llm" and looked.left:
        measured = looked.rows - looked.left
        had = f"{counted(measured, 'row')} measured already; " if measured else ""
        calls = f"{CALLS * looked.left} calls of the judge at most (punts take one)"
        confirm(f"{had}{looked.left} to measure: {calls}", way.yes)


def _show(figures: Json, *, as_json: bool, report: Path | None) -> None:
    """Print a document and write its page."""
    if report is not None:
        write_page(report, render(figures))
    if as_json:
        show_text(json.dumps(figures, indent=2, allow_nan=False))
    else:
        _print(figures)


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
