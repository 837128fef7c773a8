"""Waiting for what comes by itself: for a condition, never for a while."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

LIMIT_S = 90.0
"""Longest wait. Generous: a test must not fail because its machine is busy, and what comes is not waited for any longer."""
Value = TypeVar("Value")


def until(read: Callable[[], Value], holds: Callable[[Value], object] = bool) -> Value:
    """What `read` gives, once it holds.

    Raises:
        AssertionError: it does not within `LIMIT_S`; the message has what was read last.
    """
    deadline = time.monotonic() + LIMIT_S
    while not holds(value := read()):
        assert time.monotonic() < deadline, f"after {LIMIT_S:g} s still {value!r}"
        time.sleep(0.05)
    return value


def address_of(running: subprocess.Popen[bytes], log: Path) -> str:
    """Where a proxy listens that runs in a process of its own, once its log says so."""

    def read() -> re.Match[str] | None:
        assert running.poll() is None, log.read_text()
        return re.search(r'"address":"(http://[^"]+)"', log.read_text())

    address = until(read)
    assert address is not None
    return address[1]
