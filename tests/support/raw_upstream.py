"""An upstream that says bytes as it is told to, and keeps every byte that it is sent."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

from .waiting import until

OPEN = (
    b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: x\r\n\r\n"
)
"""The answer that opens a WebSocket."""


class RawUpstream:
    """A server on a real socket.

    Attributes:
        say: what it sends for a request (its head), in pieces with pauses between them; nothing: it is silent.
        heads: of the requests that it was sent.
        talk: what came behind the answer that opened a WebSocket; it is sent back.
        connections: all that were made.
        ended: how many of them the other side has closed.
    """

    def __init__(self, *say: bytes) -> None:
        self.say: Callable[[bytes], Iterator[bytes]] = lambda _head: iter(say)
        self.heads: list[bytes] = []
        self.talk = bytearray()
        self.ended = 0
        self.url = ""
        self.connections: list[socket.socket] = []

    @contextlib.contextmanager
    def serving(self) -> Iterator[RawUpstream]:
        """Serve for a while."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            try:
                yield self
            finally:
                self.hang_up()
                listener.shutdown(socket.SHUT_RDWR)

    def hang_up(self) -> None:
        """Close every connection."""
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def seen(self, count: int) -> list[bytes]:
        """The heads, once there are so many."""
        return until(lambda: self.heads, lambda heads: len(heads) >= count)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        data = b""
        with connection, contextlib.suppress(OSError):
            while True:
                while b"\r\n\r\n" not in data:
                    if not (more := connection.recv(65536)):
                        return self._end()
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                self.heads.append(head)
                is_open = False
                for piece in self.say(head):
                    connection.sendall(piece)
                    is_open = is_open or b" 101 " in piece
                    time.sleep(0.01)
                while is_open:
                    if data:
                        self.talk += data
                        connection.sendall(data)
                    if not (data := connection.recv(65536)):
                        return self._end()

    def _end(self) -> None:
        self.ended += 1
