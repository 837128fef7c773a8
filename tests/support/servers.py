"""Real uvicorn servers in threads, on free ports of 127.0.0.1."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import uvicorn

from hedgerow.proxy.gateway.protocol import Http11


@contextlib.contextmanager
def serving(app: Any, *, lifespan: str = "off") -> Iterator[str]:
    """Serve an application; gives its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    options = uvicorn.Config(
        app,
        lifespan=lifespan,
        log_config=None,
        log_level="error",
        loop="uvloop",
        http=Http11,
        ws="none",
        access_log=False,
    )
    server = uvicorn.Server(options)
    server.install_signal_handlers = lambda: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not start: {getattr(app, 'start_failure', None)}")
        time.sleep(0.005)
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()
