"""The client's end of the wire: sends bytes as they are given, and reads one answer as far as it comes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import httptools
import orjson

Step = bytes | float | Literal["half-close", "leave", "reset"]
"""What a client does next: sends bytes, waits for so many seconds, says that nothing more comes, closes, resets."""
LIMIT_S = 90.0
"""A request without an end after so many seconds hangs. Generous: other work may run on the machine."""


@dataclass(slots=True)
class Answer:
    """What came back.

    Attributes:
        status: None where nothing came.
        whole: whether the answer was complete by its own framing.
        hung: whether neither an answer nor an end of the connection came.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False
    hung: bool = False
    seconds: float = 0.0

    @property
    def ending(self) -> str:
        """How it ended: "whole"; "error", with an event that says what went wrong; "cut"."""
        last = self.body.rstrip().rpartition(b"\n")[2]
        if last.startswith(b"data: {"):
            try:
                event = orjson.loads(last[6:])
            except orjson.JSONDecodeError:
                event = {}
            if "error" in event or event.get("type") in ("error", "response.failed"):
                return "error"
        return "whole" if self.whole else "cut"


class _Reading:
    """The parser's callbacks. Interim answers (100) are passed over."""

    def __init__(self, answer: Answer, is_head: bool) -> None:
        self.answer, self._is_head = answer, is_head
        self._parts: list[bytes] = []
        self.parser = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self.parser.get_status_code()
        if status >= 200:
            self.answer.status = status
            self.answer.whole = self._is_head

    def on_body(self, data: bytes) -> None:
        self._parts.append(data)

    def on_message_complete(self) -> None:
        if self.answer.status is None:
            self.answer.headers.clear()
        else:
            self.answer.whole = True

    def end(self) -> None:
        self.answer.body = b"".join(self._parts)
        if not {"content-length", "transfer-encoding"} & set(self.answer.headers):
            self.answer.whole = self.answer.status is not None  # ended by the connection


async def say(address: tuple[str, int], script: Sequence[Step], *, is_head: bool = False) -> Answer:
    """Follow the script on a connection of its own, and read what comes until the answer or the connection ends."""
    answer, began = Answer(), time.monotonic()
    try:
        async with asyncio.timeout(LIMIT_S):
            reader, writer = await asyncio.open_connection(*address, limit=1 << 24)
            try:
                await _exchange(reader, writer, script, _Reading(answer, is_head))
            finally:
                writer.transport.abort()
    except TimeoutError:
        answer.hung = True
    except ConnectionError:
        answer.whole = False  # refused or reset: what came until then counts as cut off
    answer.seconds = time.monotonic() - began
    return answer


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, script: Sequence[Step], reading: _Reading
) -> None:
    receiving = asyncio.ensure_future(_receive(reader, reading))
    try:
        with contextlib.suppress(ConnectionError):  # an answer may be there although the server takes no more
            for step in script:
                if isinstance(step, bytes):
                    writer.write(step)
                    await writer.drain()
                elif isinstance(step, float):
                    await asyncio.wait({receiving}, timeout=step)
                elif step == "half-close":
                    writer.write_eof()
                else:
                    _leave(writer, reset=step == "reset")
                    return
        await receiving
    finally:
        receiving.cancel()
        reading.end()


def _leave(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    if reset:
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _receive(reader: asyncio.StreamReader, reading: _Reading) -> None:
    while not reading.answer.whole and (data := await reader.read(1 << 16)):
        try:
            reading.parser.feed_data(data)
        except httptools.HttpParserError:
            return


def request(method: str, target: str, body: bytes | None = None, **headers: str) -> bytes:
    """A well-formed request; `_` in the names of headers stands for `-`."""
    lines = [f"{method} {target} HTTP/1.1", "host: chaos"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")
