"""HTTP/1.1 on the wire: uvicorn's protocol, with bounds on what a client may send and how long it may take, and an upgrade that is not served
does not cost the request its body.

A stock JDK HttpClient offers `Upgrade: h2c` with every request. A server may go on in HTTP/1.1; the parser takes what follows for the other
protocol and drops it.
"""

from __future__ import annotations

import asyncio
import sys
from typing import ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OF_AN_UPGRADE = (b"upgrade", b"http2-settings")
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Together:
    """A transport on which a piece waits for the next one, until the loop's turn ends: the head of an answer leaves with the beginning of its
    body, in one call of the system.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: bytes | None = None
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Hold a piece, or send it behind the one that is held."""
        if self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            held, self._held = self._held, None
            if not self.is_closing():
                self._transport.writelines((held, data))

    def _flush(self) -> None:
        if self._held is not None and not self.is_closing():  # a client that left in the meantime gets nothing
            self._transport.write(self._held)
        self._held = None

    def close(self) -> None:
        """Send what is held, then close."""
        self._flush()
        self._transport.close()


class Http11(HttpToolsProtocol):
    """One connection. A request that offers another protocol is read again without the offer. A client that stops sending in the middle of
    a request, or sends its head without end, loses its connection; one that waits for an answer, or reads slowly, keeps it.
    """

    HEAD_BYTES: ClassVar[int] = 64 * 1024
    """Most that the address and the headers of a request may take."""
    HEAD_S: ClassVar[float] = 30.0
    """Longest that they may take to arrive, from the connection or their first byte on."""
    IDLE_S: ClassVar[float] = 60.0
    """Longest pause in a request's body."""

    _data = b""
    _head_bytes = 0
    _head_too_large = False
    _head_began: float | None = None
    _in_body = False
    _framing = 0
    """Bytes that came since the last one of the body: lengths and extensions of chunks, trailers."""
    _last = 0.0
    _check: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._bare = transport
        self.transport = Together(transport, self.loop)  # type: ignore[assignment]
        self._head_began = self.loop.time()
        self._check = self.loop.call_later(self.HEAD_S, self._close_if_stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_checking()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over: a WebSocket may be silent for as long as it likes."""
        self._stop_checking()
        self.transport = self._bare
        super().handle_websocket_upgrade()

    def _stop_checking(self) -> None:
        if self._check is not None:
            self._check.cancel()

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        self._data, self._last = data, self.loop.time()
        if self._head_began is None and not self._in_body:
            self._head_began = self._last
        if self._head_began is not None:
            self._head_bytes += len(data)
        self._framing += len(data)
        super().data_received(data)
        if self._in_body and self._framing > self.HEAD_BYTES:
            self._refuse_framing()
        if self._head_began is not None and self._head_bytes > self.HEAD_BYTES and not self._head_too_large:
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be parsed, and a head that is too large although it came at once."""
        if self._head_too_large:
            self._refuse_head()
        else:
            super().send_400_response(msg)

    def _refuse_head(self) -> None:
        self.transport.write(_HEAD_TOO_LARGE)
        self.transport.close()

    def _refuse_framing(self) -> None:
        """The parser would read it for ever, and keep what looks like headers; the limit of a body does not hold for it."""
        if self.cycle.response_started:
            self.transport.close()
        else:
            super().send_400_response("There is too much between the parts of the body.")

    def _close_if_stalled(self) -> None:
        """Close the connection where the client owes bytes for too long; else look again later."""
        now = self.loop.time()
        late = self._head_began is not None and now - self._head_began >= self.HEAD_S
        silent = self._in_body and now - self._last >= self.IDLE_S and not self.flow.read_paused
        if late or silent:
            self.transport.close()
        else:
            self._check = self.loop.call_later(min(self.HEAD_S, self.IDLE_S) / 2, self._close_if_stalled)

    def on_headers_complete(self) -> None:
        """Begin the request, unless it is read again. Whatever is raised here ends the parsing, and leads to `send_400_response`."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        self._head_too_large = size > self.HEAD_BYTES
        if self._head_too_large:
            raise ValueError("the head is too large")
        if [name for name, _ in self.headers].count(b"host") > 1:  # what stands before us may have read the other one
            raise ValueError("the request names two hosts")
        if not self._offers_upgrade():
            self._head_began, self._head_bytes, self._framing, self._in_body = None, 0, 0, True
            super().on_headers_complete()
            if not self.parser.should_upgrade():
                self.headers = []  # the request has its own; trailers are none of them

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request's body, unless it is read again."""
        if not self._offers_upgrade():
            self._in_body = False
            super().on_message_complete()

    def _offers_upgrade(self) -> bool:
        """Whether the request offers a protocol that is not served."""
        return self.parser.should_upgrade() and self._get_upgrade() is not None and not self._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Called where the parser stopped because of an upgrade that is not served: read the request without it, and its body."""
        stop, data = sys.exception(), self._data
        if not isinstance(stop, httptools.HttpParserUpgrade) or not self._offers_upgrade():
            return
        head = [self.parser.get_method(), b" ", self.url, b" HTTP/1.1\r\n"]
        for name, value in self.headers:
            if name == b"connection":
                tokens = (token.strip() for token in value.split(b","))
                value = b", ".join(token for token in tokens if token.lower() not in _OF_AN_UPGRADE)
            if value and name not in _OF_AN_UPGRADE:
                head += [name, b": ", value, b"\r\n"]
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"".join([*head, b"\r\n", data[stop.args[0] :]]))
