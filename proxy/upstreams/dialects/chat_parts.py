"""What a chat answer consists of, in the order in which it came: thoughts, text, refusals, calls of tools; from a whole answer or from its
chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.dialects.chat import THOUGHTS

Kind = Literal["thought", "text", "refusal", "call"]


@dataclass(slots=True)
class Part:
    """One piece of an answer.

    Attributes:
        kind: what it is.
        number: its place among the parts of the answer.
        pieces: its text, or the arguments of a call, as they came.
        call_id, name: of a call.
        logprobs: of a text, as chat has them.
    """

    kind: Kind
    number: int
    pieces: list[str] = field(default_factory=list)
    call_id: str = ""
    name: str = ""
    logprobs: list[Any] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it that came."""
        return "".join(self.pieces)


Step = tuple[Literal["begins", "goes on", "ends"], Part, str]
"""What a chunk brings: a part begins, goes on with a piece, or has ended."""


class Parts:
    """The parts of one choice, as its chunks come. One part grows at a time: while a call does, whatever else comes waits for the end.

    Attributes:
        known: those that have begun, in their order.
    """

    def __init__(self) -> None:
        self.known: list[Part] = []
        self._growing: tuple[Kind, object] | None = None
        self._waiting: dict[tuple[Kind, object], Part] = {}

    def take(self, said: Json, logprobs: object = None) -> Iterator[Step]:
        """The steps that a chunk's `delta`, or a whole `message`, brings."""
        for kind, which, piece, call in _pieces_of(said):
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
        """The steps that are left when the answer has ended; one that says nothing has an empty text."""
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
    said = message if isinstance(message, dict) else {"content": choice.get("text")}
    for _ in parts.take(said, probabilities.get("content") if isinstance(probabilities, dict) else None):
        pass
    for _ in parts.end():
        pass
    return parts.known


def _pieces_of(said: Json) -> Iterator[tuple[Kind, object, str, Json]]:
    """The pieces in a message or a delta: of what kind, which of several calls, the piece, and the call that it is of."""
    thought = next((said[name] for name in THOUGHTS if isinstance(said.get(name), str) and said[name]), "")
    if thought:
        yield "thought", None, thought, {}
    if text := _text(said.get("content")):
        yield "text", None, text, {}
    if isinstance(said.get("refusal"), str) and said["refusal"]:
        yield "refusal", None, said["refusal"], {}
    calls = said.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            function = call.get("function")
            given = function.get("arguments") if isinstance(function, dict) else None
            yield "call", call.get("index", place), given if isinstance(given, str) else "", call


def _text(content: object) -> str:
    """The text of a content: a string, or the texts among its parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _id(call: Json) -> str:
    return str(call.get("id") or "")


def _name(call: Json) -> str:
    function = call.get("function")
    return str(function.get("name") or "") if isinstance(function, dict) else ""


def kinds_of_tools(body: Json) -> set[str]:
    """The kinds of the tools that a request offers, as far as they are named.

    >>> sorted(kinds_of_tools({"tools": [{"type": "mcp"}, {"type": "function"}, {"name": "find"}, 5]}))
    ['function', 'mcp']
    """
    tools = body.get("tools")
    named = (tool.get("type") for tool in (tools if isinstance(tools, list) else ()) if isinstance(tool, dict))
    return {kind for kind in named if isinstance(kind, str)}
