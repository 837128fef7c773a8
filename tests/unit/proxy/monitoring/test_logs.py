"""Log lines as they reach standard error: whole, with level and time, without keys and without words."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy import log
from hedgerow.proxy.monitoring.logs import redact

LOGGING = """
from hedgerow.proxy import log
from hedgerow.proxy.config import Log
from hedgerow.proxy.monitoring.logs import set_up_logging

set_up_logging(Log(format=FORMAT))
for number in range(300):
    log.info("request", number=number)
log.warning("address", url="https://x/?key=SK-abcdef123456", header="bearer abc.def", word="task-12")
log.debug("unwanted")
try:
    raise ValueError("what was said")
except ValueError:
    log.exception("fault", path=object)
"""
KEYS = st.sampled_from(("sk-", "SK-", "hgk_", "hf_", "xoxb-", "xoxp-", "AIza", "aiza", "Bearer ", "BEARER "))


def test_every_line_is_written_with_level_and_time() -> None:
    """A process that ends at once has written all of its lines, in order, one JSON object each."""
    ended = _ended("json")
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


def test_a_terminal_shows_neither_keys_nor_words() -> None:
    """The same lines, for people."""
    ended = _ended("console")
    *_, last = (line for line in ended.stderr.splitlines() if " request" in line)
    assert "number=299" in last
    assert "url='https://x/?key=[redacted]'" in ended.stderr
    assert "ValueError" in ended.stderr
    assert "what was said" not in ended.stderr
    assert "unwanted" not in ended.stderr


def test_lines_of_a_program_that_imports_hedgerow_go_to_logging(caplog: pytest.LogCaptureFixture) -> None:
    """As those of any library do; without what a message may quote."""
    log.write_to(log.to_logging)
    said = "what was said"
    try:
        raise ValueError(said)
    except ValueError:
        log.exception("fault", share="100%")
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("hedgerow", "ERROR")
    assert "share=100% event=fault" in record.getMessage()
    assert "ValueError" in record.getMessage()
    assert said not in record.getMessage()


def _ended(kind: str) -> subprocess.CompletedProcess[str]:
    program = LOGGING.replace("FORMAT", repr(kind))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)


@given(KEYS, st.from_regex(r"[A-Za-z0-9]{6,20}", fullmatch=True), st.text(" .,:{}=", max_size=9))
def test_no_key_stays_in_a_line(beginning: str, rest: str, around: str) -> None:
    """Whatever the case of its beginning and wherever it stands."""
    line = f'{{"url": "{around} {beginning}{rest} {around}"}}'.encode()
    assert rest.encode() not in redact(line)
