"""A collector of traces that counts what it is sent."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Collector:
    """Where spans go.

    Attributes:
        received: bytes of spans.
    """

    url: str = ""
    received: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                self.received += len(await reader.readexactly(int(length[1]) if length else 0))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n")
        writer.close()


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector on a free port."""
    collector = Collector()
    server = await asyncio.start_server(collector.serve, "127.0.0.1", 0)
    collector.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/traces"
    try:
        yield collector
    finally:
        server.close()
