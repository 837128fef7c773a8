"""`hedgerow confidence` and `hedgerow claims`: the confidence in recorded answers and in single claims, one JSON object a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Annotated

import anyio
import orjson
import typer

from hedgerow.proxy.cli.common import stop
from hedgerow.proxy.lab import reading
from hedgerow.proxy.types import Json

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line. The only form there is.")]


def confidence(as_json: AsJson = True) -> None:
    """Read {question, samples} a line from standard input (samples: a list of texts), print {draft, mean, alpha, beta, groups}: raw, before any map."""
    _each_line(lambda row: anyio.run(partial(reading.confidence, row)))


def claims(as_json: AsJson = True) -> None:
    """Read {question, answer, samples, claims} a line (claims may be left out), print each claim with {text, mean, alpha, beta, by}: raw, before any map."""
    _each_line(reading.claims)


def _each_line(measure: Callable[[object], Json]) -> None:
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if not line.strip():
            continue
        try:
            result = measure(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            stop(f"Line {number} is not valid JSON: {error.msg} at character {error.pos}.")
        except reading.BadInput as error:
            stop(f"Line {number}: {error}")
        sys.stdout.buffer.write(orjson.dumps(result) + b"\n")
        sys.stdout.buffer.flush()
