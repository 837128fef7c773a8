"""A stream of `/v1/responses` on its way to the client: held back from the end of its last text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...types import Json
from ..sse import named_event
from . import responses
from .served import OnText, ServedStream, broken_off, short_id

TEXT_DONE = "response.output_text.done"
ENDS = ("response.completed", "response.incomplete")
HELD = frozenset([TEXT_DONE, "response.content_part.done", "response.output_item.done", *ENDS])


class ServedResponse(ServedStream):
    """Events held back are sent unchanged if another item follows: only the last text gets our sentence."""

    def __init__(self, on_text: OnText | None = None) -> None:
        super().__init__(on_text)
        self._held: list[tuple[Json, bytes]] = []
        self._response: Json | None = None

    @property
    def response_id(self) -> str | None:
        """See `ServedStream`."""
        return short_id((self._response or {}).get("id"))

    def _read(self, event: Json, raw: bytes) -> bytes:
        kind = event.get("type")
        if isinstance(event.get("response"), dict):
            self._response = event["response"]
        if kind in ("error", "response.failed"):
            self.failed = True
        self.ended = kind in ENDS
        if kind == TEXT_DONE:
            return self._flush([(event, raw)])
        if kind in ENDS or (self._held and kind in HELD):
            self._held.append((event, raw))
            return b""
        return self._flush([]) + raw

    def _flush(self, then: list[tuple[Json, bytes]]) -> bytes:
        """Send what is held back, and hold back this event."""
        ready, self._held = b"".join(raw for _, raw in self._held), then
        return ready

    def completion(self) -> Json:
        """See `ServedStream`."""
        if self._response is None or not self.ended:
            raise broken_off()
        try:
            return responses.completion(self._response)
        except ValueError as error:
            raise broken_off() from error

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`; the events are renumbered and contain the text with our words at its end."""
        extra = extra | ({} if usage is None else {"usage": usage})
        added = list(pieces)
        if not self._held:
            return
        first = self._held[0][0]
        number = first.get("sequence_number")

        def event(kind: str, fields: Json) -> bytes:
            nonlocal number
            numbered = fields | {"type": kind}
            if isinstance(number, int):
                numbered["sequence_number"] = number
                number += 1
            return named_event(kind, numbered)

        if added and first.get("type") == TEXT_DONE:
            place = {name: first.get(name) for name in ("item_id", "output_index", "content_index")}
            for piece in added:
                yield event("response.output_text.delta", place | {"delta": piece, "logprobs": []})
        ours = "".join(added)
        for held, _ in self._held:
            kind = str(held.get("type"))
            ending = extra if kind in ENDS else {}
            yield event(kind, _with(held, ours, first.get("content_index"), ending))


def _with(event: Json, ours: str, content_index: Any, extra: Json) -> Json:
    """An event that ends a text, a part, an item or the answer, with our words at the end of the text."""
    if not ours and not extra:
        return event
    if "text" in event:
        return event | {"text": f"{event['text']}{ours}"}
    if isinstance(event.get("part"), dict):
        return event | {"part": _longer(event["part"], ours)}
    if isinstance(event.get("item"), dict):
        content = event["item"].get("content")
        if isinstance(content, list) and isinstance(content_index, int) and content_index < len(content):
            content = [_longer(part, ours) if i == content_index else part for i, part in enumerate(content)]
            return event | {"item": event["item"] | {"content": content}}
    if isinstance(event.get("response"), dict):
        answer = responses.lengthened(event["response"], ours) if ours else event["response"]
        return event | {"response": answer | extra}
    return event


def _longer(part: Any, ours: str) -> Any:
    return part | {"text": f"{part['text']}{ours}"} if isinstance(part, dict) and "text" in part else part
