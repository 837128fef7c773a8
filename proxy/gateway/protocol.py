"""HTTP/1.1: uvicorn's protocol with limits on the size and duration of requests. A request that offers an unsupported upgrade keeps its body.

The JDK's HttpClient offers `Upgrade: h2c` with every request. A server may ignore it and continue in HTTP/1.1, but the parser takes the
following bytes for the other protocol and drops them.
"""

from __future__ import annotations

import asyncio
import sys
from http import HTTPStatus
from typing import ClassVar

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ..errors import BadRequest
from .finish import refused
from .sockets import WEBSOCKET, Socket

_OF_AN_UPGRADE = (b"upgrade", b"http2-settings")
_JOINED_BYTES = 16 * 1024
"""Pieces up to this size are copied behind the head: one buffer costs the system less than two."""
_REFUSAL = b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s"


class Together:
    """A transport that delays a piece until the next one or the next iteration of the loop, so that the head of an answer and the beginning
    of its body are sent with one system call.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held: bytes | None = None
        self.is_closing = transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading

    def write(self, data: bytes) -> None:
        """Hold a piece, or send it together with the one that is held."""
        if self._held is None:
            self._held = data
            self._loop.call_soon(self._flush)
        else:
            held, self._held = self._held, None
            if self.is_closing():
                return
            if len(data) <= _JOINED_BYTES:
                self._transport.write(held + data)
            else:
                self._transport.writelines((held, data))

    def _flush(self) -> None:
        if self._held is not None and not self.is_closing():  # the client may have disconnected in the meantime
            self._transport.write(self._held)
        self._held = None

    def close(self) -> None:
        """Send the held piece, then close."""
        self._flush()
        self._transport.close()


class Http11(HttpToolsProtocol):
    """One connection. A request that offers another protocol is parsed again without the offer. A client that stops in the middle of a request
    or sends an endless head is disconnected; one that waits for an answer or reads slowly is not.
    """

    HEAD_BYTES: ClassVar[int] = 64 * 1024
    """Maximum size in bytes of the request line and headers."""
    HEAD_S: ClassVar[float] = 30.0
    """Maximum seconds for them to arrive, from the connection or their first byte."""
    IDLE_S: ClassVar[float] = 60.0
    """Longest pause in a request's body, in seconds."""

    _data = b""
    _head_bytes = 0
    _head_began: float | None = None
    _in_body = False
    _framing = 0
    """Bytes received since the last one of the body: lengths and extensions of chunks, trailers."""
    _last = 0.0
    _check: asyncio.TimerHandle | None = None
    _socket: Socket | None = None
    _idle_since: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request."""
        super().connection_made(transport)
        self.transport = Together(transport, self.loop)  # type: ignore[assignment]
        self._head_began = self.loop.time()
        self._check = self.loop.call_later(self.HEAD_S, self._close_if_stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_checking()
        if self._socket is not None:
            self._socket.feed(b"")
        super().connection_lost(exc)

    def _leave_http(self) -> None:
        """The connection goes on in another protocol, which may be idle without limit."""
        self._stop_checking()
        self.cycle.response_started = self.cycle.response_complete = True

    def _stop_checking(self) -> None:
        for timer in (self._check, self.timeout_keep_alive_task):
            if timer is not None:
                timer.cancel()

    def on_response_complete(self) -> None:
        """Begin the next request, or wait for it. One timer outlives many requests: a timer for each would cost more than the waiting."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._wait_for_request(self.timeout_keep_alive)

    def _wait_for_request(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        """A request has come: the timer may go on, and finds out."""
        self._idle_since = None

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle for too long; else look again when it could be."""
        self.timeout_keep_alive_task = None
        if self._idle_since is None:
            return
        left_s = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left_s > 0:
            self._wait_for_request(left_s)
        else:
            super().timeout_keep_alive_handler()

    def data_received(self, data: bytes) -> None:
        """Parse the received bytes."""
        if self._socket is not None:
            self._socket.feed(data)
            return
        self._data, self._last = data, self.loop.time()
        if self._head_began is None and not self._in_body:
            self._head_began = self._last
        if self._head_began is not None:
            self._head_bytes += len(data)
        self._framing += len(data)
        super().data_received(data)
        if self._in_body and self._framing > self.HEAD_BYTES:
            self._refuse_framing()
        if self._head_began is not None and self._head_bytes > self.HEAD_BYTES and not self.transport.is_closing():
            self._refuse(self._head_too_large())

    def send_400_response(self, msg: str) -> None:
        """Refuse a request that cannot be parsed, or in whose head something was found wrong."""
        fault = sys.exception()
        found = getattr(fault, "__context__", None)
        is_told = isinstance(fault, httptools.HttpParserError) and found is None
        said = f": {fault}" if is_told else ""
        self._refuse(found if isinstance(found, BadRequest) else BadRequest(f"this is no request of HTTP/1.1{said}"))

    def _refuse(self, error: BadRequest) -> None:
        body = orjson.dumps(error.body())
        phrase = HTTPStatus(error.status).phrase.encode()
        self.transport.write(_REFUSAL % (error.status, phrase, len(body), body))
        self.transport.close()
        if (reloader := self.app_state.get("reloader")) is not None:
            refused(reloader.services, "http", error.status, error.code)

    def _head_too_large(self) -> BadRequest:
        error = BadRequest(f"the request line and headers are larger than {self.HEAD_BYTES:,} bytes")
        error.status = 431
        return error

    def _refuse_framing(self) -> None:
        """Refuse endless chunk framing: the parser would read it forever and keep trailers, and the limit of the body does not cover it."""
        if self.cycle.response_started:
            self.transport.close()
        else:
            self._refuse(BadRequest("there is too much between the parts of the body"))

    def _close_if_stalled(self) -> None:
        """Close the connection if the client has owed bytes for too long; else check again later."""
        now = self.loop.time()
        late = self._head_began is not None and now - self._head_began >= self.HEAD_S
        silent = self._in_body and now - self._last >= self.IDLE_S and not self.flow.read_paused
        if late or silent:
            self.transport.close()
        else:
            self._check = self.loop.call_later(min(self.HEAD_S, self.IDLE_S) / 2, self._close_if_stalled)

    def on_headers_complete(self) -> None:
        """Begin the request, unless it is parsed again. An exception here ends parsing and leads to `send_400_response`."""
        size, hosts = len(self.url), []
        for name, value in self.headers:
            size += len(name) + len(value) + 4
            if name == b"host":
                hosts.append(value)
        if size > self.HEAD_BYTES:
            raise self._head_too_large()
        if len(hosts) > 1:  # a proxy in front of this one may have read the other value
            raise BadRequest("the request names two hosts")
        if hosts in ([], [b""]) and self.parser.get_http_version() != "1.0":
            raise BadRequest("the request names no host")
        if not self._offers_upgrade():
            self._head_began, self._head_bytes, self._framing, self._in_body = None, 0, 0, True
            if self._socket is not None:
                self.scope["extensions"] = {WEBSOCKET: self._socket}  # type: ignore[dict-item]
            super().on_headers_complete()
            self.cycle.keep_alive = self.cycle.keep_alive and self._socket is None
            self.headers = []  # trailers are not headers of the request

    def on_body(self, body: bytes) -> None:
        """Receive a part of the body."""
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request's body, unless it is parsed again."""
        if not self._offers_upgrade():
            self._in_body = False
            super().on_message_complete()

    def _offers_upgrade(self) -> bool:
        """Whether the request offers another protocol, for which the parser stops."""
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _asks_for_websocket(self) -> bool:
        """Whether what is offered is a WebSocket: by the only method and in the only form in which a handshake may come."""
        names = [name for name, _ in self.headers]
        offered = [value.lower() for name, value in self.headers if name == b"upgrade"]
        has_body = b"content-length" in names or b"transfer-encoding" in names
        return self.parser.get_method() == b"GET" and offered == [b"websocket"] and not has_body

    def _unsupported_upgrade_warning(self) -> None:
        """Called when the parser stopped at an upgrade: parse the request again without it, then its body. What follows a request for a WebSocket
        is not parsed: the connection ends with the answer to it, or is the WebSocket's.
        """
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
        rest = data[stop.args[0] :]
        asks = self._asks_for_websocket()
        self._socket = Socket(self.transport, self.flow.drain, self._leave_http) if asks else None
        self.parser = httptools.HttpRequestParser(self)
        if self._socket is None:
            self.data_received(b"".join([*head, b"\r\n", rest]))
        else:
            super().data_received(b"".join([*head, b"\r\n"]))
            if rest:
                self._socket.feed(rest)
