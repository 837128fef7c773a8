"""Server-sent events in the form that OpenAI's clients read.

Comment lines are safe keep-alives; custom `event:` names are not (clients read them as empty chunks), so our own data
is in an extra top-level field. An error after the start is `data: {"error": ...}`, which clients raise after the
earlier chunks.
"""

from __future__ import annotations

import re
from typing import Any

from ..strict_json import dumps
from ..types import Json

STREAM = "text/event-stream"
DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": keep-alive\n\n"
_END = re.compile(rb"\n\r?\n|\r\r")


class Reader:
    """Splits a stream into its events as it arrives, in time linear in its length however it is split."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._tail = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The events completed by this piece, as they were received."""
        if not self._tail and not any(self._parts):
            data = data.removeprefix(b"\xef\xbb\xbf")
        self._parts.append(data)
        window = self._tail + data
        self._tail = window[-2:]
        if _END.search(window) is None:
            return []
        stream, start, events = b"".join(self._parts), 0, []
        for end in _END.finditer(stream):
            events.append(stream[start : end.end()])
            start = end.end()
        self._parts = [stream[start:]]
        return events


def begins_stream(data: bytes) -> bool:
    """Whether a body begins like a stream, whatever its content type says."""
    return data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"data:", b"event:", b"id:", b"retry:", b":"))


def data_of(event: bytes) -> bytes:
    """The data of an event; empty for a comment."""
    return b"\n".join(line[5:].strip() for line in event.splitlines() if line.startswith(b"data:"))


def event(data: Any) -> bytes:
    """One event."""
    return b"data: " + dumps(data) + b"\n\n"


def named_event(name: str, data: Any) -> bytes:
    """One event with a name, as in Responses and Messages."""
    return b"event: " + name.encode() + b"\ndata: " + dumps(data) + b"\n\n"


def _chunk(answer: Json, choices: list[Json]) -> Json:
    """The fields that every chunk of an answer has: those of the completion object except choices and usage."""
    kind = "chat.completion.chunk" if is_chat(answer) else "text_completion"
    rest = {key: value for key, value in answer.items() if key not in ("choices", "usage", "object", "hedgerow")}
    return rest | {"object": kind, "choices": choices}


def is_chat(answer: Json) -> bool:
    """Whether a completion object is from chat."""
    return answer.get("object") != "text_completion"


def _delta(answer: Json, index: int, delta: Json, finish_reason: str | None = None) -> Json:
    choice: Json = {"index": index, "finish_reason": finish_reason, "logprobs": None}
    return choice | ({"delta": delta} if is_chat(answer) else {"text": delta.get("content", "")})


def message(answer: Json, delta: Json, index: int = 0) -> bytes:
    """A part of a message: its role, a piece of its text, tool calls, a refusal, unknown fields."""
    return event(_chunk(answer, [_delta(answer, index, delta)]))


def finish(
    answer: Json, reason: str | None, described: Json | None = None, extra: Json | None = None, *, index: int = 0
) -> bytes:
    """The last chunk of a choice, with its finish reason, what describes it as a whole, and our own field."""
    chunk = _chunk(answer, [_delta(answer, index, {}, reason or "stop") | (described or {})])
    return event(chunk | {"hedgerow": extra} if extra is not None else chunk)


def usage(answer: Json, counts: Json) -> bytes:
    """The chunk without choices that `stream_options.include_usage` requests."""
    return event(_chunk(answer, []) | {"usage": counts})
