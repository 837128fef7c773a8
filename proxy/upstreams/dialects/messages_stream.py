"""A stream of `/v1/messages` on its way to the client: held back from the end of its last text block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...types import Json
from ..assembling import Pieces, append, grow, joined
from ..sse import named_event
from . import messages
from .served import ServedStream, broken_off

_OF_EVENTS = ("type", "delta", "usage", "index")
"""Fields of the event at the end that do not belong to the message."""


class ServedMessage(ServedStream):
    """Events held back are sent unchanged if another block follows: only the last text gets our sentence."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[Json] = []
        self._places: dict[str, int] = {}  # of the last block that began under each index
        self._last = -1  # the place of the block that the last event names

    def _read(self, event: Json, raw: bytes) -> bytes:
        kind = event.get("type")
        if kind == "error":
            self.failed = True
        elif kind == "message_start" and isinstance(event.get("message"), dict):
            self.head = event["message"]
        elif kind in ("content_block_start", "content_block_delta", "content_block_stop"):
            self._take_block(event)
        elif kind == "message_delta":
            self._take_ending(event)
        self.ended = kind == "message_stop"
        if kind == "content_block_stop" and self._blocks and self._blocks[self._last].get("type") == "text":
            self._held.append((event, raw))
            return b""
        if kind in ("message_delta", "message_stop"):
            self._held.append((event, raw))
            return b""
        if kind == "ping":
            return raw
        return self._flush() + raw

    def _take_block(self, event: Json) -> None:
        """An event of the block that it names; of the last one if it names none."""
        block, delta, index = event.get("content_block"), event.get("delta"), event.get("index")
        if event["type"] == "content_block_start":
            self._places[str(index)] = len(self._blocks)
            self._blocks.append(grow({}, block if isinstance(block, dict) else {}))
        last = len(self._blocks) - 1
        self._last = last if index is None else self._places.get(str(index), last)
        if not self._blocks or not isinstance(delta, dict):
            return
        block = self._blocks[self._last]
        for name, value in delta.items():
            if name == "citation":
                append(block, "citations", value, list)
            elif isinstance(value, str) and name not in ("type", "signature"):
                append(block, name, value, Pieces)
            elif name != "type":
                grow(block, {name: value})

    def _take_ending(self, event: Json) -> None:
        delta, usage = event.get("delta"), event.get("usage")
        said = {name: value for name, value in event.items() if name not in _OF_EVENTS}
        grow(self.head, said | (delta if isinstance(delta, dict) else {}))
        if isinstance(usage, dict):
            before = self.head.get("usage")
            counts = {name: count for name, count in usage.items() if count is not None}
            self.head["usage"] = usage | (before if isinstance(before, dict) else {}) | counts

    def completion(self) -> Json:
        """See `ServedStream`."""
        if not self.head or not self.ended:
            raise broken_off()
        return messages.completion(joined(self.head) | {"content": [_whole(block) for block in self._blocks]})

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`."""
        extra = extra | ({} if usage is None else {"usage": usage})
        if self._held and self._held[0][0].get("type") == "content_block_stop":
            yield from self._saying(list(pieces), self._held[0][0].get("index"))
        for event, raw in self._held:
            yield named_event("message_delta", event | extra) if event.get("type") == "message_delta" else raw

    def _saying(self, pieces: Sequence[str], index: Any) -> Iterator[bytes]:
        """Text events in the open block; in a new block after one with citations, since our words have no source."""
        if pieces and self._blocks[self._last].get("citations") and isinstance(index, int):
            yield self._held.pop(0)[1]
            index += 1
            begun = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
            yield named_event("content_block_start", begun)
            self._held.insert(0, _stop(index))
        for piece in pieces:
            delta = {"type": "text_delta", "text": piece}
            yield named_event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})


def _stop(index: int) -> tuple[Json, bytes]:
    event = {"type": "content_block_stop", "index": index}
    return event, named_event("content_block_stop", event)


def _whole(block: Json) -> Json:
    """A block with all its deltas applied; incomplete JSON input of a call stays a string."""
    whole: Json = joined(block)
    if given := whole.pop("partial_json", ""):
        whole["input"] = messages.decoded(given)
    return whole
