"""What both endpoints need that can be asked of an upstream which speaks chat alone: what was said, and what cannot be said in chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hedgerow.proxy.errors import BadRequest
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import Json, Usage


@dataclass(frozen=True, slots=True)
class Said:
    """What a chat answer says beside its parts.

    Attributes:
        id, model, created: as the upstream names them.
        finish: why it ended, in the words of chat; "" before its end.
        usage: the tokens; None where the upstream does not say.
    """

    id: str
    model: str
    created: int
    finish: str = ""
    usage: Usage | None = None


def tail_of(name: str) -> str:
    """The part of an id that is not its kind.

    >>> tail_of("chatcmpl-5f"), tail_of("abc")
    ('5f', 'abc')
    """
    return name.removeprefix("chatcmpl-")


def wrong(place: str, wanted: str) -> BadRequest:
    """The error of a field of the wrong type."""
    return BadRequest(f"`{place}` must be {wanted}", param=place, code=Reason.INVALID_TYPE)


def lacking(place: str, what: str, instead: str) -> BadRequest:
    """The error of a field that chat has no words for."""
    message = (
        f"`{place}`: the upstream of this route is asked through /v1/chat/completions, which does not take {what}; "
        f"{instead}, or use a route whose upstream serves this endpoint itself"
    )
    return BadRequest(message, param=place, code=Reason.NOT_IN_CHAT)


def refuse_kept(body: Json, refused: Mapping[str, str]) -> None:
    """Raise `BadRequest` for a field that cannot be left out without another answer coming of it."""
    for name, instead in refused.items():
        if body.get(name):
            raise lacking(name, f"`{name}`", instead)


def listed(value: object, place: str) -> list[Any]:
    """A list; nothing is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong(place, "a list")
    return value


def text_of(value: object, place: str) -> str:
    """A text; nothing is an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(place, "a string")
    return value


def joined(parts: list[Json], between: str = "") -> str | list[Json]:
    """The content of a chat message: a string where all parts are texts, which every server takes."""
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return between.join(texts) if len(texts) == len(parts) else parts


def called(call_id: object, name: object, arguments: object, place: str) -> Json:
    """A call of a function that was made before, as chat has it."""
    if not isinstance(name, str) or not name:
        raise wrong(f"{place}.name", "a string")
    given = arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()
    return {"id": str(call_id or ""), "type": "function", "function": {"name": name, "arguments": given}}


def function(tool: Json, parameters: object) -> Json:
    """A function that is offered, as chat has it."""
    said = {name: tool[name] for name in ("name", "description", "strict") if tool.get(name) is not None}
    return {"type": "function", "function": said | ({} if parameters is None else {"parameters": parameters})}
