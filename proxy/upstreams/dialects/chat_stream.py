"""A stream of `/v1/chat/completions` or `/v1/completions` on its way to the client: its finish reason, usage and `[DONE]` are held back."""

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
        self._usage_event = b""  # the chunk that holds nothing else, held back
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
            if not event.get("usage"):
                return raw
            self._usage_event = raw
            return b""
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict):
            return raw  # the client's to judge
        delta = choice.get("delta", {"content": choice.get("text")})
        delta = delta if isinstance(delta, dict) else {}
        self._take_delta(delta)
        if choice.get("finish_reason") is None:
            return raw
        silent: Json = {"delta": {}} if "delta" in choice else {"text": ""}
        self._finish = event | {"choices": [choice | silent]}
        if not any(delta.values()):
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
        texts = {name: "".join(pieces) for name, pieces in self._texts.items()}
        reason = self._finish["choices"][0]["finish_reason"] if self._finish else "stop"
        choice: Json = {"index": 0, "finish_reason": reason, "logprobs": None}
        head = {key: value for key, value in self._first.items() if key not in ("usage", "object")}
        if sse.is_chat(self._first):
            message = {"role": "assistant", "content": texts["content"], "refusal": texts["refusal"] or None}
            choice["message"] = message | {"tool_calls": self._tool_calls}
            head["object"] = "chat.completion"
        else:
            choice["text"], head["object"] = texts["content"], "text_completion"
        answer = head | {"choices": [choice]}
        return answer | {"usage": self._usage} if self._usage else answer

    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """See `ServedStream`; the chunk of the tokens is the upstream's own unless `usage` is to stand there."""
        first = self._first or {}
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
