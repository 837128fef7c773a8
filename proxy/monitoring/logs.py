"""Log lines: codes and figures, never a user's text. Exceptions lose their messages, and whatever looks like a key is taken out."""

from __future__ import annotations

import atexit
import re
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import BinaryIO

import orjson

from hedgerow.proxy import log
from hedgerow.proxy.config import Log

_KEY = re.compile(rb"\b(?:sk-|hgk_|hf_|xox[bp]-|AIza)[\w-]{6,}|\bBearer\s+[^\s\"\\]+", re.IGNORECASE)
_BEGINNINGS = (b"sk-", b"hgk_", b"hf_", b"xox", b"aiza", b"bearer")
"""One of these stands in lower case in all that holds a key; looking for them takes a tenth of the time."""
_REDACTED = b"[redacted]"
_COLOURS = {"debug": "\x1b[2m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m"}
_PLAIN = "\x1b[0m"
GATHER_S = 0.05
"""Longest that a log line waits to be written."""


def redact(lines: bytes) -> bytes:
    """Take keys out of rendered lines: an address may hold one. Once for all lines that are written together, because every request has one."""
    low = lines.lower()
    return _KEY.sub(_REDACTED, lines) if any(beginning in low for beginning in _BEGINNINGS) else lines


def json_line(level: log.Level, fields: log.Fields) -> bytes:
    """A line as JSON, with its level and the time."""
    if (error := fields.pop("exc_info", None)) is not None:
        fields["exception"] = log.without_words(error)
    fields["level"], fields["timestamp"] = level, datetime.now(UTC)
    return orjson.dumps(fields, default=repr, option=orjson.OPT_UTC_Z)


def shown_line(level: log.Level, fields: log.Fields) -> bytes:
    """A line for a terminal: time, level, event and fields; an exception below it."""
    event, error = fields.pop("event"), fields.pop("exc_info", None)
    told = "".join(f" {name}={value!r}" for name, value in fields.items())
    below = "" if error is None else "\n" + log.without_words(error)
    line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {_COLOURS[level]}{level:7} {event}{_PLAIN}{told}{below}"
    return line.encode(errors="replace")


def set_up_logging(settings: Log) -> None:
    """Write lines to standard error: as JSON, or coloured ones on a terminal."""
    json = settings.format == "json" or (settings.format == "auto" and not sys.stderr.isatty())
    line, gathered = json_line if json else shown_line, _Gathered(sys.stderr.buffer)
    log.write_to(lambda level, fields: gathered.keep(line(level, fields)), settings.level)


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

    def keep(self, line: bytes) -> None:
        """Keep a line for the writer: one step of the interpreter, so that threads need no lock."""
        self._lines.append(line)
        if not self._some.is_set():
            self._some.set()

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
        self._out.write(redact(b"\n".join(gathered)))  # in one go: each write hands the interpreter over
        self._out.flush()
