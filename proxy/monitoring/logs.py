"""Log lines: codes and figures, never a user's text. Messages of exceptions and anything that looks like a key are removed."""

from __future__ import annotations

import atexit
import logging
import os
import re
import sys
import threading
import time
import traceback
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

import orjson
import structlog

from ..config import Log
from ..supervision import Supervisor
from .visible import in_one_line, visible

log = structlog.get_logger(__name__)

_KEY = re.compile(rb"\b(?:sk-|hgk_|hf_|xox[bp]-|AIza)[\w-]{6,}|\bBearer\s+[^\s\"\\]+", re.IGNORECASE)
_BEGINNINGS = (b"sk-", b"hgk_", b"hf_", b"xox", b"aiza", b"bearer")
"""One of these stands in lower case in all that holds a key; looking for them takes a tenth of the time."""
_REDACTED = b"[redacted]"
CAUSES = 5
"""Number of exceptions of a chain that are logged."""
GATHER_S = 0.05
"""Longest that a log line waits to be written."""
RETRY_S = 1.0
"""Seconds between two attempts to write a log that cannot be written."""
MOST_BYTES = 4 * 1024 * 1024
"""Bytes of lines that wait to be written."""
LOG = "log"
"""The name of the problem that lines wait."""


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
    written = orjson.dumps(line, default=repr, option=orjson.OPT_UTC_Z)
    return written if written.isascii() and 0x7F not in written else visible(written.decode()).encode()


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


def _encode(_logger: Any, _method: str, line: Any) -> bytes:
    return str(line).encode(errors="replace")


def _on_terminal(out: TextIO, info: Any) -> None:
    out.write("\n" + visible(without_words(info)))


def _all_visible(_logger: Any, _method: str, line: Any) -> Any:
    """The values of a line for a terminal: a model's name, for example, is its client's."""
    return {name: in_one_line(value) if isinstance(value, str) else value for name, value in line.items()}


def _for_people(colours: bool) -> list[Any]:
    """Processors that format an event for people."""
    return [
        _all_visible,
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


def set_up_logging(settings: Log, supervisor: Supervisor | None = None) -> None:
    """Configure structlog for the proxy: JSON lines on standard error, or coloured ones on a terminal. What libraries, dying threads and the
    interpreter would write there becomes a line as well.
    """
    json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    gathered = _Gathered(sys.stderr.fileno(), supervisor or Supervisor())
    structlog.configure(
        processors=[_json_line] if json else [*_for_people(colours=True), _encode],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.level.upper())),
        logger_factory=gathered.logger,
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(handlers=[_OfLibraries()], force=True)
    logging.captureWarnings(True)
    threading.excepthook = lambda ended: log.error(
        "thread_ended", thread=ended.thread and ended.thread.name, exc_info=(None, ended.exc_value, None)
    )
    sys.unraisablehook = lambda ignored: log.error("error_ignored", exc_info=(None, ignored.exc_value, None))


class _OfLibraries(logging.Handler):
    """What a library logs, without its words, which may be somebody's: who, where, and the message before anything was put into it."""

    def emit(self, record: logging.LogRecord) -> None:
        tell = log.error if record.levelno >= logging.ERROR else log.warning
        said = str(record.msg) if record.args else None
        tell(
            "library", logger=record.name, place=f"{record.module}:{record.lineno}", said=said, exc_info=record.exc_info
        )


class _Gathered:
    """Collects lines for a moment and writes them in its own thread.

    A write to a terminal or a full pipe may block, and must not block the event loop. While lines cannot be written they wait, as many as
    `MOST_BYTES` hold; then the oldest are dropped and counted. Collected lines are written at exit.
    """

    def __init__(self, descriptor: int, supervisor: Supervisor) -> None:
        self._descriptor, self._supervisor = descriptor, supervisor
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._torn = False
        self._some = threading.Event()
        self._collecting, self._writing = threading.RLock(), threading.Lock()
        atexit.register(self._write_last)
        supervisor.thread("log-writer", self._turn)

    def logger(self, *_names: object) -> _Gathered:
        """What structlog asks for: one for all."""
        return self

    def msg(self, line: bytes) -> None:
        """Queue a line for the writer."""
        self._collect([line])
        if not self._some.is_set():
            self._some.set()

    debug = info = warning = error = critical = exception = msg
    """The methods that structlog calls, by level."""

    def _collect(self, lines: list[bytes], *, before: bool = False) -> None:
        with self._collecting:
            self._lines.extendleft(reversed(lines)) if before else self._lines.extend(lines)
            self._bytes += sum(map(len, lines))
            while self._bytes > MOST_BYTES:
                self._bytes -= len(self._lines.popleft())
                self._supervisor.lines_dropped += 1
                self._supervisor.problems.setdefault(
                    LOG, "lines come faster than the log takes them; the oldest are dropped"
                )

    def _turn(self) -> bool:
        self._some.wait()
        time.sleep(GATHER_S)
        self._some.clear()
        try:
            with self._writing:
                self._write()
        except OSError as error:
            self._supervisor.tell(
                LOG, f"the log cannot be written ({error.strerror}); lines wait, then the oldest are dropped"
            )
            self._some.set()
            time.sleep(RETRY_S)
        else:
            self._supervisor.tell(LOG, None)
        return True

    def _write_last(self) -> None:
        """At exit; a log that takes nothing holds nobody up."""
        if self._writing.acquire(timeout=RETRY_S):
            with suppress(OSError):
                self._write()

    def _write(self) -> None:
        """Write all lines. Those that cannot be written wait again, first; of one that was begun the rest would be no line.

        Raises:
            OSError: not all could be written.
        """
        with self._collecting:
            lines, self._lines, self._bytes = self._lines, deque(), 0
        if not lines:
            return
        start = b"\n" if self._torn else b""
        data = start + redact(b"\n".join([*lines, b""]))
        written = 0
        try:
            while written < len(data):  # in one call: each write releases the interpreter lock
                written += os.write(self._descriptor, memoryview(data)[written:])
        finally:
            begun = max(len(start), data.rfind(b"\n", 0, written) + 1)
            self._torn = begun < written or (self._torn and not written)
            if written < len(data):
                self._collect(data[begun:-1].split(b"\n"), before=True)
