"""A stream of `/v1/chat/completions` or `/v1/completions` on its way to the client: finish reason, usage and `[DONE]` are held back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse
from hedgerow.proxy.upstreams.assembling import Assembly
from hedgerow.proxy.upstreams.dialects.served import OnText, ServedStream, short_id


class ServedChat(ServedStream):
    """See `ServedStream`."""

    def __init__(self, on_text: OnText | None = None) -> None:
        super().__init__(on_text)
        self._assembly = Assembly()
        self._finish: Json | None = None  # the chunk with the finish reason, held back
        self._usage_event = b""  # the chunk that holds nothing else, held back

    @property
    def response_id(self) -> str | None:
        """See `ServedStream`."""
        return short_id((self._assembly.first or {}).get("id"))

    def _done(self) -> bytes:
        self._assembly.done = True
        return b""

    def _read(self, event: Json, raw: bytes) -> bytes:
        self._assembly.add(event)
        if self._on_text is not None:
            _show(event, self._on_text)
        choices = event.get("choices")
        if not choices:
            if not event.get("usage"):
                return raw
            self._usage_event = raw
            return b""
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict) or choice.get("finish_reason") is None:
            return raw  # one of another form is the client's to judge
        delta = choice.get("delta", choice.get("text"))
        silent: Json = {"delta": {}} if "delta" in choice else {"text": ""}
        self._finish = event | {"choices": [choice | silent]}
        if not delta:
            return b""
        rest = {key: value for key, value in event.items() if key != "usage"}
        return sse.event(rest | {"choices": [choice | {"finish_reason": None}]})

    def completion(self) -> Json:
        """See `ServedStream`."""
        return self._assembly.completion()

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`; the chunk of the tokens is the upstream's own unless `usage` is to stand there."""
        first = self._assembly.first or {}
        for piece in pieces:
            yield sse.content(first, piece)
        silent: Json = {"delta": {}} if sse.is_chat(first) else {"text": ""}
        last: Json = {"index": 0, "logprobs": None, "finish_reason": "stop"} | silent
        chunk = (self._finish or first | {"choices": [last]}) | extra
        if usage is None:
            yield sse.event(chunk) + self._usage_event
        else:
            chunk.pop("usage", None)
            yield sse.event(chunk) + sse.usage(first, usage)
        yield sse.DONE


def _show(chunk: Json, on_text: OnText) -> None:
    """Show each piece of text in a chunk."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        text = delta.get("content") if isinstance(delta, dict) else None
        if isinstance(text, str) and text:
            on_text(choice.get("index", 0), text)
