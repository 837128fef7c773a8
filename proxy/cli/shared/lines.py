"""JSON values, one a line, from standard input or a file: the form of commands that work as filters."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from .messages import stop


def json_lines(lines: Iterable[bytes]) -> Iterator[tuple[int, Any]]:
    """Number and value of every line that is not blank; ends the command at one that is not JSON."""
    for number, line in enumerate(lines, start=1):
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if text.strip():
            yield number, _value(number, text)


def _value(number: int, line: bytes) -> Any:
    try:
        return orjson.loads(line.decode())
    except UnicodeDecodeError:
        stop(f"line {number} is not valid UTF-8")
    except orjson.JSONDecodeError as error:
        stop(f"line {number} is not valid JSON: {error.msg} at character {error.pos + 1}")
