"""Bodies as they can be read: without their compression, and streams known as such whatever is said about them."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import brotli
import zstandard

from ..errors import UpstreamError
from ..protocols import Relay
from .sse import STREAM, begins_stream

UNREADABLE = (zlib.error, brotli.error, zstandard.ZstdError)
_SLICE = 1024
_MOST = 32 << 20
"""Bytes that are decompressed at once, and those that they may hold: gzip and deflate 1 MB, zstd 32 MB, brotli as many as are asked for."""


class UnknownCoding(ValueError):
    """A `content-encoding` that is not read here."""


class _Zlib:
    """gzip, and deflate with or without its header."""

    def __init__(self) -> None:
        self._reader, self._is_begun = zlib.decompressobj(47), False

    def __call__(self, data: bytes) -> bytes:
        try:
            plain = self._reader.decompress(data)
        except zlib.error:
            if self._is_begun:
                raise
            self._reader = zlib.decompressobj(-15)
            plain = self._reader.decompress(data)
        self._is_begun = True
        return plain

    def is_over(self) -> bool:
        return self._reader.eof and not self._reader.unused_data


class _Brotli:
    """Brotli, of which a few bytes may hold a gigabyte."""

    def __init__(self) -> None:
        self._reader = brotli.Decompressor()

    def __call__(self, data: bytes) -> bytes:
        plain: bytes = self._reader.process(data, output_buffer_limit=_MOST)
        if not (self._reader.can_accept_more_data() or self._reader.is_finished()):
            raise brotli.error("one piece holds too much")
        return plain

    def is_over(self) -> bool:
        return bool(self._reader.is_finished())


def _reader(coding: str) -> tuple[Callable[[bytes], bytes], Callable[[], bool]]:
    """A function that decompresses, and one that tells whether everything has come."""
    reader: Any
    match coding:
        case "gzip" | "x-gzip" | "deflate":
            reader = _Zlib()
            return reader, reader.is_over
        case "br":
            reader = _Brotli()
            return reader, reader.is_over
        case "zstd":
            reader = zstandard.ZstdDecompressor().decompressobj()
            return reader.decompress, lambda: reader.eof and not reader.unused_data
    raise UnknownCoding(f"the `content-encoding` {coding[:50]!r} is not read here (gzip, deflate, br and zstd are)")


class Decoder:
    """Decompresses what a `content-encoding` describes.

    Raises:
        UnknownCoding: it names another coding, or several one upon the other, of which a few bytes may hold gigabytes.
    """

    def __init__(self, coding: str) -> None:
        named = [name for part in coding.split(",") if (name := part.strip().lower()) not in ("", "identity")]
        if len(named) > 1:
            raise UnknownCoding("several `content-encoding`s one upon the other are not read here")
        self._take: Callable[[bytes], bytes] | None = None
        self._is_over: Callable[[], bool] | None = None
        if named:
            self._take, self._is_over = _reader(named[0])

    def __bool__(self) -> bool:
        return self._take is not None

    def take(self, data: bytes) -> bytes:
        """What a piece holds; raises one of `UNREADABLE` if it is something else."""
        return data if self._take is None else self._take(data)

    @property
    def is_over(self) -> bool:
        """Whether everything has come, and nothing after it."""
        return self._is_over is None or self._is_over()


def plain(data: bytes, coding: str, limit: int) -> bytes:
    """A whole body, decompressed.

    Raises:
        UnknownCoding: it is compressed in another way.
        OverflowError: it is larger than `limit` bytes.
        ValueError: it is not what its coding says, or not all of it.
    """
    decoder = Decoder(coding)
    if not decoder:
        return data
    read, size = [], 0
    try:
        for start in range(0, len(data), _SLICE):
            read.append(decoder.take(data[start : start + _SLICE]))
            size += len(read[-1])
            if size > limit:
                raise OverflowError(f"the body is larger than {limit} bytes")
    except UNREADABLE as error:
        raise ValueError("the body is not what its `content-encoding` says") from error
    if not decoder.is_over:
        raise ValueError("the body is compressed in several parts, or only in part")
    return b"".join(read)


def header(headers: Any, name: bytes) -> str:
    """The value of an answer's header; "" without it. `name` is in lower case."""
    return next((value.decode("latin-1") for own, value in headers if own.lower() == name), "")


async def decompressed(name: str, coding: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces of an upstream's answer, decompressed.

    Raises:
        UpstreamError: it is compressed in another way, or is not what its coding says.
    """
    try:
        decoder = Decoder(coding)
        async for data in chunks:
            for start in range(0, len(data), _SLICE) if decoder else ():
                yield decoder.take(data[start : start + _SLICE])
            if not decoder:
                yield data
    except (UnknownCoding, *UNREADABLE) as error:
        said = str(error) if isinstance(error, UnknownCoding) else f"it is not {coding[:50]}, as it says"
        raise UpstreamError(
            f"the answer of the upstream {name!r} cannot be read: {said}", code="upstream_broken"
        ) from error


async def readable(name: str, reply: Relay) -> tuple[Relay, bool]:
    """A reply to a request for a stream, decompressed; and whether it is a stream: it says so, or begins like one."""
    coding, chunks = header(reply.headers, b"content-encoding"), reply.chunks
    left_out = [b"content-encoding", b"content-length"] if coding else []
    if coding:
        chunks = decompressed(name, coding, chunks)
    if not (is_stream := header(reply.headers, b"content-type").lower().startswith(STREAM)) and reply.status == 200:
        begun = b""
        async for data in chunks:
            begun += data
            if begun.strip():
                break
        chunks = _from(begun, chunks)
        if is_stream := begins_stream(begun):
            left_out += [b"content-type", b"content-length"]
    headers = [pair for pair in reply.headers if pair[0].lower() not in left_out]
    if b"content-type" in left_out:
        headers.append((b"content-type", STREAM.encode()))
    return reply._replace(headers=headers, chunks=chunks), is_stream and reply.status == 200


async def _from(begun: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield begun
    async for data in chunks:
        yield data
