"""A connection whose last request asks for a WebSocket: nothing behind that request is HTTP, whatever the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

WEBSOCKET = "hedgerow.websocket"
"""The extension of ASGI's scope under which a request for a WebSocket has its `Socket`."""
MOST_WAITING = 128 * 1024
"""Bytes of a client that may wait for a slow upstream; reading pauses at twice as many."""


class Socket:
    """The client's end of a WebSocket.

    Args:
        transport: the connection.
        drain: waits until the client has read enough.
        leave_http: tells the connection that its request is answered and that another protocol follows.
    """

    def __init__(
        self, transport: asyncio.Transport, drain: Callable[[], Awaitable[None]], leave_http: Callable[[], None]
    ) -> None:
        self._transport, self._drain, self._leave_http = transport, drain, leave_http
        self._incoming = asyncio.StreamReader(MOST_WAITING, asyncio.get_running_loop())
        self._incoming.set_transport(transport)

    def feed(self, data: bytes) -> None:
        """Take what has arrived; b"" at the end."""
        if data:
            self._incoming.feed_data(data)
        else:
            self._incoming.feed_eof()

    def accept(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Send the answer that opens it."""
        self._leave_http()
        head = [b"HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n"]
        head += [b"%b: %b\r\n" % pair for pair in headers]
        self._transport.write(b"".join([*head, b"\r\n"]))

    async def read(self) -> bytes:
        """What the client sends next; b"" when it has left."""
        return await self._incoming.read(MOST_WAITING)

    async def write(self, data: bytes) -> None:
        """Send something to the client; waits while it reads more slowly."""
        self._transport.write(data)
        await self._drain()

    def close(self) -> None:
        """Close the connection, when everything is sent."""
        self._transport.close()
