"""Shared helpers for endpoints that are converted to chat: the answer's head, and errors for what chat lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ...errors import BadRequest
from ...outcomes import Reason
from ...types import Json, Usage


@dataclass(frozen=True, slots=True)
class Said:
    """The data of a chat answer apart from its parts.

    Attributes:
        id, model, created: as the upstream names them.
        finish: the finish reason of chat; "" before the end.
        usage: token usage; None if unknown.
    """

    id: str
    model: str
    created: int
    finish: str = ""
    usage: Usage | None = None


def tail_of(name: str) -> str:
    """An id without its prefix for the kind.

    >>> tail_of("chatcmpl-5f"), tail_of("abc")
    ('5f', 'abc')
    """
    return name.removeprefix("chatcmpl-")


def wrong(place: str, wanted: str) -> BadRequest:
    """The error of a field of the wrong type."""
    return BadRequest(f"`{place}` must be {wanted}", param=place, code=Reason.INVALID_TYPE)


def lacking(place: str, what: str, instead: str) -> BadRequest:
    """The error for a field that chat does not support."""
    message = (
        f"`{place}`: the upstream of this route is asked through /v1/chat/completions, which does not take {what}; "
        f"{instead}, or use a route whose upstream serves this endpoint itself"
    )
    return BadRequest(message, param=place, code=Reason.NOT_IN_CHAT)


def refuse_kept(body: Json, refused: Mapping[str, str]) -> None:
    """Raise `BadRequest` for a field that would change the answer if left out."""
    for name, instead in refused.items():
        if body.get(name):
            raise lacking(name, f"`{name}`", instead)


def listed(value: object, place: str) -> list[Any]:
    """A list; None becomes an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong(place, "a list")
    return value


def text_of(value: object, place: str) -> str:
    """A string; None becomes an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(place, "a string")
    return value


def joined(parts: list[Json], between: str = "") -> str | list[Json]:
    """The content of a chat message: a plain string if all parts are texts, which every server accepts."""
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return between.join(texts) if len(texts) == len(parts) else parts


def called(call_id: object, name: object, arguments: object, place: str) -> Json:
    """An earlier function call, in chat format."""
    if not isinstance(name, str) or not name:
        raise wrong(f"{place}.name", "a string")
    arguments_json = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
    return {"id": str(call_id or ""), "type": "function", "function": {"name": name, "arguments": arguments_json}}


def function(tool: Json, parameters: object) -> Json:
    """A function that is offered, in chat format."""
    description = {name: tool[name] for name in ("name", "description", "strict") if tool.get(name) is not None}
    return {"type": "function", "function": description | ({} if parameters is None else {"parameters": parameters})}
