"""`hedgerow ask`: the whole method for one question, drawn in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.proxy.cli.common import ConfigPath, configuration, stop

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from hedgerow.proxy.config import Route, Settings
    from hedgerow.proxy.pipeline.job import Flow

WIDTH = 36
"""Columns of a drawn density."""
MAX_SHOWN_CLUSTERS = 8


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    config: ConfigPath = Path("config.yaml"),
    route: Annotated[str | None, typer.Option(help="Name of the route. Default: the first that calibrates.")] = None,
    model: Annotated[str, typer.Option(help="Model to ask for, where the route does not fix one.")] = "",
) -> None:
    """Show what the proxy does with one question: samples, clusters, confidence, hedges, wording, times."""
    import asyncio

    from hedgerow.proxy.errors import ConfigError, HedgerowError

    settings = configuration(config)
    if not question.strip():
        stop("the question is empty")
    chosen = _route(settings, route)
    try:
        flow = asyncio.run(_run(settings, chosen, question, model))
    except ConfigError as error:
        stop(str(error))
    except HedgerowError as error:
        stop(str(error), code=1)
    _draw(flow)


def _route(settings: Settings, name: str | None) -> Route:
    """The named route, or the first that calibrates."""
    calibrating = [route for route in settings.routes if route.mode != "off" or route.allow_override]
    if name is not None:
        calibrating = [route for route in calibrating if route.name == name]
    if not calibrating:
        stop(f"there is no route {name!r} that calibrates" if name else "no route of the configuration calibrates")
    return calibrating[0]


async def _run(settings: Settings, route: Route, question: str, model: str) -> Flow:
    """The pipeline, in this process and without a store, under a progress line."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from hedgerow.proxy.pipeline.job import Flow, Job, new_id
    from hedgerow.proxy.pipeline.short import calibrate
    from hedgerow.proxy.services.services import open_pipelines

    only = settings.model_copy(update={"routes": (route,)})
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("opening the model")
        async with open_pipelines(only) as services:
            progress.update(task, description=f"drawing {route.sampling.n} answers")
            body = {"model": model, "messages": [{"role": "user", "content": question}]}
            flow = Flow(Job(new_id(), route, "/chat/completions", body, {}, question))
            await calibrate(flow.job, services.steps[route.name], flow)
    return flow


def _draw(flow: Flow) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    console.print()
    console.print(Text(flow.job.question, style="bold"))
    for section in (_samples, _confidence, _hedges, _wording, _times):
        section(flow, console)


def _heading(console: Console, name: str, note: str = "") -> None:
    from rich.rule import Rule
    from rich.text import Text

    title = Text.assemble((name, "bold cyan"), ("  " + note if note else "", "dim"))
    console.print()
    console.print(Rule(title, align="left", style="dim"))


def _samples(flow: Flow, console: Console) -> None:
    """The samples, grouped by meaning; the draft is marked."""
    from rich.table import Table
    from rich.text import Text

    if flow.clustering is None:
        _heading(console, "Samples", f"{len(flow.samples)} drawn")
        for sample in flow.samples:
            console.print(Text("  " + sample.text))
        return
    clusters = flow.clustering.clusters
    _heading(console, "Samples", f"{len(flow.compared)} answers, {len(clusters)} meanings")
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for rank, cluster in enumerate(clusters[:MAX_SHOWN_CLUSTERS]):
        style = "green" if rank == 0 else ""
        for place, index in enumerate(cluster):
            mark = "draft ▸" if rank == place == 0 else ""
            size = f"{len(cluster)} ×" if place == 0 else ""
            table.add_row(
                Text(mark, style="bold green"), size, Text(flow.samples[flow.compared[index]].text, style=style)
            )
    console.print(table)
    if (hidden := len(clusters) - MAX_SHOWN_CLUSTERS) > 0:
        console.print(f"        … and {hidden} more meanings", style="dim")


def _confidence(flow: Flow, console: Console) -> None:
    """Both Betas, drawn as densities."""
    from rich.table import Table

    from hedgerow.proxy.monitoring.diagrams import density_bars

    if flow.raw is None or flow.calibrated is None or flow.applied is None:
        return
    note = f"map {flow.applied.id}" if flow.applied.id else "uncalibrated: no map has been fitted for this route yet"
    _heading(console, "Confidence", f"{flow.signal} signal, {note}")
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    for name, beta, style in (("raw", flow.raw, "yellow"), ("calibrated", flow.calibrated, "green")):
        figures = f"mean {beta.mean:.3f}  Beta({beta.alpha:.3g}, {beta.beta:.3g})"
        table.add_row(name, f"[{style}]{density_bars(beta, WIDTH)}[/]", figures)
    axis = f"0{'0.5':^{WIDTH - 2}}1"
    table.add_row("", f"[dim]{axis}[/]", "")
    console.print(table)


def _hedges(flow: Flow, console: Console) -> None:
    """The retrieved hedges with their distances."""
    from rich.table import Table

    if not flow.matches:
        return
    _heading(console, "Hedges", "nearest by 1-Wasserstein distance")
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for column, justify in (("W1", "right"), ("phrase", "left"), ("heard as", "left"), ("readers", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for match in flow.matches:
        hedge = match.hedge
        used = flow.rewording is not None and flow.rewording.hedge == hedge.id
        phrase = hedge.phrase or "(no hedge)"
        readers = str(hedge.readers) if hedge.readers else hedge.source
        heard = f"mean {hedge.beta.mean:.3f}  Beta({hedge.beta.alpha:.3g}, {hedge.beta.beta:.3g})"
        table.add_row(f"{match.distance:.4f}", f"[bold green]{phrase}[/]" if used else phrase, heard, readers)
    console.print(table)


def _wording(flow: Flow, console: Console) -> None:
    """The draft and what the client would read."""
    from rich.panel import Panel
    from rich.text import Text

    from hedgerow.proxy.pipeline.result import final_text

    why = f" ({flow.reason})" if flow.reason else ""
    _heading(console, "Answer", f"{flow.status}{why}")
    shown: list[tuple[str, RenderableType, str]] = [("draft", Text(flow.draft), "dim")]
    shown.append(("answer", Text(final_text(flow), style="bold"), "green"))
    for title, text, style in shown:
        console.print(Panel(text, title=title, title_align="left", border_style=style))


def _times(flow: Flow, console: Console) -> None:
    """Milliseconds a step, and tokens."""
    steps = "  ".join(f"{name} [bold]{ms:,.1f}[/]" for name, ms in flow.timings_ms.items())
    _heading(console, "Milliseconds")
    console.print(f"  {steps}")
    spent = f"{flow.answer_usage.total + flow.sample_usage.total} to answer, {flow.rewrite_usage.total} to reword"
    console.print(f"  tokens: {spent}", style="dim")
