"""`hedgerow markers`: the confidence behind a model's own hedges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from ....calibration.metrics.markers import NO_MARKER, THRESHOLDS
from ....lexicon.hedges.entries import to_json
from ...lab.markers import measuring, running
from ...lab.markers.analysis import METRIC_NAMES, UNNAMED, Gathered, document
from ...lab.markers.lexicon import LEAST_DATASETS, UNSTABLE, own_lexicon
from ...lab.markers.rows import read_rows
from ...lab.markers.running import Read, ToMeasure, Words
from ...lab.report.markers import render
from ...monitoring.markers import MarkerDrift
from ...types import Json
from ..shared.files import readable, write_file, write_page
from ..shared.judging import Judge, RouteOfAudit, Way, check, judging, paced
from ..shared.messages import confirm, counted, one_sentence, say, show_text, stop
from ..shared.options import CONFIG, ConfigPath, HtmlPage, JsonForTables, SkipBad, Yes
from ..shared.showing import show, styled, terminal
from ..shared.store import open_audit
from ..shared.times import moment
from .marker_drift import in_json, print_drift, read_drift

KEPT = ".markers.jsonl"
"""Suffix of the file beside the data that stores a language model's replies."""
SHOWN = 25
"""Number of markers in the printed table; JSON and the page have all."""
LOCAL_COMPARISON_S = 0.02
"""Approximate seconds of the shipped judge for a sentence and a further answer."""
KEEPS_NOTHING = "keeps no answer with its words and several samples; routes keep them with `store_text: full`"


@dataclass(frozen=True, slots=True)
class _Source:
    """The source of rows: a file (`path`) or the audit (`drift`)."""

    name: str
    read: Read
    path: Path | None
    drift: list[MarkerDrift] | None = None


@dataclass(frozen=True, slots=True)
class _Audited:
    """Which answers of the audit, and which words of them."""

    since: str
    words: Words
    route: str | None
    config: Path


USUAL = ",".join(map(str, THRESHOLDS))

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="JSONL of sentences {text or marker, confidence, ...} or answers {question, answer, samples, ...}; plain, .gz or .xz.",
    ),
]
Audit = Annotated[
    bool,
    typer.Option("--audit", help="Instead of --data: the answers whose words the audit keeps, each route a dataset."),
]
Wording = Annotated[
    Words, typer.Option("--words", help="With --audit: markers of the model's own words, or of what was served.")
]
Thresholds = Annotated[
    str, typer.Option(help="Fewest sentences of a marker in a dataset, one or more numbers; charts show the first.")
]
TestShare = Annotated[
    float,
    typer.Option(
        min=0.0, max=0.9, help="Split datasets with a single split by response: this share becomes their test split."
    ),
]
Lexicon = Annotated[
    Path | None,
    typer.Option(help="Write the model's own lexicon here (.json): markers whose meaning to it holds across datasets."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help=f"JSONL that keeps the measured sentences and is read again. Default with --judge llm: DATA{KEPT}; else none."
    ),
]


