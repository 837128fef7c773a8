"""Reading an answer that was relayed: from a copy of its bytes, beside the client, who has it already."""

from __future__ import annotations

from hedgerow.proxy.computing import compute
from hedgerow.proxy.errors import ProxyError, UpstreamError
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.types import BYTES_A_TOKEN, Json, Usage
from hedgerow.proxy.upstreams.answers import checked_completion, sample_of, usage_of
from hedgerow.proxy.upstreams.dialects.table import DIALECTS, Dialect

MAX_CAPTURED_BYTES = 1 << 20
"""A copy is kept up to this size; a longer answer is not read."""
READ_AT_ONCE_BYTES = 16 * 1024
"""Up to this size an answer that is not a stream is read where it is; a thread would cost more."""


class Copy:
    """The bytes of a relayed answer, as far as they are kept."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.size = 0

    def take(self, piece: bytes) -> None:
        """Keep a piece."""
        self.size += len(piece)
        if self.size <= MAX_CAPTURED_BYTES:
            self._kept.extend(piece)

    @property
    def data(self) -> bytes | None:
        """All of it; None where it was too much."""
        return bytes(self._kept) if self.size <= MAX_CAPTURED_BYTES else None

    async def usage(self, job: Job, sent: int) -> Usage:
        """The tokens that the answer says it cost; where it does not say, a token for each four bytes of request (`sent`) and answer."""
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
        return Usage()  # an error, or broken off: what it cost is not known
    usage = usage_of(completion)
    if usage.total:
        return usage
    text = "".join(sample_of(choice).text or "" for choice in completion["choices"])
    return Usage(sent // BYTES_A_TOKEN, len(text.encode()) // BYTES_A_TOKEN, estimated=True)


def completion_of(path: str, data: bytes) -> Json:
    """The completion object of an answer as it was relayed, whole or as a stream.

    Raises:
        UpstreamError: it is not an answer; of a stream (code "upstream_broken") also that it broke off, or that an error ended it.
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
        ProxyError: it is not an answer, or broke off.
        ValueError: an error ended it.
    """
    stream = dialect.served(None)
    stream.take(data + b"\n\n")
    completion = stream.completion()
    if stream.failed:
        raise ValueError("an error ended the stream")
    return completion
