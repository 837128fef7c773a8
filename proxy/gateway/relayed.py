"""Read an answer that was relayed to the client, from a copy of its bytes; also one that broke off, or that the client did not wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from ..computing import compute
from ..errors import ProxyError, UpstreamError, UpstreamRejected
from ..pipeline.job import Job
from ..strict_json import loads
from ..types import BYTES_A_TOKEN, NO_TOKENS, Json, Usage
from ..upstreams.answers import checked_completion, sample_of, usage_of
from ..upstreams.assembling import GROWING
from ..upstreams.coding import plain
from ..upstreams.dialects.served import completed
from ..upstreams.dialects.table import DIALECTS
from ..upstreams.sse import Reader, begins_stream, data_of

MAX_CAPTURED_BYTES = 1 << 20
"""Longest answer of which a copy is kept and read."""
READ_AT_ONCE_BYTES = 16 * 1024
"""Non-streamed answers up to this size are parsed on the event loop; a worker thread would cost more."""
_TEXTS = GROWING | {"partial_json"}
_LAST = ("message_stop", "response.completed", "response.incomplete")

Counted = tuple[Usage, bool]
"""Tokens of an answer, and whether they are known: reported, or estimated from an answer that is complete."""


class Copy:
    """A copy of a relayed answer, up to `MAX_CAPTURED_BYTES`; `sent` is the size of the request in bytes.

    Attributes:
        coding: its `content-encoding`: an upstream may compress although it was asked not to.
        size: its size in bytes, as it came.
    """

    def __init__(self, sent: int) -> None:
        self._kept, self._sent = bytearray(), sent
        self.size, self.coding = 0, ""

    def take(self, piece: bytes) -> None:
        """Append a piece."""
        self.size += len(piece)
        if self.size <= MAX_CAPTURED_BYTES:
            self._kept.extend(piece)

    @property
    def data(self) -> bytes | None:
        """The complete answer, decompressed; None if it was too long or cannot be read."""
        if self.size > MAX_CAPTURED_BYTES:
            return None
        try:
            return plain(bytes(self._kept), self.coding, MAX_CAPTURED_BYTES)
        except (ValueError, OverflowError):
            return None

    def is_complete(self, path: str) -> bool:
        """Whether all of a streamed answer has come: it says so itself, whatever becomes of the connection."""
        data = self.data
        if not data or not begins_stream(data):
            return False
        try:
            return bool(completed(DIALECTS[path].served(), data))
        except ProxyError:
            return False

    async def usage(self, job: Job, *, cut: bool = False) -> Counted:
        """The tokens that the answer reports; without a report, one for four bytes of request and answer.

        Args:
            job: the request.
            cut: whether more of the answer may have been under way.
        """
        data = self.data
        if data is None:
            return _estimate(self._sent, self.size), not (self.coding or cut)
        if len(data) <= READ_AT_ONCE_BYTES and not begins_stream(data):
            return _counted(job.path, data, self._sent, cut)
        return await compute(_counted, job.path, data, self._sent, cut)


def _counted(path: str, data: bytes, sent: int, cut: bool) -> Counted:
    if not begins_stream(data):
        return _of_object(path, data, sent)
    try:
        usage = usage_of(completed(DIALECTS[path].served(), data))
    except ProxyError:
        usage = NO_TOKENS
    return (usage, True) if usage.total else _of_stream(data, sent, cut)


def _estimate(sent: int, said: int) -> Usage:
    return Usage(sent // BYTES_A_TOKEN, said // BYTES_A_TOKEN)


def _of_object(path: str, data: bytes, sent: int) -> Counted:
    """Tokens of an answer that is one object. What is incomplete costs what it says so far, and perhaps more."""
    try:
        completion = checked_completion("", data, DIALECTS[path].completion)
    except UpstreamRejected:
        return NO_TOKENS, True  # an error object
    except UpstreamError:
        return _of_part(data, sent), False
    usage = usage_of(completion)
    if usage.total:
        return usage, True
    samples = map(sample_of, completion["choices"])
    return _estimate(sent, sum(len(each.around(each.text).encode()) for each in samples)), True


def _of_part(data: bytes, sent: int) -> Usage:
    """Tokens of an object that breaks off, or of something else: at least its bytes."""
    try:
        part = from_json(data, allow_partial="trailing-strings")
    except ValueError:
        return _estimate(sent, len(data))
    found = part if isinstance(part, dict) else {}
    return _at_least(_reported(found.get("usage")), _estimate(sent, _size(found) if found else len(data)))


def _of_stream(data: bytes, sent: int, cut: bool) -> Counted:
    """Tokens of a stream that broke off or reports none, whatever its dialect: as its last event reports, else as much as was said."""
    said, begun, ended, failed, total = 0, NO_TOKENS, False, False, NO_TOKENS
    for event in _events(data):
        kind, choices = event.get("type"), event.get("choices")
        parts = [part for part in choices if isinstance(part, dict)] if isinstance(choices, list) else []
        said += _size([event.get("delta"), *((part.get("delta"), part.get("text")) for part in parts)])
        answer, message = event.get("response"), event.get("message")
        inner = answer if isinstance(answer, dict) else event
        total = _reported(inner.get("usage")) if isinstance(inner.get("usage"), dict) else total
        begun = _reported(message.get("usage")) if isinstance(message, dict) else begun
        failed = failed or bool(event.get("error")) or kind in ("error", "response.failed")
        is_over = kind in _LAST or event.get("done") is True
        ended = ended or is_over or (not cut and any(part.get("finish_reason") for part in parts))
    if total.completion:
        return replace(total, prompt=total.prompt or begun.prompt), True
    if failed and not said:
        return NO_TOKENS, True
    return _at_least(begun, _estimate(sent, said)), ended and not failed


def _events(data: bytes) -> Iterator[Json]:
    """The events of a stream that are JSON objects; `[DONE]` as an object that says so, and one that breaks off as its text."""
    for raw in Reader().feed(data + b"\n\n"):
        content = data_of(raw)
        try:
            event = {"done": True} if content == b"[DONE]" else loads(content)
        except ValueError:
            event = {"delta": content.decode(errors="replace")}
        if isinstance(event, dict):
            yield event


def _reported(usage: Any) -> Usage:
    """Token usage in the words of any endpoint."""
    if not isinstance(usage, dict):
        return NO_TOKENS
    cached = [usage.get(name) for name in ("cache_read_input_tokens", "cache_creation_input_tokens")]
    prompt = sum(count for count in (usage.get("input_tokens"), *cached) if isinstance(count, int))
    return usage_of({"usage": {"prompt_tokens": prompt, "completion_tokens": usage.get("output_tokens")} | usage})


def _at_least(known: Usage, estimate: Usage) -> Usage:
    return replace(
        estimate, prompt=max(known.prompt, estimate.prompt), completion=max(known.completion, estimate.completion)
    )


def _size(value: Any) -> int:
    """Bytes of all text in a value, without names of roles and kinds."""
    size, rest = 0, [value]
    while rest:
        match rest.pop():
            case str() as text:
                size += len(text.encode(errors="replace"))
            case dict() as fields:
                rest += [part for name, part in fields.items() if name in _TEXTS or not isinstance(part, str)]
            case list() | tuple() as items:
                rest += items
    return size


def completion_of(path: str, data: bytes) -> Json:
    """The completion object of a relayed answer, streamed or not.

    Raises:
        UpstreamError: it is not an answer; for a stream also (code "upstream_broken") that it is incomplete or ended with an error.
    """
    if not begins_stream(data):
        return checked_completion("", data, DIALECTS[path].completion)
    try:
        return completed(DIALECTS[path].served(), data)
    except ProxyError as error:
        raise UpstreamError("the upstream broke off its answer", code="upstream_broken") from error
