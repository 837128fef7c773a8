"""Streams of an upstream, read on their way to the client; the end is held back until the confidence is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from ...errors import UpstreamError
from ...strict_json import read_leniently
from ...types import Json
from .. import sse

MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of a stream in bytes: all of it is kept until its end."""
OnText = Callable[[int, str], None]
"""Callback that receives the number of a choice and each piece of its text as it is written."""


class ServedStream(ABC):
    """One answer, relayed to the client or only read by the proxy.

    Attributes:
        failed: whether the upstream sent an error; the event was relayed unchanged.
        ended: whether the answer is marked complete; later data does not belong to it.
        hides_usage: whether the token usage that streams report on request is taken out, because the client did not request it.
    """

    def __init__(self, on_text: OnText | None = None) -> None:
        self.failed = self.ended = self.hides_usage = False
        self._on_text = on_text
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
        if not isinstance(event, dict) or event.get("error"):
            self.failed = True
            return raw
        return self._read(event, raw)

    @property
    @abstractmethod
    def response_id(self) -> str | None:
        """The id of the answer."""

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


def broken_off() -> UpstreamError:
    """The error for a stream that ended before its answer did."""
    return UpstreamError("the upstream broke off its answer", code="upstream_broken")


def short_id(name: object) -> str | None:
    """An id as the audit keeps it."""
    return name[:128] if isinstance(name, str) else None


async def whole(stream: AsyncIterator[bytes], served: ServedStream) -> Json:
    """The completion object of a stream that is only read by the proxy.

    Raises:
        UpstreamError: it broke off, contains an error, or is not a stream of events.
    """
    async for data in stream:
        _take(served, data)
    _take(served, b"\n\n")  # the last event may lack its blank line
    return served.completion()


def _take(served: ServedStream, data: bytes) -> None:
    served.take(data)
    if served.failed:
        raise UpstreamError("the upstream's stream ended with an error", code="upstream_broken")
