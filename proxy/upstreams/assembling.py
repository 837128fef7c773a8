"""Assemble a completion object from the chunks of its stream, in linear time."""

from __future__ import annotations

from typing import Any

from ..errors import UpstreamError
from ..types import Json

SAID_ONCE = frozenset(["role", "type", "id", "name", "index", "object", "signature"])
"""Text fields of a delta that are sent once and not concatenated."""
OF_CHUNKS = ("choices", "usage", "obfuscation")
"""Fields of chunks that do not belong to the answer; some providers pad chunks to hide their sizes."""


class _Pieces(list[str]):
    """The pieces of a text."""


class _Indexed(dict[int, Json]):
    """Numbered parts: tool calls."""


class Assembly:
    """The chunks of one answer, chat or plain, of any number of choices.

    Attributes:
        first: the first chunk, with the fields that all chunks of an answer share.
        usage: the token usage, if a chunk has it.
        done: whether the stream was marked as complete.
    """

    def __init__(self) -> None:
        self.first: Json | None = None
        self.usage: Json | None = None
        self.done = False
        self._choices: dict[int, Json] = {}

    @property
    def finished(self) -> bool:
        """Whether the answer is complete: the stream or each of its choices says so."""
        return self.done or (bool(self._choices) and all(c.get("finish_reason") for c in self._choices.values()))

    def add(self, chunk: Json) -> None:
        """Add a chunk. Fields of another form are ignored."""
        self.first = self.first or chunk
        if isinstance(usage := chunk.get("usage"), dict) and usage:
            self.usage = usage
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                index = choice.get("index")
                kept = self._choices.setdefault(index if isinstance(index, int) else 0, {})
                _merge(kept, {key: value for key, value in choice.items() if key != "finish_reason"})
                kept["finish_reason"] = choice.get("finish_reason") or kept.get("finish_reason")

    def completion(self) -> Json:
        """The completion object.

        Raises:
            UpstreamError: the stream is incomplete, or has no choice.
        """
        if self.first is None or not self._choices or not self.finished:
            raise UpstreamError("the upstream broke off its answer", code="upstream_broken")
        head = {key: value for key, value in self.first.items() if key not in OF_CHUNKS}
        chat = self.first.get("object") != "text_completion"
        choices = [_whole(index, self._choices[index], chat) for index in sorted(self._choices)]
        answer = head | {"object": "chat.completion" if chat else "text_completion", "choices": choices}
        return answer | {"usage": self.usage} if self.usage else answer


def _whole(index: int, kept: Json, chat: bool) -> Json:
    choice: Json = _joined({key: value for key, value in kept.items() if key != "delta"})
    choice |= {"index": index, "finish_reason": kept["finish_reason"] or "stop"}
    choice.setdefault("logprobs", None)
    if chat:
        delta = kept.get("delta")
        message: Json = {"role": "assistant", "content": None} | (_joined(delta) if isinstance(delta, dict) else {})
        if message.get("tool_calls") and not message["content"]:
            message["content"] = None  # a stream may begin with "" before a tool call; a non-streamed answer has null
        return choice | {"message": message}
    choice.setdefault("text", "")
    return choice


def _merge(kept: Json, more: Json) -> None:
    """Merge a part of an object: texts and lists grow, numbered parts separately.

    A value of another type than the existing one is ignored, so that it does not erase earlier content.
    """
    for key, value in more.items():
        old = kept.get(key)
        if not _continues(old, value):
            continue
        if isinstance(value, str) and key not in SAID_ONCE:
            kept[key] = pieces = old if isinstance(old, _Pieces) else _Pieces()
            pieces.append(value)
        elif isinstance(value, dict):
            kept[key] = part = old if isinstance(old, dict) else {}
            _merge(part, value)
        elif isinstance(value, list):
            kept[key] = _longer(old, value)
        elif value is not None or key not in kept:
            kept[key] = value


def _continues(old: object, value: object) -> bool:
    """Whether a value can be added to the existing one: text to text, object to object, list to list."""
    if isinstance(old, _Pieces):
        return isinstance(value, str)
    if isinstance(old, list | _Indexed):
        return isinstance(value, list)
    return isinstance(value, dict) or not isinstance(old, dict)


def _longer(old: object, more: list[Any]) -> _Indexed | list[Any]:
    if more and all(isinstance(part, dict) and isinstance(part.get("index"), int) for part in more):
        numbered = old if isinstance(old, _Indexed) else _Indexed()
        for part in more:
            _merge(numbered.setdefault(part["index"], {}), part)
        return numbered
    if isinstance(old, list) and not isinstance(old, _Pieces):
        old.extend(more)
        return old
    return old if isinstance(old, _Indexed) else list(more)


def _joined(value: Any) -> Any:
    """The merged value, with joined texts. Numbered parts lose their numbers, which only streams have."""
    if isinstance(value, _Pieces):
        return "".join(value)
    if isinstance(value, _Indexed):
        return [{k: _joined(v) for k, v in value[i].items() if k != "index"} for i in sorted(value)]
    return {key: _joined(part) for key, part in value.items()} if isinstance(value, dict) else value
