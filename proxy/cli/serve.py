"""`hedgerow serve`: the proxy."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hedgerow.proxy.cli.common import ConfigPath, configuration, stop

if TYPE_CHECKING:
    import uvicorn

    from hedgerow.proxy.config import Settings

SHUTDOWN_S = 30
"""Seconds that requests under way have to end when the proxy is told to stop."""


def serve(
    config: ConfigPath = Path("config.yaml"),
    port: Annotated[int | None, typer.Option(help="Port in place of the configured one.", min=0, max=65535)] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that share the port; PostgreSQL suits several better than SQLite.", min=1)
    ] = 1,
    fd: Annotated[int | None, typer.Option(help="Serve on this open socket.", hidden=True)] = None,
) -> None:
    """Start the proxy. A changed configuration file is taken over while it runs, and at once on SIGHUP."""
    settings = configuration(config)
    if port is not None:
        settings = settings.model_copy(update={"server": settings.server.model_copy(update={"port": port})})
    with _listen(settings.server.host, settings.server.port) if fd is None else socket.socket(fileno=fd) as listener:
        if workers > 1:
            from hedgerow.proxy.cli.workers import supervise

            supervise(config, listener, workers)
        else:
            _serve(settings, config, listener)


def _serve(settings: Settings, config: Path, listener: socket.socket) -> None:
    import uvicorn

    from hedgerow.proxy.app import application
    from hedgerow.proxy.monitoring.metrics import set_up_logging

    set_up_logging(settings.log)
    address = "http://{}:{}".format(*listener.getsockname()[:2])
    edge = application(settings, address=address, config=config)
    options = uvicorn.Config(
        edge,
        loop="uvloop",
        http="httptools",
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    _server(options).run(sockets=[listener])
    if edge.start_failure is not None:
        stop(str(edge.start_failure))


def _server(options: uvicorn.Config) -> uvicorn.Server:
    """A server that ends with status 0 when it is told to stop, instead of by the signal: what waits in the log is written."""
    import uvicorn

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    return Server(options)


def _listen(host: str, port: int) -> socket.socket:
    """The listening socket, bound before anything slow, so that a port in use is told at once."""
    try:
        return socket.create_server(
            (host, port), backlog=2048, family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        stop(f"cannot listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}")
