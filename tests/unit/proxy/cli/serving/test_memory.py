"""Memory that a large answer needed is the system's again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

READS_LARGE_ANSWERS = """
import os
from hedgerow.proxy.cli.serving.serve import give_back

def resident_mb():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

give_back()
answer = b"x" * 30_000_000
del answer
before, kept = resident_mb(), []
for _ in range(3):
    first = b"x" * 10_000_000
    kept.append(b"y" * 1_000)
    second = b"x" * 10_000_000
    kept.append(b"y" * 1_000)
    del first, second
print(resident_mb() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is another")
def test_large_answers_leave_nothing_behind() -> None:
    """20 MB stay otherwise: once a block of 30 MB was freed, glibc keeps all smaller ones, and what stays small lies between them."""
    done = subprocess.run([sys.executable, "-c", READS_LARGE_ANSWERS], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 2.0
