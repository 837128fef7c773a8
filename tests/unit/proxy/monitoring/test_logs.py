"""Log lines as they reach standard error: whole, with level and time, without keys and without words."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.monitoring.logs import redact

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
