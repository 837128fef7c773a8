"""Log lines as they reach standard error: whole, with level and time, without keys and without words."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.monitoring.logs import redact
from tests.support.tables import cases

LOGGING = """
import structlog
from hedgerow.proxy.config import Log
from hedgerow.proxy.monitoring.logs import set_up_logging

set_up_logging(Log(format="json"))
log = structlog.get_logger("a")
for number in range(300):
    log.info("request", number=number)
log.warning("address", url="https://x/?key=SK-abcdef123456", header="bearer abc.def", word="task-12")
log.debug("unwanted")
try:
    raise ValueError("what was said")
except ValueError:
    log.exception("fault", path=object)
"""
FULL = """
import os, sys, time
import structlog
from hedgerow.proxy.config import Log
from hedgerow.proxy.monitoring import logs
from hedgerow.proxy.supervision import Supervisor

logs.RETRY_S, logs.MOST_BYTES = 0.05, 20_000
supervisor, real, error, room = Supervisor(), os.write, int(sys.argv[1]), 700


def write(descriptor, data):
    global room
    if descriptor != 2 or not room:
        return real(descriptor, data) if descriptor != 2 else fail()
    written = real(descriptor, data[:room])
    room -= written
    return written


def fail():
    raise OSError(error, os.strerror(error))


os.write = write
logs.set_up_logging(Log(format=sys.argv[2]), supervisor)
log = structlog.get_logger("a")


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


for number in range(20):
    log.info("before", number=number)
until(lambda: "log" in supervisor.problems)
assert os.strerror(error) in supervisor.problems["log"]
for number in range(1000):
    log.info("while", number=number)
print(supervisor.lines_dropped)
room = 10**9
until(lambda: not supervisor.problems)
log.info("after")
"""
FOREIGN = """
import logging, threading, warnings
from hedgerow.proxy.config import Log
from hedgerow.proxy.monitoring.logs import set_up_logging

set_up_logging(Log(format="json"))
logging.getLogger("psycopg").warning("error ignored terminating %r: %s", "Anna", "Anna")
logging.getLogger("a").error("Anna said so")
logging.getLogger("a").info("unwanted")


def dies():
    raise ValueError("Anna")


thread = threading.Thread(target=dies, name="watcher")
thread.start()
thread.join()


class Odd:
    def __del__(self):
        raise ValueError("Anna")


Odd()
warnings.warn("Anna")
"""
KEYS = st.sampled_from(("sk-", "SK-", "hgk_", "hf_", "xoxb-", "xoxp-", "AIza", "aiza", "Bearer ", "BEARER "))


def test_every_line_is_written_with_level_and_time() -> None:
    """A process that ends at once has written all of its lines, in order, one JSON object each."""
    ended = subprocess.run([sys.executable, "-c", LOGGING], capture_output=True, check=True, text=True)
    lines: list[dict[str, Any]] = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["number"] for line in lines[:300]] == list(range(300))
    address, fault = lines[300:]
    assert address["level"] == "warning"
    assert (address["url"], address["header"], address["word"]) == (
        "https://x/?key=[redacted]",
        "[redacted]",
        "task-12",
    )
    assert fault["level"] == "error"
    assert "ValueError" in fault["exception"]
    assert "what was said" not in ended.stderr
    for line in lines:
        assert datetime.fromisoformat(line["timestamp"]).utcoffset() == timedelta(0)


@given(KEYS, st.from_regex(r"[A-Za-z0-9]{6,20}", fullmatch=True), st.text(" .,:{}=", max_size=9))
def test_no_key_stays_in_a_line(beginning: str, rest: str, around: str) -> None:
    """Whatever the case of its beginning and wherever it stands."""
    line = f'{{"url": "{around} {beginning}{rest} {around}"}}'.encode()
    assert rest.encode() not in redact(line)


@pytest.mark.slow
@cases(
    ("error", "format"),
    [
        (errno.ENOSPC, "console"),
        *((getattr(errno, name), "json") for name in ("ENOSPC", "EIO", "EROFS", "EPIPE", "EACCES", "ENOENT", "EAGAIN")),
    ],
)
def test_a_log_that_cannot_be_written_is_written_again(error: int, format: str) -> None:
    """A disk that fills up in the middle of a line, a reader that is gone: lines wait, the oldest are dropped and counted, and with room again the
    rest is written, in order and each whole."""
    command = [sys.executable, "-c", FULL, str(error), format]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    dropped = int(ended.stdout)
    assert 500 < dropped < 1021
    numbers = [int(number) for number in re.findall(r"while.*?number.{0,12}?(\d+)\D*$", ended.stderr, re.MULTILINE)]
    assert numbers == list(range(1000 - len(numbers), 1000))
    assert "after" in ended.stderr.splitlines()[-1]
    if format == "json":
        kept = [json.loads(line) for line in ended.stderr.splitlines() if line.endswith("}")]
        events = Counter(line["event"] for line in kept)
        assert events["before"] + events["while"] + dropped >= 1020
        assert (events["problem_over"], events["after"]) == (1, 1)


def test_what_others_write_is_a_line_of_the_log() -> None:
    """Libraries, warnings, a thread that dies, an error that the interpreter ignores: as JSON, and without anybody's words."""
    ended = subprocess.run([sys.executable, "-c", FOREIGN], capture_output=True, text=True)
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["event"] for line in lines] == ["library", "library", "thread_ended", "error_ignored", "library"]
    assert (lines[0]["logger"], lines[0]["said"]) == ("psycopg", "error ignored terminating %r: %s")
    assert lines[2]["thread"] == "watcher"
    assert "ValueError" in lines[2]["exception"]
    assert "Anna" not in ended.stderr
