"""`hedgerow experiment`: the paper's experiment on your own models and questions, in one command."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import structlog
import typer

from ....calibration.errors import CalibrationError
from ...config import Settings
from ...errors import ConfigError, HedgerowError
from ...lab.experiment import Case, Experiment, Run, load_experiment, missing, run_case
from ...lab.report.experiment import write_report
from ...lab.spreading import place
from ...services.services import open_pipelines
from ...spending.prices import Prices, open_prices
from ..shared.messages import agree, one_sentence, say, show_text
from ..shared.options import On, Yes
from ..shared.progress import progress_bar
from ..shared.settings import configuration

app = typer.Typer(
    no_args_is_help=True, help="Collect, grade, fit, reword and measure on your own models and questions."
)


@app.callback()
def group() -> None:
    """Keep `run` a subcommand."""


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The experiment, see docs/experiments.md.")],
    yes: Yes = False,
    on: On = None,
) -> None:
    """Run an experiment; run it again after whatever stopped it."""
    with one_sentence(on_interrupt="stopped; what came is on disk, run the same command to continue"):
        experiment = load_experiment(file)
        settings, cases = _cases(experiment)
        _confirm(cases, open_prices(settings.prices), yes)
        with place(on) as where:
            runs = asyncio.run(_run_all(settings, [replace(case, place=where) for case in cases]))
        written = write_report(experiment.out, runs)
    show_text(next(path for path in written if path.suffix == ".md").read_text(encoding="utf-8"))
    for path in written:
        say(f"Report written to {path}", err=True)


def _cases(experiment: Experiment) -> tuple[Settings, list[Case]]:
    """The configuration with the experiment's routes, and every route with every set."""
    settings = configuration(experiment.config)
    by_name = {route.name: route for route in settings.routes}
    if unknown := [name for name in experiment.routes if name not in by_name]:
        raise ConfigError(
            f"{experiment.config}: no route is called {unknown[0]!r}; the routes are {', '.join(by_name)}"
        )
    if experiment.judge and experiment.judge.upstream not in settings.upstreams:
        raise ConfigError(f"judge.upstream: {experiment.config} has no upstream {experiment.judge.upstream!r}")
    # a route that is off has no pipeline; here every route needs one
    routes = tuple(by_name[name].model_copy(update={"mode": "on"}) for name in experiment.routes)
    settings = settings.model_copy(update={"routes": routes})
    return settings, [Case(experiment, settings, route, one) for route in routes for one in experiment.questions]


def _confirm(cases: list[Case], prices: Prices, yes: bool) -> None:
    """Show the remaining cost and ask for confirmation."""
    left = {f"{case.route.name} on {case.set.name}": asyncio.run(missing(case)) for case in cases}
    for name, todo in left.items():
        for what, spent in todo.costs.items():
            if spent.calls:
                asked = f"{todo.questions} questions to ask, " if what == "draw" else ""
                tokens = f"about {spent.prompt_tokens:,} tokens of prompts and {spent.tokens:,} of answers"
                line = f"{asked}{spent.answers} answers to {what}, {tokens}: {spent.in_dollars(prices)}"
                say(f"{name}: {line}", err=True)
    if any(spent.calls for todo in left.values() for spent in todo.costs.values()) and not yes:
        agree("Go on?")


async def _run_all(settings: Settings, cases: list[Case]) -> list[Run]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    runs: list[Run] = []
    failure: HedgerowError | CalibrationError | None = None
    with progress_bar() as progress:
        async with open_pipelines(settings) as services:
            for case in cases:
                name = f"{case.route.name} on {case.set.name}"

                def step(what: str, total: int, name: str = name) -> Callable[[], None]:
                    task = progress.add_task(f"{name}: {what}", total=total)
                    return lambda: progress.advance(task)

                try:
                    runs.append(await run_case(case, services, step))
                except (HedgerowError, CalibrationError) as error:
                    failure = error
                    break
    if failure is not None:
        raise failure
    return runs
