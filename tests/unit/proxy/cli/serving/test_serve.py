"""What `hedgerow serve` says when it cannot start."""

import re
import subprocess
import sys

import structlog

from hedgerow.proxy.cli.serving.serve import _sentence
from hedgerow.proxy.cli.serving.workers import _never_served
from hedgerow.proxy.errors import StoreError


def test_a_defect_is_one_sentence_with_its_place() -> None:
    """What no operator can mend names the file and the line, so that a report says where; what they can mend stays as it is."""
    try:
        raise RuntimeError("queue closed")
    except RuntimeError as error:
        sentence = _sentence(error)
    assert re.fullmatch(
        r"a defect kept the proxy from starting: RuntimeError: queue closed \(test_serve.py:\d+\); please report it",
        sentence,
    )
    assert _sentence(StoreError("audit.url is wrong")) == "audit.url is wrong"


def test_a_first_worker_that_was_killed_is_told() -> None:
    """By a kernel that is out of memory, say: it could not say why it ended."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    process.kill()
    with structlog.testing.capture_logs() as lines:
        assert _never_served(process) == -9
    assert [(line["event"], line["pid"]) for line in lines] == [("worker_ended", process.pid)]
