"""Several serving processes on one socket: started, kept alive, told to reload and told to stop together."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

LOOK_S = 0.2
SHORT_LIFE_S = 5.0
"""A process that ends sooner cannot work at all: starting it again would not help."""


def supervise(config: Path, listener: socket.socket, count: int) -> None:
    """Serve with `count` processes until told to stop; one that dies is replaced.

    Raises:
        SystemExit: with the status of a process that ended as soon as it began.
    """
    command = [
        sys.executable,
        "-m",
        "hedgerow.proxy.cli",
        "serve",
        "--config",
        str(config),
        "--fd",
        str(listener.fileno()),
    ]
    running: dict[subprocess.Popen[bytes], float] = {}
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True

    def reload(*_: object) -> None:
        for process in running:
            process.send_signal(signal.SIGHUP)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGHUP, reload)
    try:
        while not stopping:
            while len(running) < count:
                process = subprocess.Popen(command, pass_fds=[listener.fileno()])  # noqa: S603 # our own command
                running[process] = time.monotonic()
            time.sleep(LOOK_S)
            for process in [process for process in running if process.poll() is not None]:
                lived = time.monotonic() - running.pop(process)
                log.error("worker_ended", pid=process.pid, status=process.returncode, lived_s=round(lived, 1))
                if lived < SHORT_LIFE_S:
                    raise SystemExit(process.returncode or 1)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
