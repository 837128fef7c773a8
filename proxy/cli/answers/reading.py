"""`hedgerow confidence` and `hedgerow claims`: the confidence in recorded answers and in single claims, one JSON object a line."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, BinaryIO

import anyio
import orjson
import typer

from ...errors import StepFailed
from ...lab import reading
from ...lab.reading import Judging
from ...outcomes import explain
from ...types import Json
from ..shared.files import no_row, unreadable
from ..shared.judging import Judge, RouteName, Way, judging
from ..shared.lines import json_lines
from ..shared.messages import one_sentence, say, show_text, stop
from ..shared.options import CONFIG, ConfigPath
from ..shared.progress import advancing

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line. The only format.")]
Data = Annotated[Path | None, typer.Option(help="A file of such lines. Unset: standard input.")]
Measure = Callable[[object, Judging], Awaitable[tuple[Json, str | None]]]


def confidence(
    data: Data = None,
    as_json: AsJson = True,
    judge: Judge = "none",
    route: RouteName = None,
    config: ConfigPath = CONFIG,
) -> None:
    """Read {question, samples} a line (samples: a list of texts), print {draft, mean, alpha, beta, groups}: raw, before any map."""
    _measure_lines(reading.confidence, data, Way(judge, route, config))


def claims(
    data: Data = None,
    as_json: AsJson = True,
    judge: Judge = "none",
    route: RouteName = None,
    config: ConfigPath = CONFIG,
) -> None:
    """Read {question, answer, samples, claims, stated} a line, print each claim with {text, mean, alpha, beta, by}: raw, before any map.

    claims may be left out: they are then found. stated, how sure the model itself says it is of each of them, may be left out too.
    """
    _measure_lines(reading.claims, data, Way(judge, route, config))


def _measure_lines(measure: Measure, data: Path | None, way: Way) -> None:
    with (
        one_sentence(),
        nullcontext(sys.stdin.buffer) if data is None else _opened(data) as opened,
        _watched(opened) as lines,
    ):
        measured = anyio.run(_each_line, measure, lines, way)
    if data is not None and not measured:
        no_row(data, 'a JSON object a line, such as {"samples": ["Bonn", "Berlin"]}')


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        unreadable(path, error)


@contextmanager
def _watched(opened: BinaryIO) -> Iterator[Iterable[bytes]]:
    """The lines of a file, with a progress bar while they are read; none where the results go to the terminal, or the end of the lines is not known."""
    if sys.stdout.isatty() or not opened.seekable():
        yield opened
        return
    start = opened.tell()
    total = sum(1 for _ in opened)
    opened.seek(start)
    with advancing("Measuring", total) as bar:
        yield _each(opened, bar.advance)


def _each(lines: Iterable[bytes], done: Callable[[], None]) -> Iterator[bytes]:
    for line in lines:
        yield line
        done()


async def _each_line(measure: Measure, lines: Iterable[bytes], way: Way) -> int:
    """Measure every line; returns their number."""
    count = 0
    async with judging(reading, way) as made:
        for number, row in json_lines(lines):
            await _one_line(measure, made, number, row)
            count += 1
    return count


async def _one_line(measure: Measure, by: Judging, number: int, row: object) -> None:
    try:
        result, failure = await measure(row, by)
    except reading.BadInput as error:
        stop(f"line {number}: {error}")
    except StepFailed as error:
        stop(f"line {number}: {error}", code=1)
    if failure is not None:
        say(f"line {number}: measured without the judge. {explain(failure)} ({failure})", err=True)
    if sum(map(len, result.get("groups", ()))) == 1:
        say(f"line {number}: one sample agrees with itself: its confidence says nothing. Give two or more.", err=True)
    if result.get("claims") == []:
        say(
            f"line {number}: no claim found. The answer states nothing, or its language is not one whose claims are found.",
            err=True,
        )
    show_text(orjson.dumps(result).decode())
