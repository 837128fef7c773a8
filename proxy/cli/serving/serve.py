"""`hedgerow serve`: the proxy."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
import uvicorn

from ...app import application
from ...config import Settings, load
from ...errors import ConfigError, HedgerowError
from ...gateway.protocol import Http11
from ...monitoring.logs import set_up_logging
from ...supervision import Supervisor
from ..shared.messages import stop
from ..shared.options import CONFIG, ConfigPath
from .memory import give_back
from .workers import SIGNALS, end_with, supervise

SHUTDOWN_S = 30
"""Seconds that requests in flight have to finish when the proxy is stopped."""
FAILED = 1
"""Exit status of a proxy that could not start."""


def serve(
    config: ConfigPath = CONFIG,
    port: Annotated[int | None, typer.Option(help="Port in place of the configured one.", min=0, max=65535)] = None,
    workers: Annotated[
        int, typer.Option(help="Processes that share the port; PostgreSQL suits several better than SQLite.", min=1)
    ] = 1,
    fd: Annotated[int | None, typer.Option(help="Serve on this open socket.", hidden=True)] = None,
    parent_fd: Annotated[int | None, typer.Option(help="End when this pipe is closed.", hidden=True)] = None,
    ready_fd: Annotated[int | None, typer.Option(help="Write a byte here when serving.", hidden=True)] = None,
) -> None:
    """Start the proxy. Changes of the configuration file are applied while it runs, and at once on SIGHUP.

    Exits with status 0 when it was stopped, with 1 and one sentence on standard error if it could not start, with 2 for wrong options.
    """
    try:
        settings = load(config)
    except ConfigError as error:
        stop(str(error), FAILED)
    if port is not None:
        settings = settings.model_copy(update={"server": settings.server.model_copy(update={"port": port})})
    if settings.asks_itself is not None:
        stop(settings.asks_itself, FAILED)
    give_back()
    supervisor = Supervisor()
    set_up_logging(settings.log, supervisor)
    if parent_fd is not None:
        end_with(parent_fd, supervisor)
    with _listen(settings.server.host, settings.server.port) if fd is None else socket.socket(fileno=fd) as listener:
        if workers > 1:
            raise typer.Exit(supervise(config, listener, workers, supervisor))
        _serve(settings, config, listener, _report_ready(ready_fd), supervisor)


def _report_ready(fd: int | None) -> Callable[[], None]:
    def report() -> None:
        if fd is not None:
            os.write(fd, b"1")
            os.close(fd)

    return report


def _serve(
    settings: Settings, config: Path, listener: socket.socket, on_ready: Callable[[], None], supervisor: Supervisor
) -> None:
    address = "http://{}:{}".format(*listener.getsockname()[:2])
    edge = application(settings, address, config, on_ready, supervisor)
    options = uvicorn.Config(
        edge,
        loop="uvloop",
        http=Http11,
        ws="none",  # a WebSocket is a request like all others: gateway/tunnel.py
        lifespan="on",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    try:
        _server(options).run(sockets=[listener])
    except SystemExit:  # uvicorn exits like this if the lifespan did not start
        if edge.start_failure is None:
            raise
    if edge.start_failure is not None:
        stop(_sentence(edge.start_failure), FAILED)


def _sentence(failure: Exception) -> str:
    """The reason why the proxy did not start, as one sentence."""
    if isinstance(failure, HedgerowError):
        return str(failure)
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" ({Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno})" if trace is not None else ""
    return f"a defect kept the proxy from starting: {type(failure).__name__}: {failure}{where}; please report it"


def _server(options: uvicorn.Config) -> uvicorn.Server:
    """A server that exits with status 0 when it is stopped, instead of by the signal, so that waiting rows and log lines are written. A second
    SIGINT cuts requests off, and not these.
    """

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self.handle_exit)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
            try:
                yield
            finally:
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # it ends, and nothing changes that

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            if self.force_exit:
                await self.lifespan.shutdown()

    return Server(options)


def _listen(host: str, port: int) -> socket.socket:
    """The listening socket, bound before anything slow, so that a port in use is reported at once."""
    try:
        return socket.create_server(
            (host, port), backlog=2048, family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        stop(
            f"cannot listen on {host}:{port}: {reason}; stop what uses it, take another port with --port, or change server.host or server.port",
            FAILED,
        )
