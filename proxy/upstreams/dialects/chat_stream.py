"""A stream of chat or plain completions on its way to the client.

Finish reason, usage and `[DONE]` are held back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...types import Json
from .. import sse
from ..assembling import Assembly
from .served import ServedStream


class ServedChat(ServedStream):
    """See `ServedStream`."""

    def __init__(self) -> None:
        super().__init__()
        self._assembly = Assembly()
        self.head = self._assembly.head
        self._finish: Json | None = None  # the chunk with the last finish reason, held back
        self._usage_event = b""  # the chunk with the token usage only, held back

    def _read(self, event: Json, raw: bytes) -> bytes:
        self._assembly.add(event)
        choices = event.get("choices")
        if self.hides_usage and "usage" in event:
            counts = event.pop("usage")
            raw = b"" if counts and not choices else sse.event(event)
        if not choices:
            if not event.get("usage"):
                return raw
            self._usage_event = raw
            return b""
        ending = _ending(choices)
        if not ending:
            return raw  # unexpected fields are for the client to handle
        if len(choices) > 1:
            return self._hold(event, b"")
        choice = ending[0]
        delta = choice.get("delta", choice.get("text"))
        silent: Json = {"delta": {}} if "delta" in choice else {"text": ""}
        if not delta:
            return self._hold(event | {"choices": [choice | silent]}, b"")
        if choice.get("logprobs"):
            silent["logprobs"] = None  # sent together with the text they belong to
        rest = {key: value for key, value in event.items() if key != "usage"}
        passed = sse.event(rest | {"choices": [choice | {"finish_reason": None}]})
        return self._hold(event | {"choices": [choice | silent]}, passed)

    def _hold(self, event: Json, passed: bytes) -> bytes:
        """Hold back the end of a choice; one held for another choice is sent."""
        held, self._finish = self._finish, event
        return passed if held is None or _indices(held) == _indices(event) else sse.event(held) + passed

    def completion(self) -> Json:
        """See `ServedStream`."""
        self._assembly.done = self.ended
        return self._assembly.completion()

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`; the usage chunk is the upstream's own unless `usage` replaces it."""
        first = self.head
        for piece in pieces:
            yield sse.message(first, {"content": piece})
        silent: Json = {"delta": {}} if sse.is_chat(first) else {"text": ""}
        last: Json = {"index": 0, "logprobs": None, "finish_reason": "stop"} | silent
        chunk = (self._finish or first | {"choices": [last]}) | extra
        if usage is None:
            yield sse.event(chunk) + self._usage_event
        else:
            chunk.pop("usage", None)
            yield sse.event(chunk) + sse.usage(first, usage)
        yield sse.DONE


def _ending(choices: object) -> list[Json]:
    """The choices with a finish reason."""
    known = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    return [choice for choice in known if choice.get("finish_reason") is not None]


def _indices(chunk: Json) -> list[Any]:
    return [choice.get("index") for choice in chunk["choices"] if isinstance(choice, dict)]
