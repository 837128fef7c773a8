"""Read an answer that was relayed to the client, from a copy of its bytes."""

from __future__ import annotations

from ..computing import compute
from ..errors import ProxyError, UpstreamError
from ..pipeline.job import Job
from ..types import BYTES_A_TOKEN, Json, Usage
from ..upstreams.answers import checked_completion, sample_of, usage_of
from ..upstreams.dialects.table import DIALECTS, Dialect

MAX_CAPTURED_BYTES = 1 << 20
"""Longest answer of which a copy is kept and read."""
READ_AT_ONCE_BYTES = 16 * 1024
"""Non-streamed answers up to this size are parsed on the event loop; a worker thread would cost more."""


class Copy:
    """A copy of a relayed answer, up to `MAX_CAPTURED_BYTES`."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.size = 0

    def take(self, piece: bytes) -> None:
        """Append a piece."""
        self.size += len(piece)
        if self.size <= MAX_CAPTURED_BYTES:
            self._kept.extend(piece)

    @property
    def data(self) -> bytes | None:
        """The complete answer; None if it was too long."""
        return bytes(self._kept) if self.size <= MAX_CAPTURED_BYTES else None

    async def usage(self, job: Job, sent: int) -> Usage:
        """The token usage that the answer reports; without a report, one token for four bytes of request (`sent`) and answer."""
        data = self.data
        if data is None:
            return Usage(sent // BYTES_A_TOKEN, self.size // BYTES_A_TOKEN, estimated=True)
        if len(data) <= READ_AT_ONCE_BYTES and not _is_stream(data):
            return _usage(job.path, data, sent)
        return await compute(_usage, job.path, data, sent)


def _usage(path: str, data: bytes, sent: int) -> Usage:
    try:
        completion = completion_of(path, data)
    except UpstreamError:
        return Usage()  # an error or an incomplete answer: its cost is unknown
    usage = usage_of(completion)
    if usage.total:
        return usage
    text = "".join(sample_of(choice).text or "" for choice in completion["choices"])
    return Usage(sent // BYTES_A_TOKEN, len(text.encode()) // BYTES_A_TOKEN, estimated=True)


def completion_of(path: str, data: bytes) -> Json:
    """The completion object of a relayed answer, streamed or not.

    Raises:
        UpstreamError: it is not an answer; for a stream also (code "upstream_broken") that it is incomplete or ended with an error.
    """
    if not _is_stream(data):
        return checked_completion("", data, DIALECTS[path].completion)
    try:
        return _streamed(DIALECTS[path], data)
    except (ProxyError, ValueError) as error:
        raise UpstreamError("the upstream broke off its answer", code="upstream_broken") from error


def _is_stream(data: bytes) -> bool:
    return data.lstrip().startswith((b"data:", b"event:", b":"))


def _streamed(dialect: Dialect, data: bytes) -> Json:
    """The completion object of a stream.

    Raises:
        ProxyError: it is not an answer, or is incomplete.
        ValueError: it ended with an error.
    """
    stream = dialect.served(None)
    stream.take(data + b"\n\n")
    completion = stream.completion()
    if stream.failed:
        raise ValueError("an error ended the stream")
    return completion