def markers(
    data: Data = None,
    audit: Audit = False,
    since: Annotated[str, typer.Option(help="With --audit: how far back, such as 14d, or a date.")] = "30d",
    words: Wording = "own",
    judge: Judge = "none",
    route: RouteOfAudit = None,
    as_json: JsonForTables = False,
    thresholds: Thresholds = USUAL,
    test_share: TestShare = 0.0,
    report: HtmlPage = None,
    lexicon: Lexicon = None,
    model: Annotated[
        str | None, typer.Option(help="Only this model; required by --lexicon if there are several.")
    ] = None,
    out: Out = None,
    skip_bad: SkipBad = False,
    concurrency: Annotated[int, typer.Option(min=1, help="With --judge llm: calls under way at once.")] = 4,
    yes: Yes = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Measure the confidence behind a model's epistemic markers: marker internal confidence and every metric of its stability."""
    at = _thresholds(thresholds)
    if (data is None) is not audit:
        stop("name a file with --data, or take the audit with --audit")
    if words == "served" and not audit:
        stop("--words served is for --audit: a file has one answer a line")
    if out is None and judge == "llm":
        out = Path(f"audit{KEPT}") if data is None else data.with_name(data.name + KEPT)
    way = Way(judge, route, config, out, concurrency, yes)
    with (
        one_sentence(on_interrupt="stopped; the same command continues" if out else "stopped"),
        _source(data, _Audited(since, words, route, config)) as source,
    ):
        gathered, unfinished = anyio.run(_gathered, source, way, skip_bad)
    _only(gathered, model)
    if not gathered.sentences and (lexicon or not source.drift):
        stop(_nothing(source, gathered))
    figures = {"data": source.name, "judge": judge, "thresholds": at} | document(
        gathered, thresholds=at, test_share=test_share
    )
    if source.drift is not None:
        figures |= {"words": words, "drift": [in_json(row) for row in source.drift]}
    if report is not None:
        write_page(report, render(figures))
    if lexicon is not None:
        _write_lexicon(lexicon, figures, gathered)
    show_text(json.dumps(figures, indent=2, allow_nan=False)) if as_json else _print(figures, source)
    if unfinished:
        stop(f"{counted(unfinished, 'answer')} could not be measured yet; the same command continues with them", code=1)


def _thresholds(text: str) -> list[int]:
    try:
        at = [int(part) for part in text.split(",")]
    except ValueError:
        at = []
    if not at or min(at) < 1:
        stop(
            f"Invalid --thresholds value {text!r}. Use whole numbers of 1 or more with commas between them, such as 10,20,50,100."
        )
    return list(dict.fromkeys(at))


def _only(gathered: Gathered, model: str | None) -> None:
    """Keep the sentences of one model only."""
    if model is None:
        return
    known = sorted({sentence.model for sentence in gathered.sentences})
    if model not in known:
        stop(f"no model is called {model!r}; the models are {', '.join(name or UNNAMED for name in known)}")
    gathered.sentences = [sentence for sentence in gathered.sentences if sentence.model == model]


def _write_lexicon(path: Path, figures: Json, gathered: Gathered) -> None:
    """Write the lexicon of the model; not if it would be empty."""
    if len(figures["models"]) > 1:
        stop(
            f"--lexicon holds one model; name it with --model: {', '.join(model['model'] for model in figures['models'])}"
        )
    own = own_lexicon(figures["models"][0], gathered.sentences)
    if not len(own):
        stop(
            f"{path} is not written: no marker has {THRESHOLDS[0]} sentences in each of {LEAST_DATASETS} datasets and an own CD-MAE below {UNSTABLE:g}",
            code=1,
        )
    write_file(path, to_json(own))
    entries = f"{path}: {len(own)} {'entry' if len(own) == 1 else 'entries'}"
    if any(hedge.frames for hedge in own):
        say(f"{entries}; hedgerow lexicon check {path}", err=True)
    else:
        say(
            f"{entries}, none of which can word an answer: what they say of the model can be read, and no route can name the file",
            err=True,
        )


def _nothing(source: _Source, gathered: Gathered) -> str:
    name = source.name
    if gathered.unread and not gathered.several:
        return f"{name}: no sentence is in English; markers of other languages are not known"
    if gathered.several:
        return f"{name}: every sentence bears several markers; only sentences with one or none are counted"
    if not source.path and not gathered.unasserting and not gathered.unread:
        return f"{name} {KEEPS_NOTHING}"
    return f"{name}: no answer holds a sentence that asserts something"


@contextmanager
def _source(data: Path | None, audited: _Audited) -> Iterator[_Source]:
    """The file, or the audit while it is open."""
    if data is not None:
        yield _Source(data.name, partial(read_rows, data), data)
        return
    after, route = moment(audited.since), audited.route
    with open_audit(audited.config) as (_, engine):
        read = partial(running.from_audit, engine, after, audited.words, route)
        yield _Source("the audit", read, None, read_drift(engine, after, route))


async def _gathered(source: _Source, way: Way, skip_bad: bool) -> tuple[Gathered, int]:
    """The sentences, and the number of answers left for another run."""
    with way.ledger() as ledger:
        kept = running.kept_in(way.out)
        with readable(source.path) if source.path else nullcontext():
            looked = running.look(source.read, kept)
        if source.path:
            check(looked.rows, str(source.path), skip_bad, nothing="contains no sentence and no answer")
        _note_samples(looked)
        _confirm(way, looked)
        async with judging(measuring, way) as judge:
            with paced(way, source.name, looked.rows.left) as pace:
                gathered, outcome = await running.gather(source.read, judge, kept, ledger, pace)
    return gathered, looked.rows.left - outcome.done


def _note_samples(looked: ToMeasure) -> None:
    if looked.fewest == 1:
        say("note: some answers have one further answer: confidence in their sentences is 0, ½ or 1", err=True)
    if looked.fewest != looked.most:
        say(
            f"note: answers have {looked.fewest} to {looked.most} further ones: confidence is coarser where they are fewer",
            err=True,
        )


def _confirm(way: Way, looked: ToMeasure) -> None:
    """Show the cost of measuring and ask for confirmation."""
    if not looked.rows.left or way.judge == "none":
        return
    work = f"{counted(looked.rows.left, 'answer')} to measure, {counted(looked.comparisons, 'comparison')} of a sentence with a further answer"
    if way.judge == "local":
        minutes = looked.comparisons * LOCAL_COMPARISON_S / 60
        say(f"{work}: by the shipped judge, in this process, some {minutes:.0f} minutes", err=True)
    else:
        confirm(f"{work}: one call of the judge an answer", way.yes)


def _print(figures: Json, source: _Source) -> None:
    console = terminal()
    if source.drift and not figures["sentences"]:
        console.print(f"{source.name} {KEEPS_NOTHING}; what follows needs neither", soft_wrap=True)
    else:
        _print_figures(console, figures)
    if source.drift is not None:
        print_drift(console, source.drift)


def _print_figures(console: Console, figures: Json) -> None:
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
    """By marker: its MIC over all datasets, and the confidence that people read in it; the page and --json have each dataset."""
    counts = "train sentences" if any(of["test"] for of in model["datasets"]) else "sentences"
    table = Table("marker", counts, "datasets", "MIC", "right", "people read", "own CD-MAE", box=None, pad_edge=False)
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
            _number(row["own_cd_mae"]),
        )
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _cell(figure: Json) -> str:
    if figure["value"] is None:
        return "–"
    return f"{figure['value']:.3f}" + (f" ± {figure['deviation']:.2f}" if figure["deviation"] is not None else "")
