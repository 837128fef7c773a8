"""JSON of clients and upstreams, read so that whatever was read can be written again."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

MOST_LEVELS = 200
"""A text with fewer opening brackets than this is not nested too deeply. `orjson` reads 1,024 levels and writes 254."""
_ROOM = 40
"""Levels that what is read may get around it before it is written."""


class TooDeep(orjson.JSONDecodeError):
    """JSON that is nested deeper than can be written again."""


def loads(data: bytes | str) -> Any:
    """The value of a JSON text: no NaN, no half of a surrogate pair, no number that is infinite, and not too many levels.

    Raises:
        TooDeep: it is JSON, but nested deeper than can be written again.
        orjson.JSONDecodeError: it is not JSON.
    """
    value = orjson.loads(data)
    if is_too_deep(data, value):
        raise TooDeep("nested too deeply", "", 0)
    return value


def dumps(value: Any) -> bytes:
    """The JSON text of a value; halves of surrogate pairs are escaped.

    Raises:
        RecursionError: it is nested too deeply.
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value).encode()


def is_too_deep(data: bytes | str, value: Any) -> bool:
    """Whether a value that was read from `data` is nested deeper than can be written again."""
    opening = data.count(b"[") + data.count(b"{") if isinstance(data, bytes) else data.count("[") + data.count("{")
    if opening < MOST_LEVELS:
        return False
    for _ in range(_ROOM):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return True
    return False


def read_leniently(data: bytes) -> Any:
    """The value of a JSON text as most clients read it: also behind a byte order mark, and with NaN or infinite numbers (here null), with bytes that
    are not UTF-8, or with halves of surrogate pairs, which stay for `mended` to join.

    Raises:
        TooDeep: as `loads`.
        ValueError: it is not JSON to such a reader either.
    """
    try:
        return loads(data)
    except TooDeep:
        raise
    except orjson.JSONDecodeError:
        try:
            value = json.loads(data.decode("utf-8-sig", "replace"), parse_constant=lambda _: None, parse_int=_int)
        except RecursionError as error:
            raise TooDeep("nested too deeply", "", 0) from error
    if is_too_deep(data, value):
        raise TooDeep("nested too deeply", "", 0)
    return value


def _int(digits: str) -> float | None:
    """A number that can be written again."""
    number = int(digits) if len(digits) < 20 else float(digits)
    return number if -(2**63) <= number < 2**64 else float(digits) if math.isfinite(float(digits)) else None


def mended(value: Any) -> Any:
    """A value in which two halves of a surrogate pair are one character, and a half alone is U+FFFD."""
    if isinstance(value, dict):
        return {mended(key): mended(part) for key, part in value.items()}
    if isinstance(value, list):
        return [mended(part) for part in value]
    if not isinstance(value, str) or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value
