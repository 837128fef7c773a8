"""A stream of `/v1/messages` on its way to the client: held back from the end of its last text block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...types import Json
from ..sse import named_event
from . import messages
from .served import OnText, ServedStream, broken_off, short_id

_GROWING = ("text", "thinking", "signature", "partial_json")
"""Fields of a delta that append to a block's fields."""


class ServedMessage(ServedStream):
    """Events held back are sent unchanged if another block follows: only the last text gets our sentence."""

    def __init__(self, on_text: OnText | None = None) -> None:
        super().__init__(on_text)
        self._held: list[tuple[Json, bytes]] = []
        self._message: Json | None = None
        self._blocks: list[Json] = []
        self._pieces: list[dict[str, list[Any]]] = []

    @property
    def response_id(self) -> str | None:
        """See `ServedStream`."""
        return short_id((self._message or {}).get("id"))

    def _read(self, event: Json, raw: bytes) -> bytes:
        kind = event.get("type")
        if kind == "error":
            self.failed = True
        elif kind == "message_start" and isinstance(event.get("message"), dict):
            self._message = event["message"]
        elif kind == "content_block_start":
            block = event.get("content_block")
            self._blocks.append(block if isinstance(block, dict) else {})
            self._pieces.append({})
        elif kind == "content_block_delta":
            self._take_delta(event.get("delta"))
        elif kind == "message_delta":
            self._take_ending(event)
        self.ended = kind == "message_stop"
        if kind == "content_block_stop" and self._blocks and self._blocks[-1].get("type") == "text":
            self._held.append((event, raw))
            return b""
        if kind in ("message_delta", "message_stop"):
            self._held.append((event, raw))
            return b""
        if kind == "ping":
            return raw
        ready, self._held = b"".join(held for _, held in self._held), []
        return ready + raw

    def _take_delta(self, delta: object) -> None:
        if not self._pieces or not isinstance(delta, dict):
            return
        for name in _GROWING:
            if isinstance(delta.get(name), str):
                self._pieces[-1].setdefault(name, []).append(delta[name])
        if delta.get("type") == "citations_delta":
            self._pieces[-1].setdefault("citations", []).append(delta.get("citation"))

    def _take_ending(self, event: Json) -> None:
        message, delta, usage = self._message or {}, event.get("delta"), event.get("usage")
        if isinstance(delta, dict):
            message = message | delta
        if isinstance(usage, dict):
            before = message.get("usage")
            message = message | {"usage": (before if isinstance(before, dict) else {}) | usage}
        self._message = message

    def completion(self) -> Json:
        """See `ServedStream`."""
        if self._message is None or not self.ended:
            raise broken_off()
        content = [_whole(block, pieces) for block, pieces in zip(self._blocks, self._pieces, strict=True)]
        return messages.completion(self._message | {"content": content})

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`."""
        extra = extra | ({} if usage is None else {"usage": usage})
        if self._held and self._held[0][0].get("type") == "content_block_stop":
            yield from self._saying(list(pieces), self._held[0][0].get("index"))
        for event, raw in self._held:
            yield named_event("message_delta", event | extra) if event.get("type") == "message_delta" else raw

    def _saying(self, pieces: Sequence[str], index: Any) -> Iterator[bytes]:
        """Text events in the open block; in a new block after one with citations, since our words have no source."""
        if pieces and "citations" in self._pieces[-1] and isinstance(index, int):
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


def _whole(block: Json, pieces: dict[str, list[Any]]) -> Json:
    """A block with all its deltas applied; incomplete JSON input of a call stays a string."""
    grown: Json = {name: "".join([block.get(name) or "", *pieces[name]]) for name in _GROWING if name in pieces}
    if given := grown.pop("partial_json", ""):
        grown["input"] = messages.decoded(given)
    if "citations" in pieces:
        grown["citations"] = [*(block.get("citations") or ()), *pieces["citations"]]
    return block | grown
