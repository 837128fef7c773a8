"""What the operator sees: one structured line a request, and counters.

Lines hold codes and figures, never a user's text; a processor takes out whatever looks like a key.
"""

from __future__ import annotations

import atexit
import logging
import re
import sys
import threading
import time
from collections import deque
from typing import Any, BinaryIO, cast

import orjson
import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram

from proxy.config import Log

_KEY = re.compile(rb"\b(?:sk-|hf_|xox[bp]-|AIza)[\w-]{6,}|\bBearer\s+[^\s\"\\]+", re.IGNORECASE)
_REDACTED = b"[redacted]"
GATHER_S = 0.05
"""Longest that a log line waits to be written."""


def redact(_logger: Any, _method: str, line: Any) -> Any:
    """Take keys out of a rendered line: exceptions may quote what they choked on. Once a line, not once a value."""
    if isinstance(line, str):
        return _KEY.sub(_REDACTED, line.encode(errors="replace")).decode(errors="replace")
    return _KEY.sub(_REDACTED, line)


def set_up_logging(settings: Log) -> None:
    """Configure structlog: JSON lines on standard error, or coloured ones on a terminal."""
    json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    shared: list[Any] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if json:
        finish: list[Any] = [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(orjson.dumps),
            redact,
        ]
        factory: Any = structlog.BytesLoggerFactory(cast(BinaryIO, _Gathered(sys.stderr.buffer)))
    else:
        finish = [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback), redact]
        factory = structlog.WriteLoggerFactory(sys.stderr)
    structlog.configure(
        processors=shared + finish,
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


class _Gathered:
    """Lines are gathered for a moment and written by a thread of their own.

    A write to a terminal or a full pipe may block, and must not block the event loop. What is gathered is written at the exit.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lines: deque[bytes] = deque()
        self._some = threading.Event()
        atexit.register(self._write)
        threading.Thread(target=self._write_all, name="log-writer", daemon=True).start()

    def write(self, data: bytes) -> int:
        """Keep a line for the writer."""
        self._lines.append(data)
        if not self._some.is_set():
            self._some.set()
        return len(data)

    def flush(self) -> None:
        """Nothing: the writer flushes."""

    def _write_all(self) -> None:
        while True:
            self._some.wait()
            time.sleep(GATHER_S)
            self._some.clear()
            self._write()

    def _write(self) -> None:
        while self._lines:
            self._out.write(self._lines.popleft())
        self._out.flush()


class Metrics:
    """Counters of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "hedgerow_requests",
            "Requests by what became of them.",
            ("route", "mode", "status", "reason"),
            registry=self.registry,
        )
        self.step_seconds = Histogram(
            "hedgerow_step_seconds",
            "Time of one step of the pipeline.",
            ("route", "step"),
            buckets=(0.0001, 0.0005, 0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60),
            registry=self.registry,
        )
        self.tokens = Counter(
            "hedgerow_tokens", "Tokens spent, by purpose.", ("route", "purpose"), registry=self.registry
        )
        self.refused_rewrites = Counter(
            "hedgerow_refused_rewrites",
            "Rewrites that the guard or a rewriter refused.",
            ("route", "attempt"),
            registry=self.registry,
        )
        self.audit_rows_lost = Counter(
            "hedgerow_audit_rows_lost", "Audit rows that could not be written.", registry=self.registry
        )
        self.verdicts = Counter("hedgerow_verdicts", "Verdicts told.", ("route",), registry=self.registry)
