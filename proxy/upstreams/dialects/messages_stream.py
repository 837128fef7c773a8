"""A stream of `/v1/messages` on its way to the client: held back from the end of its last text block on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.dialects import messages
from hedgerow.proxy.upstreams.dialects.served import ServedStream, broken_off, short_id
from hedgerow.proxy.upstreams.sse import named_event


class ServedMessage(ServedStream):
    """What is held back goes out as it came where another block follows: only the last text gets a sentence of ours."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[tuple[Json, bytes]] = []
        self._message: Json | None = None
        self._blocks: list[Json] = []
        self._texts: list[list[str]] = []
        self._ended = False

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
            self._texts.append([])
        elif kind == "content_block_delta":
            self._take_delta(event.get("delta"))
        elif kind == "message_delta":
            self._take_ending(event)
        self._ended = self._ended or kind == "message_stop"
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
        if self._texts and isinstance(delta, dict) and isinstance(delta.get("text"), str):
            self._texts[-1].append(delta["text"])
        if self._blocks and isinstance(delta, dict) and delta.get("type") == "citations_delta":
            self._blocks[-1] = self._blocks[-1] | {"citations": [*(self._blocks[-1].get("citations") or ()), delta]}

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
        if self._message is None or not self._ended:
            raise broken_off()
        content = [
            block | {"text": "".join(texts)} if block.get("type") == "text" else block
            for block, texts in zip(self._blocks, self._texts, strict=True)
        ]
        return messages.completion(self._message | {"content": content})

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`."""
        extra = extra | ({} if usage is None else {"usage": usage})
        if self._held and self._held[0][0].get("type") == "content_block_stop":
            index = self._held[0][0].get("index")
            for piece in pieces:
                delta = {"type": "text_delta", "text": piece}
                yield named_event(
                    "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
                )
        for event, raw in self._held:
            yield named_event("message_delta", event | extra) if event.get("type") == "message_delta" else raw
