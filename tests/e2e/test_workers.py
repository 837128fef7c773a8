"""`hedgerow serve --workers 2`: processes that share a port, replaced when they die, reloaded and stopped together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import yaml

from hedgerow.proxy.cli.workers import SHORT_LIFE_S
from tests.e2e.test_shutdown import wait_for_address, wait_until_refused

ROOT = Path(__file__).parent.parent.parent


@dataclass
class Running:
    """The command, its log and what the test changes."""

    supervisor: subprocess.Popen[bytes]
    log: Path
    address: str

    def workers(self) -> set[int]:
        """Process ids of the command's children that serve."""
        pid = self.supervisor.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return {int(child) for child in children if b"--fd" in Path(f"/proc/{child}/cmdline").read_bytes()}

    def lines(self, event: str) -> int:
        return self.log.read_text().count(event)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 90
        while not holds():
            assert self.supervisor.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.1)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    config, log = tmp_path / "config.yaml", tmp_path / "log"
    settings = {
        "server": {"port": 0},
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "off"}],
        "audit": {"url": f"sqlite:///{tmp_path}/audit.db", "spool": str(tmp_path / "spool")},
        "log": {"format": "json"},
    }
    config.write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(config), "--workers", "2"]
    with log.open("wb") as out:
        supervisor = subprocess.Popen(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out
        )
    try:
        yield Running(supervisor, log, wait_for_address(log, supervisor))
    finally:
        supervisor.terminate()
        supervisor.wait(timeout=60)


def test_workers_are_replaced_reloaded_and_stopped_together(running: Running) -> None:
    """A killed process has a successor and the port keeps answering; SIGHUP reaches each process; SIGTERM ends all, with status 0."""
    running.until(lambda: running.lines('"address":"') == 2)
    first = running.workers()
    assert len(first) == 2
    time.sleep(SHORT_LIFE_S)
    killed = min(first)
    os.kill(killed, signal.SIGKILL)
    running.until(lambda: running.lines('"address":"') == 3)
    assert killed not in running.workers()
    assert len(running.workers()) == 2
    assert running.lines("worker_ended") == 1
    assert httpx.get(f"{running.address}/health", timeout=30).status_code == 200

    running.supervisor.send_signal(signal.SIGHUP)
    running.until(lambda: running.lines('"config_reloaded"') == 2)

    last = running.workers()
    running.supervisor.terminate()
    assert running.supervisor.wait(timeout=60) == 0, running.log.read_text()
    assert wait_until_refused(running.address)
    assert not any(Path(f"/proc/{pid}").exists() for pid in last)


def test_a_process_that_ends_at_once_ends_the_command(running: Running) -> None:
    """A process that cannot live is not started over and over: the command ends, and not with 0."""
    running.until(lambda: len(running.workers()) == 2)
    os.kill(max(running.workers()), signal.SIGKILL)
    assert running.supervisor.wait(timeout=60) != 0
    assert wait_until_refused(running.address)
