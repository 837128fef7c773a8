"""The scripted upstream: a bare socket server, so that it can send anything. The header `x-fault` of a request says which fault it shows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import orjson

from benchmarks.chaos.faults import BY_NAME, SOUND, Fault
from benchmarks.chaos.speech import chat, chat_events, response, response_events, text

_TAG = re.compile(rb"district of (\w+)\?")
_LENGTH = re.compile(r"(?i)\r\ncontent-length: *(\d+)")
_LENGTH = re.compile(r"(?i)\r\ncontent-length: *(\d+)")
_FAULT = re.compile(rb"(?i)\r\nx-fault: ([^\r]*)\r\n")
_PAUSE_S = 0.001
"""Between two pieces of a body that is sent in pieces."""
_MOST_PIECES = 300
"""Pieces that are sent with a pause; the rest follows at once."""
_TRICKLE_S = 0.5
_STALL_S = 3600.0
_MOST_CHOICES = 100


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as the upstream reads it."""

    path: str
    tag: str
    streams: bool
    n: int


@dataclass(slots=True)
class Upstream:
    """What was asked and said, by the tag of the question.

    Attributes:
        texts: what answers said.
        first: the first body that was sent.
        targets: the paths that were asked for, with the headers that came along.
    """

    texts: dict[str, list[str]] = field(default_factory=dict)
    first: dict[str, bytes] = field(default_factory=dict)
    targets: list[tuple[str, bytes]] = field(default_factory=list)
    turns: Counter[str] = field(default_factory=Counter)
    url: str = ""

    def forget(self) -> None:
        """Begin anew: what was said to requests that have been looked at is not needed any more."""
        for kept in (self.texts, self.first, self.targets, self.turns):
            kept.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError):
            goes_on = True
            while goes_on:
                head = await reader.readuntil(b"\r\n\r\n")
                named = _FAULT.search(head)
                fault = BY_NAME.get(named[1].decode("latin-1"), SOUND) if named is not None else SOUND
                if fault.stop is not None and fault.stop[0] == "accept":
                    goes_on = await _stop(writer, fault.stop[1])
                else:
                    goes_on = await self._answer(await self._read(head, reader), fault, writer)
        writer.close()

    async def _read(self, head: bytes, reader: asyncio.StreamReader) -> Asked:
        line, _, headers = head.partition(b"\r\n")
        target = line.split(b" ")[1].decode("latin-1")
        self.targets.append((target, headers.lower()))
        if b"transfer-encoding: chunked" in headers.lower():
            data = await reader.readuntil(b"0\r\n\r\n")
        else:
            length = re.search(rb"(?i)content-length: (\d+)", headers)
            data = await reader.readexactly(int(length[1])) if length else b""
        try:
            body = orjson.loads(data)
        except orjson.JSONDecodeError:
            body = {}
        body = body if isinstance(body, dict) else {}
        tag = _TAG.search(data)
        n = body.get("n")
        name = tag[1].decode().lower() if tag else ""
        return Asked(target, name, body.get("stream") is True, n if isinstance(n, int) else 1)

    async def _answer(self, asked: Asked, fault: Fault, writer: asyncio.StreamWriter) -> bool:
        """Do what the fault says; whether the connection goes on."""
        where, how = fault.stop or (None, None)
        if where == "request":
            return await _stop(writer, how)
        if fault.raw is not None:
            writer.write(fault.raw)
            await writer.drain()
            return False
        body, is_stream = self._body(asked, fault)
        self.first.setdefault(asked.tag, body)
        head, framed = _framed(fault, body, is_stream)
        if where == "head":
            writer.write(head[: len(head) // 2])
            return await _stop(writer, how)
        if where == "body":
            writer.write(head + framed[: len(framed) // 2])
            await asyncio.sleep(0.05)  # what has gone out before is not taken back by a reset
            return await _stop(writer, how)
        if fault.pieces is None:
            writer.write((head + framed) * fault.times)
        else:
            writer.write(head)
            await _drip(writer, framed, fault.pieces)
        await writer.drain()
        return fault.framing != "close"

    def _body(self, asked: Asked, fault: Fault) -> tuple[bytes, bool]:
        """The body without framing, and whether it is a stream."""
        is_stream = fault.form == "stream" or (fault.form == "asked" and asked.streams and fault.status == 200)
        if fault.body is not None:
            return fault.body, is_stream
        several = min(_MOST_CHOICES, fault.choices(asked.n) if fault.choices is not None else max(1, asked.n))
        said = [text(asked.tag, self.turns[asked.tag] + turn) for turn in range(several)]
        self.turns[asked.tag] += several
        patched = fault.message.get("content")
        self.texts.setdefault(asked.tag, []).extend([patched] if isinstance(patched, str) else said)
        is_response = asked.path.endswith("/responses")
        if not is_stream:
            return json.dumps(
                response(said[0], fault.patch) if is_response else chat(said, fault.patch)
            ).encode(), False
        events = list((response_events if is_response else chat_events)(said[0], fault.patch))
        if isinstance(patched, str):
            self.texts[asked.tag].append(2 * patched)  # both deltas say it
        return b"".join(fault.events(events) if fault.events is not None else events), True


async def _drip(writer: asyncio.StreamWriter, body: bytes, size: int) -> None:
    """Send a body in pieces, the first of them with pauses."""
    for number, piece in enumerate(_pieces(body, size)):
        if writer.transport.is_closing():
            return
        writer.write(piece)
        if number < _MOST_PIECES:
            await asyncio.sleep(_PAUSE_S)


def _framed(fault: Fault, body: bytes, is_stream: bool) -> tuple[bytes, bytes]:
    """Head and body as they are sent."""
    framing = fault.framing or ("chunks" if is_stream else "length")
    kind = ("text/event-stream" if is_stream else "application/json") if fault.kind is None else fault.kind
    lines = f"HTTP/1.1 {fault.status} Said\r\n{fault.headers}" + (f"content-type: {kind}\r\n" if kind else "")
    if framing == "length":
        lines += f"content-length: {len(body)}\r\n" if fault.status != 204 else ""
    elif framing == "chunks":
        size = fault.pieces or max(1, len(body) // 3)
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in _pieces(body, size)) + b"0\r\n\r\n"
        lines += "transfer-encoding: chunked\r\n"
    else:
        lines += "connection: close\r\n"
    return (lines + "\r\n").encode("latin-1"), body


def _pieces(body: bytes, size: int | None) -> Iterator[bytes]:
    step = size or max(1, len(body))
    return (body[start : start + step] for start in range(0, len(body), step))


async def _stop(writer: asyncio.StreamWriter, how: str | None) -> bool:
    if how == "stall":
        await asyncio.sleep(_STALL_S)
    while how == "trickle":
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(_TRICKLE_S)
    await writer.drain()
    if how == "reset":
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    return False


async def requests_of(reader: asyncio.StreamReader) -> AsyncIterator[tuple[str, bytes]]:
    """The requests of one connection, each with its head and its body of a declared length, until it ends."""
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
        while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
            length = _LENGTH.search(head)
            yield head, await reader.readexactly(int(length[1])) if length else b""


def framed(body: bytes, kind: str = "application/json") -> bytes:
    """An answer with this body."""
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


class Serves(Protocol):
    """What can be served on a port."""

    url: str

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        ...


S = TypeVar("S", bound=Serves)


@asynccontextmanager
async def listening(upstream: S) -> AsyncIterator[S]:
    """An upstream on a free port; whatever it still does at the end is broken off."""
    running: set[asyncio.Task[None]] = set()

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        running.add(task)  # type: ignore[arg-type]
        try:
            await upstream.serve(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            running.discard(task)  # type: ignore[arg-type]

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=1 << 26, backlog=1024)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield upstream
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
