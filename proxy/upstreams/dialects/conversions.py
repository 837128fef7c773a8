"""The endpoints that can be converted to chat. To add one, write a module of pure functions and a line here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from types import ModuleType
from typing import NamedTuple

from ...types import Json
from .. import sse
from ..answers import error_of, status_of, usage_of
from . import messages, messages_in_chat, responses, responses_in_chat
from .chat_parts import Parts, Step, parts_of
from .in_chat import Said
from .served import broken_off, decoded, tells_error


class Conversion(NamedTuple):
    """How an endpoint is converted to chat and back: two modules of pure functions with these names.

    Attributes:
        words: `request`, `begun`, `item`, `ended`, `goes_on`, `error`: requests in the words of chat, and answers from its parts.
        own: `completion`, `opening`, `item_events`, `ending`, `encoded`, `error_event`: the endpoint's own format.
    """

    words: ModuleType
    own: ModuleType


CONVERSIONS: Mapping[str, Conversion] = {
    "/responses": Conversion(responses_in_chat, responses),
    "/messages": Conversion(messages_in_chat, messages),
}
"""By path relative to `/v1`."""


def answers(conversion: Conversion, body: Json, completion: Json) -> list[Json]:
    """The choices of a chat completion, each as an answer of the endpoint."""
    head = _head(completion)
    several = completion["choices"]
    if isinstance(completion.get("usage"), dict):
        head = replace(head, usage=usage_of(completion).of_one(len(several)))
    begun = conversion.words.begun(body, head)
    return [
        conversion.words.ended(begun, replace(head, finish=str(choice.get("finish_reason") or "")), parts_of(choice))
        for choice in several
    ]


def _head(answer: Json) -> Said:
    """Id, model and time of a completion object or chunk; id and time are generated if missing."""
    name, model, created = answer.get("id"), answer.get("model"), answer.get("created")
    return Said(
        name if isinstance(name, str) and name else secrets.token_hex(12),
        model if isinstance(model, str) else "",
        created if isinstance(created, int) else int(time.time()),
    )


class LiveAnswer:
    """The chunks of a chat answer as the events of another endpoint, as they come."""

    def __init__(self, conversion: Conversion, body: Json) -> None:
        self._words, self._own, self._body = conversion.words, conversion.own, body
        self._reader, self._parts, self._numbers = sse.Reader(), Parts(), count()
        self._said: Said | None = None
        self._head: Json = {}
        self._begun: Json = {}
        self._events: list[Json] = []  # of the growing part, from its first piece on
        self._failed = False

    def take(self, data: bytes) -> bytes:
        """Read received bytes; returns the resulting events.

        Raises:
            UpstreamError: an event is not a chunk.
        """
        return b"".join(map(self._take_event, self._reader.feed(data)))

    def end(self) -> bytes:
        """The events that end the answer.

        Raises:
            UpstreamError: the upstream's stream is incomplete.
        """
        begun = self.take(b"\n\n")  # the blank line after the last event may be missing
        if self._failed:
            return begun
        if self._said is None or not self._said.finish:
            raise broken_off()
        rest = b"".join(map(self._step, self._parts.end()))
        return (
            begun + rest + self._sent(self._own.ending(self._words.ended(self._begun, self._said, self._parts.known)))
        )

    def _take_event(self, raw: bytes) -> bytes:
        data = sse.data_of(raw)
        if data == b"[DONE]" and self._said is not None and not self._said.finish:
            self._said = replace(self._said, finish="stop")  # some servers send no more than this
        if not data or self._failed or data == b"[DONE]":
            return raw if raw.startswith(b":") else b""  # a comment keeps the connection open
        chunk = decoded(data)
        if tells_error(chunk, raw):
            self._failed = True
            error = {"error": error_of(chunk)}
            failed: bytes = self._own.error_event(self._words.error(status_of(error), error))
            return failed
        return self._take_chunk(chunk)

    def _take_chunk(self, chunk: Json) -> bytes:
        opened = b""
        if self._said is None:
            self._head |= {name: value for name, value in chunk.items() if value}
            if not chunk.get(
                "choices"
            ):  # some servers send what describes the prompt before anything that describes the answer
                return b""
            self._said = _head(self._head)
            self._begun = self._words.begun(self._body, self._said)
            opened = self._sent(self._own.opening(self._begun))
        if isinstance(chunk.get("usage"), dict):
            self._said = replace(self._said, usage=usage_of(chunk))
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return opened
        if isinstance(choice.get("finish_reason"), str):
            self._said = replace(self._said, finish=choice["finish_reason"])
        delta, probabilities = choice.get("delta") or choice.get("message"), choice.get("logprobs")
        known = probabilities.get("content") if isinstance(probabilities, dict) else None
        steps = self._parts.take(delta, known) if isinstance(delta, dict) else iter(())
        return opened + b"".join(map(self._step, steps))

    def _step(self, step: Step) -> bytes:
        kind, part, piece = step
        if kind == "goes on":
            return self._sent([self._words.goes_on(self._events[0], part, piece)])
        item = self._words.item(self._begun, part)
        events = list(self._own.item_events(item, part.number, lambda text: [text]))
        first = next(i for i, event in enumerate(events) if event["type"].endswith("delta"))
        self._events = events[first:]
        return self._sent(events[:first] if kind == "begins" else events[first + 1 :])

    def _sent(self, events: Iterable[Json]) -> bytes:
        return b"".join(self._own.encoded(event, next(self._numbers)) for event in events)
