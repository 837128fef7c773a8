"""`hedgerow ask`: all steps of the method for one question, shown in the terminal."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Annotated

import typer
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.progress import SpinnerColumn, TimeElapsedColumn
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ...config import Route, Settings
from ...monitoring.diagrams import density_bars
from ...pipeline.job import job_of
from ...pipeline.result import Result, Run
from ...pipeline.run import calibrate
from ...services.services import open_pipelines
from ...types import READERS
from ..shared.messages import counted, one_sentence, stop
from ..shared.options import CONFIG, ConfigPath, ModelToAsk, RouteOrFirst
from ..shared.progress import progress_bar
from ..shared.settings import calibrating_route, configuration
from ..shared.showing import styled, terminal

WIDTH, LEAST_WIDTH = 36, 9
"""Columns of a drawn density: normal and minimum."""
BESIDE = 44
"""Columns for the name and the figures beside a density."""
MAX_SHOWN_CLUSTERS = 8
SOURCES = {"modelled": "lexicon (modelled)", "standard": "a published standard", "people": "people"}
"""Source of a hedge's perceived confidence without counted readers."""


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    config: ConfigPath = CONFIG,
    route: RouteOrFirst = None,
    model: ModelToAsk = "",
) -> None:
    """Show what the proxy does with one question: samples, clusters, confidence, hedges, wording, times."""
    settings = configuration(config)
    if not question.strip():
        stop("the question is empty")
    chosen = calibrating_route(settings, route)
    if not chosen.calibrates:
        stop(f"the route {chosen.name!r} is off; name one that calibrates with --route")
    with one_sentence():
        result = asyncio.run(_run(settings, chosen, question, model))
    _draw(result)


async def _run(settings: Settings, route: Route, question: str, model: str) -> Result:
    """Run the pipeline in this process, without a store, with a progress line."""
    only = settings.model_copy(update={"routes": (route,)})
    with progress_bar(SpinnerColumn(), TimeElapsedColumn()) as progress:
        task = progress.add_task("opening the model")
        async with open_pipelines(only) as services:
            progress.update(task, description=f"drawing {route.sampling.n} answers")
            body = {"model": model, "messages": [{"role": "user", "content": question}]}
            run = Run(job_of(route, "/chat/completions", body, {}))
            await calibrate(run, services.steps[route.name])
    return run.result


def _draw(result: Result) -> None:
    console = terminal()
    console.print()
    console.print(result.job.question, style="bold")
    for section in (_samples, _claims, _confidence, _hedges, _wording, _times):
        section(result, console)


def _heading(console: Console, name: str, note: str = "") -> None:
    title = styled((name, "bold cyan"), ("  " + note if note else "", "dim"))
    console.print()
    console.print(Rule(title, align="left", style="dim"))


def _samples(result: Result, console: Console) -> None:
    """The samples, grouped by meaning; the draft is marked."""
    if result.clustering is None:
        _heading(console, "Samples", f"{len(result.drawn.samples)} drawn")
        for sample in result.drawn.samples:
            console.print("  " + sample.text)
        return
    clusters, draft = result.clustering.clusters, result.clustering.draft_index
    _heading(
        console, "Samples", f"{counted(len(result.drawn.compared), 'answer')}, {counted(len(clusters), 'meaning')}"
    )
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for rank, cluster in enumerate(clusters[:MAX_SHOWN_CLUSTERS]):
        style = "green" if rank == 0 else ""
        first = sorted(cluster, key=lambda index: index != draft)  # the others stay in the order drawn
        wordings = Counter(result.drawn.samples[result.drawn.compared[index]].text for index in first)
        for place, (text, times) in enumerate(wordings.items()):
            mark = "draft ▸" if rank == place == 0 else ""
            size = f"{len(cluster)} ×" if place == 0 else ""
            again = f"  ({times} times)" if times > 1 else ""
            table.add_row(Text(mark, style="bold green"), size, styled((text, style), (again, "dim")))
    console.print(table)
    if (hidden := len(clusters) - MAX_SHOWN_CLUSTERS) > 0:
        console.print(f"        … and {counted(hidden, 'more meaning')}", style="dim")


