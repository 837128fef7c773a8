"""Streams of an upstream, read on their way to the client; the end is held back until the confidence is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from ...errors import UpstreamError, UpstreamRejected
from ...strict_json import dumps, read_leniently
from ...types import Json
from .. import sse
from ..answers import error_of, status_of

MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of a stream in bytes: all of it is kept until its end."""


class ServedStream(ABC):
    """One answer, relayed to the client or only read by the proxy.

    Attributes:
        head: the fields of the whole answer so far.
        failed: whether the upstream sent an error; the event was relayed unchanged.
        failure: this event, decoded and as it came.
        ended: whether the answer is marked complete; later data does not belong to it.
        hides_usage: whether the token usage that streams report on request is taken out, because the client did not request it.
    """

    def __init__(self) -> None:
        self.failed = self.ended = self.hides_usage = False
        self.failure: tuple[Any, bytes] = None, b""
        self.head: Json = {}
        self._held: list[tuple[Json, bytes]] = []  # events at the end, which are sent if anything follows
        self._reader = sse.Reader()
        self._size = 0

    def take(self, data: bytes) -> bytes:
        """Read received bytes; returns the bytes that may be sent to the client now.

        Raises:
            UpstreamError: an event is not JSON, or the stream is too long.
        """
        self._size += len(data)
        if self._size > MOST_BYTES:
            raise UpstreamError(f"the upstream's stream is longer than {MOST_BYTES} bytes", code="upstream_broken")
        return b"".join(map(self._take_event, self._reader.feed(data)))

    def _take_event(self, raw: bytes) -> bytes:
        data = sse.data_of(raw)
        if not data:
            return raw  # a comment keeps the connection open
        if self.ended:
            return b""
        if data == b"[DONE]":
            self.ended = True  # we send this mark ourselves
            return b""
        event = decoded(data)
        is_error = tells_error(event, raw)
        ready = raw if is_error else self._read(event, raw)
        if is_error or (self.failed and not self.failure[1]):
            self.failed, self.failure = True, (event, raw)
        return ready

    @property
    def response_id(self) -> str | None:
        """The id of the answer."""
        return short_id(self.head.get("id"))

    def _flush(self, *then: tuple[Json, bytes]) -> bytes:
        """The events that were held back; the next ones are held back in their place."""
        ready, self._held = b"".join(raw for _, raw in self._held), list(then)
        return ready

    @abstractmethod
    def _read(self, event: Json, raw: bytes) -> bytes:
        """Process an event; returns the bytes that may be sent to the client."""

    @abstractmethod
    def completion(self) -> Json:
        """The answer as one completion object, once the stream has ended.

        Raises:
            UpstreamError: it broke off.
        """

    @abstractmethod
    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """The events held back, after the pieces of our text.

        Args:
            pieces: our text after the answer; may be empty.
            extra: our fields for the last event.
            usage: token usage to report; None: the upstream's.
        """


def decoded(data: bytes) -> Any:
    """The JSON value in the data of an event.

    Raises:
        UpstreamError: it is not valid JSON, or nested too deeply.
    """
    try:
        return read_leniently(data)
    except ValueError as error:
        message = "the upstream's stream holds an event that is not valid JSON, or that is nested too deeply"
        raise UpstreamError(message, code="upstream_broken") from error


def tells_error(event: Any, raw: bytes) -> bool:
    """Whether an event, decoded and as it came, is an error in the words of any server."""
    if not isinstance(event, dict) or bool(event.get("error")) or event.get("object") == "error":
        return True
    return raw.startswith((b"event: error\r", b"event: error\n", b"event:error\n"))


def broken_off() -> UpstreamError:
    """The error for a stream that ended before its answer did."""
    return UpstreamError("the upstream broke off its answer", code="upstream_broken")


def short_id(name: object) -> str | None:
    """An id as the audit keeps it."""
    return name[:128] if isinstance(name, str) else None


async def whole(stream: AsyncIterator[bytes], served: ServedStream) -> Json:
    """The completion object of a stream that is only read by the proxy.

    Raises:
        UpstreamRejected: it contains an error.
        UpstreamError: it broke off, or is not a stream of events.
    """
    async for data in stream:
        taken(served, data)
    return completed(served)


def completed(served: ServedStream, rest: bytes = b"") -> Json:
    """The completion object of a stream that is read to its end; see `whole`."""
    taken(served, rest + b"\n\n")  # the last event may lack its blank line
    return served.completion()


def taken(served: ServedStream, data: bytes) -> None:
    """Read a piece; raise `UpstreamRejected` for an error in it."""
    served.take(data)
    if served.failed:
        raise _rejected(*served.failure)


def _rejected(event: Any, raw: bytes) -> UpstreamRejected:
    """The error of an event, as the body of an answer would tell it."""
    answer = event.get("response") if isinstance(event, dict) else None
    error = error_of(answer if isinstance(answer, dict) and answer.get("error") else event)
    is_typed = isinstance(event, dict) and event.get("type") == "error" and event.get("error")
    body = ({"type": "error"} if is_typed else {}) | {"error": error}
    return UpstreamRejected(status_of(body), dumps(body), "application/json", event=raw)
