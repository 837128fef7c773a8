"""The shape of a request: everything that an upstream may refuse except its words. Requests of one shape are accepted alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import orjson

from ...types import Json

Shape = tuple[object, ...]

_WORDS = ("messages", "input", "prompt", "system", "instructions")
"""Fields whose texts differ from request to request."""
_NAMES = ("metadata", "user", "safety_identifier", "prompt_cache_key", "previous_response_id")
"""Fields that name a user, a cache or another request; no upstream refuses a request for their values."""


def shape_of(body: Json) -> Shape:
    """The shape of a request: its fields and values, roles and types of its messages, and its size. Numbers count by their power of two.

    >>> ask = {"model": "m", "max_tokens": 60, "messages": [{"role": "user", "content": "Hi"}]}
    >>> shape_of(ask) == shape_of(ask | {"max_tokens": 40, "messages": [{"role": "user", "content": "Ho"}]})
    True
    >>> shape_of(ask) == shape_of(ask | {"max_tokens": 10**9})
    False
    """
    fields = {name: _magnitude(value) for name, value in body.items() if name not in _WORDS + _NAMES}
    kinds = sorted({kind for name in _WORDS for kind in _kinds(body.get(name))})
    encoded = orjson.dumps([fields, kinds], option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hash(encoded), len(orjson.dumps(body)).bit_length()


def _magnitude(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [math.copysign(1, value), math.frexp(value)[1]] if value else 0
    return value


def _kinds(content: Any) -> Iterator[str]:
    """Roles, types and field names of messages and their parts."""
    if isinstance(content, list):
        for part in content:
            yield from _kinds(part)
    elif isinstance(content, dict):
        yield from (f"{name}={content[name]}" if name in ("role", "type") else name for name in content)
        yield from _kinds(content.get("content"))
