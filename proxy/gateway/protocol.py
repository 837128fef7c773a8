"""HTTP/1.1 on the wire: uvicorn's protocol, but an upgrade that is not served does not cost the request its body.

A stock JDK HttpClient offers `Upgrade: h2c` with every request. A server may go on in HTTP/1.1; the parser takes what follows for the other
protocol and drops it.
"""

from __future__ import annotations

import sys

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_OF_AN_UPGRADE = (b"upgrade", b"http2-settings")


class Http11(HttpToolsProtocol):
    """One connection. A request that offers another protocol is read again without the offer."""

    _data = b""

    def data_received(self, data: bytes) -> None:
        """Parse what came."""
        self._data = data
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Begin the request, unless it is read again."""
        if not self._offers_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """End the request's body, unless it is read again."""
        if not self._offers_upgrade():
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
