"""A stream of `/v1/chat/completions` on its way to the client: its finish reason, usage and `[DONE]` are held back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse
from hedgerow.proxy.upstreams.dialects.served import ServedStream, broken_off, short_id


class ServedChat(ServedStream):
    """See `ServedStream`."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Json | None = None  # what all chunks of an answer share is taken from it
        self._finish: Json | None = None  # the chunk with the finish reason, held back
        self._usage: Json | None = None
        self._is_done = False
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._tool_calls: list[Json] = []

    @property
    def response_id(self) -> str | None:
        """See `ServedStream`."""
        return short_id((self._first or {}).get("id"))

    def _done(self) -> bytes:
        self._is_done = True
        return b""

    def _read(self, event: Json, raw: bytes) -> bytes:
        self._first = self._first or event
        self._usage = event.get("usage") or self._usage
        choices = event.get("choices")
        if not choices:
            return b"" if event.get("usage") else raw
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict):
            return raw  # the client's to judge
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        self._take_delta(delta)
        if choice.get("finish_reason") is None:
            return raw
        self._finish = event | {"choices": [choice | {"delta": {}}]}
        if not delta:
            return b""
        rest = {key: value for key, value in event.items() if key != "usage"}
        return sse.event(rest | {"choices": [choice | {"finish_reason": None}]})

    def _take_delta(self, delta: Json) -> None:
        for name, pieces in self._texts.items():
            if isinstance(delta.get(name), str):
                pieces.append(delta[name])
        if isinstance(calls := delta.get("tool_calls"), list):
            self._tool_calls += calls

    def completion(self) -> Json:
        """See `ServedStream`."""
        if self._first is None or not (self._finish or self._is_done):
            raise broken_off()
        message: Json = {"role": "assistant"} | {name: "".join(pieces) for name, pieces in self._texts.items()}
        message |= {"refusal": message["refusal"] or None, "tool_calls": self._tool_calls}
        reason = self._finish["choices"][0]["finish_reason"] if self._finish else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        head = {key: value for key, value in self._first.items() if key != "usage"}
        answer = head | {"object": "chat.completion", "choices": [choice]}
        return answer | {"usage": self._usage} if self._usage else answer

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`; `usage` of the stream's own counts one call of several, so it stays out."""
        head = {key: value for key, value in (self._first or {}).items() if key not in ("choices", "usage", "object")}
        for piece in pieces:
            yield sse.content(head, piece)
        last = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
        chunk = self._finish or (self._first or {}) | {"choices": [last]}
        yield sse.event({key: value for key, value in chunk.items() if key != "usage"} | extra)
        if usage is not None:
            yield sse.usage(head, usage)
        yield sse.DONE
