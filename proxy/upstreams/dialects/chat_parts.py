"""Splits a chat answer, whole or in chunks, into parts in order: thoughts, text, refusals, tool calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from ...types import Json
from ..answers import text_of
from ..assembling import NamedParts
from .chat import THOUGHTS

Kind = Literal["thought", "text", "refusal", "call"]


@dataclass(slots=True)
class Part:
    """One piece of an answer.

    Attributes:
        kind: thought, text, refusal or call.
        number: its index among the parts of the answer.
        pieces: its text, or the arguments of a call, in received pieces.
        call_id, name: of a call.
        logprobs, annotations: of a text, in the format of chat completions.
    """

    kind: Kind
    number: int
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    name: str = ""
    logprobs: list[Any] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole text received so far."""
        return "".join(self.pieces)


Step = tuple[Literal["begins", "goes on", "ends"], Part, str]
"""An effect of a chunk: a part begins, goes on with a piece, or ends."""


class Parts:
    """The parts of one choice, built from its chunks.

    One part grows at a time: while a call does, everything else waits until it ends.

    Attributes:
        known: the parts that have begun, in order.
    """

    def __init__(self) -> None:
        self.known: list[Part] = []
        self._growing: tuple[Kind, object] | None = None
        self._waiting: dict[tuple[Kind, object], Part] = {}
        self._calls = NamedParts()

    def take(self, message: Json, logprobs: object = None) -> Iterator[Step]:
        """The steps caused by a chunk's `delta` or a whole `message`."""
        for kind, which, piece, call in _pieces_of(message, self._calls):
            waits = self._growing is not None and self._growing[0] == "call" and self._growing != (kind, which)
            if waits:
                part = self._waiting.setdefault((kind, which), Part(kind, 0))
            else:
                if self._growing != (kind, which):
                    yield from self._begin(Part(kind, len(self.known), call_id=_id(call), name=_name(call)), which)
                part = self.known[-1]
            part.call_id, part.name = part.call_id or _id(call), part.name or _name(call)
            if kind == "text" and isinstance(logprobs, list):
                part.logprobs.extend(logprobs)
            if piece:
                part.pieces.append(piece)
                if not waits:
                    yield "goes on", part, piece
        text = next((part for part in reversed(self.known) if part.kind == "text"), None)
        if text is not None and isinstance(annotations := message.get("annotations"), list):
            text.annotations += annotations

    def _begin(self, part: Part, which: object = None) -> Iterator[Step]:
        yield from self._end()
        self.known.append(part)
        self._growing = part.kind, which
        yield "begins", part, ""

    def _end(self) -> Iterator[Step]:
        if self._growing is not None:
            yield "ends", self.known[-1], ""
        self._growing = None

    def end(self) -> Iterator[Step]:
        """The remaining steps at the end of the answer; an answer without content gets an empty text."""
        for part in self._waiting.values():
            part.number = len(self.known)
            yield from self._begin(part)
            if part.text:
                yield "goes on", part, part.text
        if all(part.kind == "thought" for part in self.known):
            yield from self._begin(Part("text", len(self.known)))
        yield from self._end()


def parts_of(choice: Json) -> list[Part]:
    """The parts of a whole choice."""
    parts, probabilities = Parts(), choice.get("logprobs")
    message = choice.get("message")
    content = message if isinstance(message, dict) else {"content": choice.get("text")}
    for _ in parts.take(content, probabilities.get("content") if isinstance(probabilities, dict) else None):
        pass
    for _ in parts.end():
        pass
    return parts.known


def _pieces_of(message: Json, known: NamedParts) -> Iterator[tuple[Kind, object, str, Json]]:
    """The pieces in a message or a delta: (kind, index among the `known` calls, the piece, the call it belongs to)."""
    if thought := _thought(message):
        yield "thought", None, thought, {}
    if text := text_of(message.get("content")):
        yield "text", None, text, {}
    if isinstance(message.get("refusal"), str) and message["refusal"]:
        yield "refusal", None, message["refusal"], {}
    listed = message.get("tool_calls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    for place, call in zip(known.add(calls), calls, strict=True):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        whole = orjson.dumps(arguments).decode() if isinstance(arguments, dict) else ""  # some servers parse them
        yield "call", place, arguments if isinstance(arguments, str) else whole, call


def _thought(message: Json) -> str:
    """The thought in a message or a delta: a text, else the texts among parts."""
    named = [message.get(name) for name in THOUGHTS]
    texts = [value for value in named if isinstance(value, str) and value]
    if texts:
        return texts[0]
    parts: Any = next((value for value in named if isinstance(value, list) and value), None)
    fields = ("thinking",) if parts is None else ("thinking", "text", "summary")
    parts = message.get("content") if parts is None else parts
    among = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "".join(text_of(next((part[name] for name in fields if part.get(name)), None)) for part in among)


def _id(call: Json) -> str:
    return str(call.get("id") or "")


def _name(call: Json) -> str:
    function = call.get("function")
    return str(function.get("name") or "") if isinstance(function, dict) else ""


def kinds_of_tools(body: Json) -> set[str]:
    """The types of the tools that a request offers, as far as they are given.

    >>> sorted(kinds_of_tools({"tools": [{"type": "mcp"}, {"type": "function"}, {"name": "find"}, 5]}))
    ['function', 'mcp']
    """
    tools = body.get("tools")
    named = (tool.get("type") for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, dict))
    return {kind for kind in named if isinstance(kind, str)}
