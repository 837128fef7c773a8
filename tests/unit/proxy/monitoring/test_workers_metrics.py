"""What a scrape of several workers says has the labels that the documents name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hedgerow.proxy.monitoring.metrics import RESERVED_BYTES

WORKER = """
from hedgerow.proxy.monitoring.figures import ArmComparison, ArmGap
from hedgerow.proxy.monitoring.drift import RouteHealth
from hedgerow.proxy.monitoring.metrics import Metrics

metrics = Metrics()
metrics.set_health(RouteHealth("r", "on", "green", (), "m", smooth_ece=0.125))
metrics.set_arms(ArmComparison("r", 0.5, "off", {}, {}, [ArmGap("feedback", 0.75, 0.5, -0.25, 0.5, 20, 20)]))
print(metrics.exposition().decode())
"""


@pytest.mark.slow
def test_series_of_routes_are_one_for_all_workers(tmp_path: Path) -> None:
    """A worker that examined a route after another one replaces what that one said; its process is not a label."""
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _ in range(2):
        text = subprocess.run([sys.executable, "-c", WORKER], env=environment, check=True, capture_output=True).stdout
    lines = text.decode().splitlines()
    for series in (
        'hedgerow_smooth_ece{route="r"} 0.125',
        'hedgerow_arm_mean{arm="on",figure="feedback",route="r"} 0.75',
        'hedgerow_arm_difference{end="low",figure="feedback",route="r"} -0.25',
    ):
        assert lines.count(series) == 1
    assert not [line for line in lines if "pid=" in line]


RESERVED = """
import os, sys
from pathlib import Path
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.monitoring import metrics

real = getattr(os, sys.argv[1])


def failing(*_, **__):
    raise OSError(28, "No space left on device")


setattr(os, sys.argv[1], failing)
try:
    metrics.Metrics()
except ConfigError as error:
    print(error)
setattr(os, sys.argv[1], real)
running = metrics.Metrics()
running.ended("r", "on", "hedged", "", 0.1)
running.exposition()
folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
print(min(path.stat().st_blocks * 512 for path in folder.iterdir()))
metrics.release(folder, os.getpid())
print(max(path.stat().st_size for path in folder.iterdir()))
print(running.exposition().decode().count('hedgerow_requests_total{mode="on",reason="",route="r",status="hedged"} 1.0'))
"""


@pytest.mark.parametrize("operation", ["open", "posix_fallocate"])
def test_a_worker_takes_the_room_of_its_metrics_at_its_start(tmp_path: Path, operation: str) -> None:
    """Else a full disk would kill it later, at any request (SIGBUS). Where there is none it says so in a sentence; what it did not need is given back
    when it has ended, and its counts stay."""
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-c", RESERVED, operation]
    said, least, most, counted = subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert "No space left on device; make room there, or set TMPDIR" in said
    assert int(least) >= RESERVED_BYTES
    assert 0 < int(most) < 20_000
    assert counted == "1"
