"""JSON of clients and upstreams, read so that whatever was read can be written again."""

from __future__ import annotations

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
