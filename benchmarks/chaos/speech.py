"""What the scripted upstream says when nothing is wrong, in the words of each endpoint, and with parts of it replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
GONE = object()
"""In the place of a field: the field is not there."""
_IN_RESPONSES = {"choices": "output", "message": "content", "content": "text"}
_AGREEING = 7
"""Of ten answers, those that say the same."""


@dataclass(frozen=True, slots=True)
class Patch:
    """Fields that are put over those of an answer, at its three levels; their names are those of a chat.

    Attributes:
        top: over the completion, and over every chunk of a stream.
        choice: over each choice, or each item of a response.
        message: over the message, its delta, or the text part of a response.
    """

    top: Mapping[str, Any]
    choice: Mapping[str, Any]
    message: Mapping[str, Any]


def question(tag: str) -> str:
    """What is asked; every request asks for something else, so that an answer tells which question it was given to."""
    return f"What is the capital of the district of {tag.title()}?"


def text(tag: str, turn: int) -> str:
    """One of the answers to it: seven of ten agree."""
    return f"{'Tor' if turn % 10 < _AGREEING else 'Ven'}{tag}."


def chat(texts: list[str], patch: Patch) -> Json:
    """A chat completion with a choice a text."""
    choices = []
    for index, said in enumerate(texts):
        message = _patched({"role": "assistant", "content": said}, patch.message)
        choices.append(_patched({"index": index, "finish_reason": "stop", "message": message}, patch.choice))
    usage = {"prompt_tokens": 9, "completion_tokens": 3 * len(texts), "total_tokens": 9 + 3 * len(texts)}
    whole = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage}
    return _patched(whole | {"choices": choices}, patch.top)


def chat_events(said: str, patch: Patch) -> Iterator[bytes]:
    """A streamed chat completion."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    half = len(said) // 2
    deltas = [{"role": "assistant", "content": ""}, {"content": said[:half]}, {"content": said[half:]}]
    over = {"delta" if name == "message" else name: value for name, value in patch.choice.items()}
    for number, delta in enumerate([*deltas, {}]):
        spoken = _patched(delta, patch.message) if number in (1, 2) else delta
        choice = {"index": 0, "delta": spoken, "finish_reason": None if delta else "stop"}
        yield _event(_patched(head | {"choices": [_patched(choice, over)]}, patch.top))
    yield b"data: [DONE]\n\n"


def response(said: str, patch: Patch) -> Json:
    """A response."""
    part = _patched({"type": "output_text", "text": said, "annotations": []}, _renamed(patch.message))
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
    whole = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m", "usage": usage}
    return _patched(whole | {"output": [_patched(item, _renamed(patch.choice))]}, _renamed(patch.top))


def response_events(said: str, patch: Patch) -> Iterator[bytes]:
    """A streamed response."""
    whole = response(said, patch)
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    empty = {"type": "output_text", "text": "", "annotations": []}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    half = len(said) // 2
    events: list[Json] = [
        {"type": "response.created", "response": whole | {"output": [], "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", **at, "part": empty},
        {"type": "response.output_text.delta", **at, "delta": said[:half]},
        {"type": "response.output_text.delta", **at, "delta": said[half:]},
        {"type": "response.output_text.done", **at, "text": said},
        {"type": "response.completed", "response": whole},
    ]
    for number, event in enumerate(events):
        yield f"event: {event['type']}\n".encode() + _event(event | {"sequence_number": number})


def _event(data: Json) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _patched(part: Json, over: Mapping[str, Any]) -> Json:
    return {name: value for name, value in (part | dict(over)).items() if value is not GONE}


def _renamed(over: Mapping[str, Any]) -> Json:
    return {_IN_RESPONSES.get(name, name): value for name, value in over.items()}
