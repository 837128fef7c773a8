"""What a scrape of several workers says has the labels that the documents name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WORKER = """
from hedgerow.proxy.monitoring.arms import Comparison, Gap
from hedgerow.proxy.monitoring.drift import RouteHealth
from hedgerow.proxy.monitoring.metrics import Metrics

metrics = Metrics()
metrics.set_health(RouteHealth("r", "on", "green", (), "m", smooth_ece=0.125))
metrics.set_arms(Comparison("r", 0.5, "off", {}, {}, [Gap("feedback", 0.75, 0.5, -0.25, 0.5, 20, 20)]))
print(metrics.exposition().decode())
"""


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
