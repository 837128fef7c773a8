"""Streams of an upstream, read on their way to the client; the end is held back until the confidence is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse

MOST_BYTES = 64 * 1024 * 1024
"""Most that is read of a stream: all of it is kept until its end."""
OnText = Callable[[int, str], None]
"""Callback that receives the number of a choice and each piece of its text as it is written."""


class ServedStream(ABC):
    """One answer as it is relayed, or read by ourselves.

    Attributes:
        failed: whether the upstream sent an error; the event went on to the client as it was.
        ended: whether the answer said that it is complete. Whatever follows does not belong to it.
    """

    def __init__(self, on_text: OnText | None = None) -> None:
        self.failed = self.ended = False
        self._on_text = on_text
        self._reader = sse.Reader()
        self._size = 0

    def take(self, data: bytes) -> bytes:
        """Read what came; returns what may go on to the client now.

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
            return raw  # a comment that keeps the connection open
        if self.ended:
            return b""
        if data == b"[DONE]":
            self.ended = True  # the mark itself is ours to send
            return b""
        event = decoded(data)
        if not isinstance(event, dict) or event.get("error"):
            self.failed = True
            return raw
        with sendable():
            return self._read(event, raw)

    @property
    @abstractmethod
    def response_id(self) -> str | None:
        """The answer's own id."""

    @abstractmethod
    def _read(self, event: Json, raw: bytes) -> bytes:
        """Keep what an event says; returns what may go on."""

    @abstractmethod
    def completion(self) -> Json:
        """The answer as one completion object, once the stream has ended.

        Raises:
            UpstreamError: it broke off.
        """

    @abstractmethod
    def closing(self, pieces: Iterable[str], extra: Json, usage: Json | None) -> Iterator[bytes]:
        """What was held back, behind the pieces of a text of ours.

        Args:
            pieces: what is said after the answer; empty where nothing is.
            extra: fields of ours for the event that ends the answer.
            usage: what the answer is to say of the tokens spent; None: what the upstream says.
        """


def decoded(data: bytes) -> Any:
    """The JSON value in the data of an event.

    Raises:
        UpstreamError: it is not valid JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        message = "the upstream's stream holds an event that is not valid JSON"
        raise UpstreamError(message, code="upstream_broken") from error


@contextmanager
def sendable() -> Iterator[None]:
    """Turn the fault of an event that was read and cannot be written again into the upstream's."""
    try:
        yield
    except (orjson.JSONEncodeError, RecursionError) as error:
        message = "the upstream's answer holds what cannot be sent again (nested too deeply, for one)"
        raise UpstreamError(message, code="upstream_not_completion") from error


def broken_off() -> UpstreamError:
    """The error of a stream that ended before its answer did."""
    return UpstreamError("the upstream broke off its answer", code="upstream_broken")


def short_id(name: object) -> str | None:
    """An id as the audit keeps it."""
    return name[:128] if isinstance(name, str) else None


async def whole(stream: AsyncIterator[bytes], served: ServedStream) -> Json:
    """The completion object of a stream that nobody else reads.

    Raises:
        UpstreamError: it broke off, holds an error, or is not a stream of events.
    """
    async for data in stream:
        _take(served, data)
    _take(served, b"\n\n")  # the last event may lack its blank line
    return served.completion()


def _take(served: ServedStream, data: bytes) -> None:
    served.take(data)
    if served.failed:
        raise UpstreamError("the upstream's stream ended with an error", code="upstream_broken")
