"""Requests as bytes on a socket, for what no client library sends."""

from __future__ import annotations

import contextlib
import json
import socket
from http.client import HTTPResponse
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Reply(NamedTuple):
    """What came back: status 0 where the connection was closed without an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """The error object."""
        error: dict[str, Any] = json.loads(self.body)["error"]
        return error


def head(address: str, method: str, target: str, *lines: str, host: str | None = None) -> bytes:
    """The head of a request; `host` replaces the server's own."""
    named = [f"host: {urlsplit(address).netloc if host is None else host}"] if host != "" else []
    return "\r\n".join([f"{method} {target} HTTP/1.1", *named, *lines, "", ""]).encode("latin-1")


def connect(address: str) -> socket.socket:
    """A connection; nothing on it may take longer than a busy machine needs."""
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def answer(connection: socket.socket, method: str = "GET") -> Reply:
    """The next answer on a connection."""
    response = HTTPResponse(connection, method=method)
    try:
        with contextlib.closing(response):
            response.begin()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    except (ConnectionError, OSError, ValueError) as error:
        if isinstance(error, TimeoutError):
            raise
        return Reply(0, {}, b"")


def send(address: str, data: bytes, method: str = "GET") -> Reply:
    """The answer to these bytes on a connection of their own."""
    with connect(address) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return answer(connection, method)


def ask(
    address: str, method: str, target: str, *lines: str, body: bytes | None = None, host: str | None = None
) -> Reply:
    """The answer to a request."""
    framing = [] if body is None else [f"content-length: {len(body)}"]
    return send(address, head(address, method, target, *lines, *framing, host=host) + (body or b""), method)
