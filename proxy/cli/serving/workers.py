"""Several serving processes on one socket: started, replaced when they die, reloaded and stopped together."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import structlog
from prometheus_client.multiprocess import mark_process_dead

from ...monitoring.metrics import release

log = structlog.get_logger(__name__)

LOOK_S = 0.2
SHORT_LIFE_S = 5.0
"""A process that ends sooner counts as failed to start: the next one waits, longer each time."""
LONGEST_PAUSE_S = 60.0
"""Longest wait of a successor in seconds, while others serve."""


def supervise(config: Path, listener: socket.socket, count: int) -> int:
    """Serve with `count` processes until stopped; a process that dies is replaced. The first one starts alone, so that an error that prevents all
    from starting is reported once. A successor that cannot start (the store is down) is tried again as long as another process serves. Their
    metrics are in one folder, so that a scrape of any of them covers all.

    Returns:
        Exit status: 0, or that of the last process if it failed to start.
    """
    parent, held = os.pipe()  # the workers read the end of this process from it; `held` is open here alone
    with tempfile.TemporaryDirectory(prefix="hedgerow-metrics-") as metrics:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics
        try:
            return _keep_running(config, listener, parent, count)
        finally:
            os.close(parent)
            os.close(held)


def end_with(parent: int) -> None:
    """End this process, as on SIGTERM, when the one that started it is gone: without it nobody replaces, reloads or stops this one, and it would
    keep the port.

    Args:
        parent: descriptor of a pipe whose other end is open in that process alone.
    """

    def wait() -> None:
        os.read(parent, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()


def _keep_running(config: Path, listener: socket.socket, parent: int, count: int) -> int:
    running: dict[subprocess.Popen[bytes], float] = {}
    stopping, failures, not_before = False, 0, 0.0

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    def reload(*_: object) -> None:
        for process in running:
            process.send_signal(signal.SIGHUP)

    for number, handler in ((signal.SIGTERM, stop), (signal.SIGINT, stop), (signal.SIGHUP, reload)):
        signal.signal(number, handler)
    try:
        first, ready = _start(config, listener, parent, report=True)
        running[first] = time.monotonic()
        while not stopping and not select.select([ready], [], [], LOOK_S)[0]:
            pass
        if not stopping and not os.read(ready, 1):
            return _never_served(first)
        os.close(ready)
        while not stopping:
            for process in [process for process in running if process.poll() is not None]:
                lived = time.monotonic() - running.pop(process)
                mark_process_dead(process.pid)  # type: ignore[no-untyped-call]
                release(Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]), process.pid)
                if lived < SHORT_LIFE_S and not running:
                    return process.returncode or 1
                failures = failures + 1 if lived < SHORT_LIFE_S else 0
                pause = min(LONGEST_PAUSE_S, 2.0**failures) if failures else 0.0
                not_before = time.monotonic() + pause
                log.error(
                    "worker_ended", pid=process.pid, status=process.returncode, lived_s=round(lived, 1), next_in_s=pause
                )
            while len(running) < count and time.monotonic() >= not_before:
                running[_start(config, listener, parent)[0]] = time.monotonic()
            time.sleep(LOOK_S)
        return 0
    finally:
        listener.close()  # else the system would accept connections that nobody answers
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


def _never_served(first: subprocess.Popen[bytes]) -> int:
    """Exit status of the command whose first process ended before it served. That process has said why, unless it was killed."""
    status = first.wait()
    if status < 0:
        log.error("worker_ended", pid=first.pid, status=status)
    return status or 1


def _start(
    config: Path, listener: socket.socket, parent: int, *, report: bool = False
) -> tuple[subprocess.Popen[bytes], int]:
    """A process that serves on the socket, and a pipe that can be read as soon as it serves or has ended (-1: no report wanted)."""
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(config)]
    command += ["--fd", str(listener.fileno()), "--parent-fd", str(parent)]
    if not report:
        return subprocess.Popen(command, pass_fds=[listener.fileno(), parent]), -1  # noqa: S603 # our own command
    ready, write = os.pipe()
    try:
        command += ["--ready-fd", str(write)]
        process = subprocess.Popen(command, pass_fds=[listener.fileno(), parent, write])  # noqa: S603 # our own command
    finally:
        os.close(write)
    return process, ready
