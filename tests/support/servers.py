"""Real uvicorn servers in threads, on free ports of 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn

from hedgerow.proxy.gateway.protocol import Http11


class _Server(uvicorn.Server):
    """A server that starts and ends at once: uvicorn's own looks ten times a second whether it should, and most of the tests start two."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket) -> None:
        super().__init__(config)
        self.install_signal_handlers = lambda: None
        self._listener = listener
        self._up = threading.Event()
        self._end = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.run(sockets=[self._listener])
        finally:
            self._up.set()

    def begin(self) -> None:
        """Serve in a thread; returns once connections are accepted.

        Raises:
            RuntimeError: the application did not start.
        """
        self._thread.start()
        if not self._up.wait(60) or not self.started:
            raise RuntimeError(f"the server did not start: {getattr(self.config.app, 'start_failure', None)}")

    def end(self) -> None:
        """Answer what is under way, close the application, and wait until all has ended."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout=30)

    async def main_loop(self) -> None:
        """Serve until the end."""
        self._loop = asyncio.get_running_loop()
        await self.on_tick(0)  # the headers of every answer
        self._up.set()
        await self._end.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests finish, then close the application."""
        for server in self.servers:
            server.close()
        state = self.server_state
        for connection in list(state.connections):
            connection.shutdown()
        while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn tells of neither
            await asyncio.sleep(0.002)
        await self.lifespan.shutdown()


@contextlib.contextmanager
def serving(app: Any, *, lifespan: str = "off") -> Iterator[str]:
    """Serve an application; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        options = uvicorn.Config(
            app,
            lifespan=lifespan,  # type: ignore[arg-type]
            log_config=None,
            log_level="error",
            loop="uvloop",
            http=Http11,
            ws="none",
            access_log=False,
        )
        server = _Server(options, listener)
        server.begin()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.end()
