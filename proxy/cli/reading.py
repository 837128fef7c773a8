"""`hedgerow confidence` and `hedgerow claims`: the confidence in recorded answers and in single claims, one JSON object a line."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import orjson
import typer

from hedgerow.proxy.cli.common import CONFIG, ConfigPath, calibrating_route, configuration, one_sentence, stop
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.lab import reading
from hedgerow.proxy.lab.reading import JudgeKind, Judging
from hedgerow.proxy.outcomes import explain
from hedgerow.proxy.types import Json

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line. The only form there is.")]
Judge = Annotated[
    JudgeKind,
    typer.Option(
        "--judge",
        help="Who reads beside rules and words. none: nobody; local: the shipped judge (English; extra `judge`); llm: the model and upstream of the route's `judge`, one call a line.",
    ),
]
RouteName = Annotated[
    str | None, typer.Option("--route", help="With --judge llm: whose judge. Default: the first route that calibrates.")
]
Measure = Callable[[object, Judging], Awaitable[tuple[Json, str | None]]]


def confidence(
    as_json: AsJson = True, judge: Judge = "none", route: RouteName = None, config: ConfigPath = CONFIG
) -> None:
    """Read {question, samples} a line from standard input (samples: a list of texts), print {draft, mean, alpha, beta, groups}: raw, before any map."""
    _measure_lines(reading.confidence, judge, route, config)


def claims(as_json: AsJson = True, judge: Judge = "none", route: RouteName = None, config: ConfigPath = CONFIG) -> None:
    """Read {question, answer, samples, claims} a line (claims may be left out), print each claim with {text, mean, alpha, beta, by}: raw, before any map."""
    _measure_lines(reading.claims, judge, route, config)


def _measure_lines(measure: Measure, judge: JudgeKind, route: str | None, config: Path) -> None:
    with one_sentence():
        anyio.run(partial(_each_line, measure, judge, route, config))


async def _each_line(measure: Measure, judge: JudgeKind, route: str | None, config: Path) -> None:
    async with _judging(judge, route, config) as judging:
        for number, line in enumerate(sys.stdin.buffer, start=1):
            if line.strip():
                await _one_line(measure, judging, number, line)


async def _one_line(measure: Measure, judging: Judging, number: int, line: bytes) -> None:
    try:
        result, failure = await measure(orjson.loads(line), judging)
    except orjson.JSONDecodeError as error:
        stop(f"Line {number} is not valid JSON: {error.msg} at character {error.pos}.")
    except reading.BadInput as error:
        stop(f"Line {number}: {error}")
    except StepFailed as error:
        stop(f"Line {number}: {error}", code=1)
    if failure is not None:
        typer.echo(f"Line {number}: measured without the judge. {explain(failure)} ({failure})", err=True)
    sys.stdout.buffer.write(orjson.dumps(result) + b"\n")
    sys.stdout.buffer.flush()


@asynccontextmanager
async def _judging(judge: JudgeKind, route: str | None, config: Path) -> AsyncIterator[Judging]:
    if judge == "none":
        yield reading.by_words()
        return
    if judge == "local":
        yield reading.by_local_judge()
        return
    settings = configuration(config)
    async with reading.by_language_model(settings, calibrating_route(settings, route)) as judging:
        yield judging
