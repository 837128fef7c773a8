"""What an upstream may refuse of a request besides its words: requests of one shape are taken alike."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import orjson

from hedgerow.proxy.types import Json

Shape = tuple[object, ...]

_WORDS = ("messages", "input", "prompt", "system", "instructions")
"""Fields whose texts differ from request to request."""
_NAMES = ("metadata", "user", "safety_identifier", "prompt_cache_key", "previous_response_id")
"""Fields that name a user, a place or another request: nothing is refused for what stands in them."""


def shape_of(body: Json) -> Shape:
    """The fields of a request with what they say, numbers by their power of two; the roles and kinds of what is said; how long it is, by its power of two.

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
    """Roles, kinds and names of fields in messages and their parts."""
    if isinstance(content, list):
        for one in content:
            yield from _kinds(one)
    elif isinstance(content, dict):
        yield from (f"{name}={content[name]}" if name in ("role", "type") else name for name in content)
        yield from _kinds(content.get("content"))