def _claims(result: Result, console: Console) -> None:
    """For a long answer, each claim with its support and the numbers of the answers that support or contradict it."""
    if not result.claims:
        return
    _heading(console, "Claims", f"held against {len(result.held_against)} other answers, numbered in the order drawn")
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    by_words = all(claim.by not in READERS for claim in result.claims)  # no judge has read the other answers
    for column in ("claim", "sure", "words are in" if by_words else "said by", "contradicted by"):
        table.add_column(
            column, ratio=1 if column == "claim" else None, justify="right" if column == "sure" else "left"
        )
    for claim in result.claims:
        bearings = list(zip(result.held_against, claim.borne_out, strict=True))
        by = {says: ", ".join(str(i + 1) for i, each in bearings if each is says) or "–" for says in (True, False)}
        style = "green" if claim.calibrated.mean >= 0.5 else "yellow"
        table.add_row(claim.statement, Text(f"{claim.calibrated.mean:.2f}", style), by[True], by[False])
    console.print(table)


def _confidence(result: Result, console: Console) -> None:
    """Both Betas, drawn as densities."""
    if (confidence := result.confidence) is None:
        return
    note = (
        f"map {confidence.map_id}" if confidence.map_id else "uncalibrated: no map has been fitted for this route yet"
    )
    _heading(console, "Confidence", f"{confidence.signal} signal, {note}")
    width = max(LEAST_WIDTH, min(WIDTH, console.width - BESIDE))
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for name, beta, style in (("raw", confidence.raw, "yellow"), ("calibrated", confidence.calibrated, "green")):
        figures = f"mean {beta.mean:.3f}  Beta({beta.alpha:.3g}, {beta.beta:.3g})"
        table.add_row(name, Text(density_bars(beta, width), style), figures)
    axis = f"0{'0.5':^{width - 2}}1"
    table.add_row("", Text(axis, "dim"), "")
    console.print(table)


def _hedges(result: Result, console: Console) -> None:
    """The retrieved hedges with their distances."""
    if not result.hedges:
        return
    _heading(console, "Hedges", "nearest to the calibrated confidence (W1: 1-Wasserstein distance)")
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for column, justify in (
        ("", "left"),
        ("W1", "right"),
        ("phrase", "left"),
        ("perceived as", "left"),
        ("read by", "left"),
    ):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for match in result.hedges:
        hedge = match.hedge
        used = result.rewording is not None and result.rewording.hedge == hedge.id
        phrase = hedge.phrase or "(no hedge)"
        source = f"{hedge.readers} people" if hedge.readers else SOURCES[hedge.source]
        perceived = f"mean {hedge.beta.mean:.3f}  Beta({hedge.beta.alpha:.3g}, {hedge.beta.beta:.3g})"
        style = "bold green" if used else ""
        table.add_row(Text("▸" if used else "", style), f"{match.distance:.4f}", Text(phrase, style), perceived, source)
    console.print(table)
    if result.rewording is None:
        return
    if result.rewording.rewriter == "closing":
        console.print("none of these is written: a note follows the answer", style="dim")
    elif result.rewording.hedge in [match.hedge.id for match in result.hedges[1:]]:
        console.print("those nearer suit this sentence less, or the guard rejected them", style="dim")


def _wording(result: Result, console: Console) -> None:
    """The draft, and the text that the client would read."""
    why = f" ({result.reason})" if result.reason else ""
    _heading(console, "Answer", f"{result.status}{why}")
    shown: list[tuple[str, RenderableType, str]] = [("draft", Text(result.draft or ""), "dim")]
    believed = f", which a reader believes {read.mean:.0%}" if (read := result.perceived_confidence) else ""
    shown.append((f"answer{believed}", Text(result.text or "", style="bold"), "green"))
    for title, text, style in shown:
        console.print(Panel(text, title=title, title_align="left", border_style=style))


def _times(result: Result, console: Console) -> None:
    """Milliseconds a step, and tokens."""
    steps = [part for name, ms in result.timings_ms.items() for part in (f"  {name} ", (f"{ms:,.1f}", "bold"))]
    _heading(console, "Milliseconds")
    console.print(Text.assemble(*steps))
    usage = result.usage
    spent = f"{sum(usage[name].total for name in ('answer', 'samples', 'judge'))} to answer, {usage['rewrite'].total} to reword"
    console.print(f"  tokens: {spent}", style="dim")
