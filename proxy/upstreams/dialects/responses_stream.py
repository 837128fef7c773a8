"""A stream of `/v1/responses` on its way to the client: held back from the end of its last text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...types import Json
from ..assembling import Pieces, append, filled, grow, joined
from ..sse import named_event
from . import responses
from .served import ServedStream, broken_off

TEXT_DONE = "response.output_text.done"
ENDS = ("response.completed", "response.incomplete")
HELD = frozenset([TEXT_DONE, "response.content_part.done", "response.output_item.done", *ENDS])


class ServedResponse(ServedStream):
    """Events held back are sent unchanged if another item follows: only the last text gets our sentence."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Json] = {}

    def _read(self, event: Json, raw: bytes) -> bytes:
        kind = event.get("type")
        if isinstance(event.get("response"), dict):
            self.head = filled(event["response"], self.head)
            if kind in ENDS:
                self.head["status"] = event["response"].get("status") or kind.removeprefix("response.")
        self._take_item(event, str(kind))
        if kind in ("error", "response.failed"):
            self.failed = True
        self.ended = kind in ENDS
        if kind == TEXT_DONE:
            return self._flush((event, raw))
        if kind in ENDS or (self._held and kind in HELD):
            self._held.append((event, raw))
            return b""
        return self._flush() + raw

    def _take_item(self, event: Json, kind: str) -> None:
        """An event about an item, or about the part of it that it names. Its kind ends with what it says: `response.function_call_arguments.delta`."""
        place = event.get("output_index")
        if not isinstance(place, int):
            return
        item: Json = self._items.setdefault(place, {})
        if isinstance(event.get("item"), dict):
            self._items[place] = (
                filled(event["item"], joined(item)) if kind.endswith(".done") else grow({}, event["item"])
            )
            return
        subject, _, what = kind.removeprefix("response.").rpartition(".")
        name, target = subject.rpartition("_")[2], item
        for field, number in (("content", event.get("content_index")), ("summary", event.get("summary_index"))):
            if not isinstance(number, int):
                continue
            parts = item.setdefault(field, [])
            if isinstance(parts, list) and 0 <= number <= len(parts):
                parts += [{"type": subject if field == "content" else "summary_text"}] if number == len(parts) else []
                target = parts[number] if isinstance(parts[number], dict) else {}
            if field == "content" and "type" not in item:
                item |= {"id": event.get("item_id"), "type": "message", "role": "assistant", "status": "completed"}
        if isinstance(event.get("part"), dict):
            target |= filled(event["part"], joined(target))
        elif isinstance(event.get("annotation"), dict):
            append(target, "annotations", event["annotation"], list)
        elif what == "delta" and isinstance(event.get("delta"), str):
            append(target, name, event["delta"], Pieces)
        elif what == "done" and isinstance(event.get(name), str):
            target[name] = event[name]

    def completion(self) -> Json:
        """See `ServedStream`."""
        if not self.head or not self.ended:
            raise broken_off()
        items = joined([self._items[place] for place in sorted(self._items)])
        known = {
            "output": [
                item | ({"status": "completed"} if item.get("status") == "in_progress" else {}) for item in items
            ]
        }
        try:
            return responses.completion(filled(self.head, known))
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
        answer = event["response"]
        answer = responses.lengthened(answer, ours) if ours and isinstance(answer.get("output"), list) else answer
        return event | {"response": answer | extra}
    return event


def _longer(part: Any, ours: str) -> Any:
    return part | {"text": f"{part['text']}{ours}"} if isinstance(part, dict) and "text" in part else part
