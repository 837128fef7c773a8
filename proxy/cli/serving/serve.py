"""`hedgerow serve`: the proxy, in one process or several."""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import structlog
import typer
import uvicorn
from prometheus_client.multiprocess import mark_process_dead

from ...app import application
from ...config import Settings, load
from ...errors import ConfigError, HedgerowError
from ...gateway.protocol import Http11
from ...monitoring.logs import set_up_logging
from ...monitoring.metrics import release
from ...supervision import Supervisor
from ..shared.messages import stop
from ..shared.options import CONFIG, ConfigPath

log = structlog.get_logger(__name__)

# How the C library returns freed memory to the system.

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""Numbers of glibc's `mallopt`, from its malloc.h."""
LARGE_BYTES = 128 * 1024
"""Freed blocks of at least this size are returned to the system at once; the same value as glibc's initial one."""
ARENAS = 2
"""Number of memory pools shared by threads; glibc would make eight for each core, each of which keeps its peak size."""


def give_back() -> None:
    """Make glibc return large blocks to the system. By default it keeps blocks up to the largest size ever freed: after one answer of 10 MB, every
    later one stays in the pool of its thread. Does nothing with another C library.
    """
    with suppress(AttributeError, OSError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(M_ARENA_MAX, ARENAS)


# Several serving processes on one socket: started, replaced when they die, reloaded and stopped together.

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
"""Held back until somebody can handle them: by their default action each would end the process. Processes inherit that from the one that starts them."""
LOOK_S = 0.2
SHORT_LIFE_S = 5.0
"""A process that serves for a shorter time counts as failed to start: the next one waits, longer each time."""
LONGEST_PAUSE_S = 60.0
"""Longest wait of a successor in seconds, while others serve."""
METRICS = "hedgerow-metrics-"


@dataclass(slots=True)
class _Worker:
    """A serving process; `ready` is a pipe that can be read as soon as it serves or has ended."""

    process: subprocess.Popen[bytes]
    ready: int
    served_at: float | None = None


def supervise(config: Path, listener: socket.socket, count: int, supervisor: Supervisor) -> int:
    """Serve with `count` processes until stopped; a process that dies is replaced. The first one starts alone, so that an error that prevents all
    from starting is reported once. A successor that cannot start (the store is down) is tried again as long as another process serves, and one
    that a signal ended always. Their metrics are in one folder, so that a scrape of any of them covers all.

    Returns:
        Exit status: 0, or that of the last process if it failed to start.
    """
    parent, held = os.pipe()  # the workers read the end of this process from it; `held` is open here alone
    with _metrics_folder() as (metrics, lock):
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
        workers = _Workers(config, (listener.fileno(), parent, lock), count, metrics)
        try:
            supervisor.take_turns("workers", workers.turn)
            return workers.status
        finally:
            listener.close()  # else the system would accept connections that nobody answers
            workers.stop()
            os.close(parent)
            os.close(held)


def end_with(parent: int, supervisor: Supervisor) -> None:
    """End this process, as on SIGTERM, when the one that started it is gone: without it nobody replaces, reloads or stops this one, and it would
    keep the port.

    Args:
        parent: descriptor of a pipe whose other end is open in that process alone.
    """

    def wait() -> bool:
        os.read(parent, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        return False

    supervisor.thread("parent", wait)


class _Workers:
    """The workers of a command, looked after turn by turn.

    Attributes:
        status: the command's exit status.
    """

    def __init__(self, config: Path, descriptors: Sequence[int], count: int, metrics: Path) -> None:
        self.status = 0
        self._config, self._descriptors, self._count, self._metrics = config, descriptors, count, metrics
        self._running: list[_Worker] = []
        self._first = True
        self._failures, self._not_before = 0, 0.0

    def turn(self) -> bool:
        """Start what is missing, and look for a while for a signal, and for processes that serve or have ended; False: stop."""
        missing = (1 if self._first else self._count) - len(self._running)
        for _ in range(missing if time.monotonic() >= self._not_before else 0):
            self._running.append(_start(self._config, self._descriptors))
        came = signal.sigtimedwait(SIGNALS, LOOK_S)
        if came is not None and came.si_signo != signal.SIGHUP:
            return False
        for worker in list(self._running):
            if came is not None:
                worker.process.send_signal(signal.SIGHUP)
            if worker.served_at is None and select.select([worker.ready], [], [], 0)[0] and os.read(worker.ready, 1):
                worker.served_at, self._first = time.monotonic(), False
            if worker.process.poll() is not None and not self._replace(worker):
                return False
        return True

    def _replace(self, worker: _Worker) -> bool:
        """Let a process that has ended have a successor; False if it could not start and no other is left. A signal's deaths say nothing of that."""
        self._running.remove(worker)
        os.close(worker.ready)
        pid, status = worker.process.pid, worker.process.returncode
        served_s = 0.0 if worker.served_at is None else time.monotonic() - worker.served_at
        if worker.served_at is None and status > 0 and not self._running:
            self.status = status
            return False
        self._failures = self._failures + 1 if served_s < SHORT_LIFE_S else 0
        pause = min(LONGEST_PAUSE_S, 2.0**self._failures) if self._failures else 0.0
        self._not_before = time.monotonic() + pause
        log.error("worker_ended", pid=pid, status=status, served_s=round(served_s, 1), next_in_s=pause)
        mark_process_dead(pid)  # type: ignore[no-untyped-call]
        release(self._metrics, pid)
        return True

    def stop(self) -> None:
        """Ask all processes to end, and wait until they have."""
        for worker in self._running:
            worker.process.terminate()
        for worker in self._running:
            worker.process.wait()


def _start(config: Path, descriptors: Sequence[int]) -> _Worker:
    """A process that serves on the socket."""
    listener, parent, _ = descriptors
    ready, write = os.pipe()
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(config)]
    command += ["--fd", str(listener), "--parent-fd", str(parent), "--ready-fd", str(write)]
    try:
        process = subprocess.Popen(command, pass_fds=[*descriptors, write])  # noqa: S603 # our own command
    except OSError:
        os.close(ready)
        raise
    finally:
        os.close(write)
    return _Worker(process, ready)


@contextmanager
def _metrics_folder() -> Iterator[tuple[Path, int]]:
    """A folder for the workers' metrics, and a lock on it that ends with the last of them: folders of commands that were killed are removed."""
    place = Path(tempfile.gettempdir())
    for left in place.glob(f"{METRICS}*"):
        with suppress(OSError):
            lock = _lock(left)
            shutil.rmtree(left)
            os.close(lock)
    try:
        folder = Path(tempfile.mkdtemp(prefix=METRICS))
        lock = _lock(folder)
    except OSError as error:
        stop(f"the workers' metrics cannot be kept in {place}: {error.strerror}; make room there, or set TMPDIR", 1)
    try:
        yield folder, lock
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _lock(folder: Path) -> int:
    """A lock on a folder, as a descriptor.

    Raises:
        OSError: somebody has it.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


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
