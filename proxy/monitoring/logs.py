"""Log lines: codes and figures, never a user's text. Messages of exceptions and anything that looks like a key are removed."""

from __future__ import annotations

import atexit
import logging
import re
import sys
import threading
import time
import traceback
from collections import deque
from datetime import UTC, datetime
from typing import Any, BinaryIO, TextIO

import orjson
import structlog

from ..config import Log

_KEY = re.compile(rb"\b(?:sk-|hgk_|hf_|xox[bp]-|AIza)[\w-]{6,}|\bBearer\s+[^\s\"\\]+", re.IGNORECASE)
_BEGINNINGS = (b"sk-", b"hgk_", b"hf_", b"xox", b"aiza", b"bearer")
"""One of these stands in lower case in all that holds a key; looking for them takes a tenth of the time."""
_REDACTED = b"[redacted]"
CAUSES = 5
"""Number of exceptions of a chain that are logged."""
GATHER_S = 0.05
"""Longest that a log line waits to be written."""


def redact(lines: bytes) -> bytes:
    """Take keys out of rendered lines: an address may hold one. Once for all lines that are written together, because every request has one."""
    low = lines.lower()
    return _KEY.sub(_REDACTED, lines) if any(beginning in low for beginning in _BEGINNINGS) else lines


def _redact_shown(_logger: Any, _method: str, line: str) -> str:
    """The same of a line for a terminal."""
    return redact(line.encode(errors="replace")).decode(errors="replace")


def _json_line(_logger: Any, level: str, line: Any) -> bytes:
    """A line as JSON, with its level and the time: one step, because every request has a line."""
    if line.get("exc_info"):
        line = structlog.processors.ExceptionRenderer(without_words)(_logger, level, line)
    line["level"], line["timestamp"] = level, datetime.now(UTC)
    return orjson.dumps(line, default=repr, option=orjson.OPT_UTC_Z)


def without_words(exc_info: Any) -> str:
    """An exception and its causes: their kinds and where they came from. A message may quote what was said, so only those of the
    machine (files, modules, memory) are kept.
    """
    parts: list[str] = []
    error: BaseException | None = exc_info[1]
    while error is not None and len(parts) < CAUSES:
        words = f": {error}" if isinstance(error, ImportError | OSError | MemoryError) else ""
        frames = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"{frames}{type(error).__qualname__}{words}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of this:\n\n".join(parts)


def _on_terminal(out: TextIO, info: Any) -> None:
    out.write("\n" + without_words(info))


def _for_people(colours: bool) -> list[Any]:
    """Processors that format an event for people."""
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=_on_terminal),
        _redact_shown,
    ]


def log_beside_results() -> None:
    """Configure structlog for a command, unless the program around it has: lines for people on standard error. Standard output has its
    results, which programs read.
    """
    if not structlog.is_configured():
        factory = structlog.WriteLoggerFactory(sys.stderr)
        structlog.configure(processors=_for_people(sys.stderr.isatty()), logger_factory=factory)


def set_up_logging(settings: Log) -> None:
    """Configure structlog for the proxy: JSON lines on standard error, or coloured ones on a terminal."""
    json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    factory = _Gathered(sys.stderr.buffer).logger if json else structlog.WriteLoggerFactory(sys.stderr)
    structlog.configure(
        processors=[_json_line] if json else _for_people(colours=True),
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


class _Gathered:
    """Collects lines for a moment and writes them in its own thread.

    A write to a terminal or a full pipe may block, and must not block the event loop. Collected lines are written at exit.
    """

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._lines: deque[bytes] = deque()
        self._some = threading.Event()
        atexit.register(self._write)
        threading.Thread(target=self._write_all, name="log-writer", daemon=True).start()

    def logger(self, *_names: object) -> _Gathered:
        """What structlog asks for: one for all."""
        return self

    def msg(self, line: bytes) -> None:
        """Queue a line for the writer. `append` is atomic, so that threads need no lock."""
        self._lines.append(line)
        if not self._some.is_set():
            self._some.set()

    debug = info = warning = error = critical = exception = msg
    """The methods that structlog calls, by level."""

    def _write_all(self) -> None:
        while True:
            self._some.wait()
            time.sleep(GATHER_S)
            self._some.clear()
            self._write()

    def _write(self) -> None:
        gathered = []
        while self._lines:
            gathered.append(self._lines.popleft())
        gathered.append(b"")
        self._out.write(redact(b"\n".join(gathered)))  # in one call: each write releases the interpreter lock
        self._out.flush()
