"""Signals at any moment: a serving proxy, or the stop that was asked for. Real processes; `make chaos` sends more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from benchmarks.chaos.signals import storms
from tests.e2e.test_workers import Running, serving_with
from tests.support.waiting import address_of

ROOT = Path(__file__).parent.parent.parent


def configuration(folder: Path) -> Path:
    """A proxy that has no need to ask anybody."""
    settings = {
        "server": {"port": 0},
        "upstreams": {"u": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "off"}],
        "audit": {"url": f"sqlite:///{folder}/audit.db", "spool": str(folder / "spool")},
        "maps": {"folder": str(folder / "maps")},
        "log": {"format": "json"},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def test_a_storm_of_signals(tmp_path: Path) -> None:
    """Twenty and more, of one process and of three workers, with workers killed."""
    assert [found for storm in storms(configuration(tmp_path), seed=37, signals=20) for found in storm.found] == []


def test_a_successor_is_reloaded_when_it_serves(tmp_path: Path) -> None:
    """All workers are killed and SIGHUP comes while their successors start: it waits for them."""
    with serving_with(2, tmp_path) as running:
        for pid in running.workers():
            os.kill(pid, signal.SIGKILL)
        before = running.workers()
        running.until(lambda: len(running.workers() - before) == 2)
        running.supervisor.send_signal(signal.SIGHUP)
        running.until(lambda: running.lines('"config_reloaded"') == 2)
        assert running.lines('"worker_ended"') == 2


def test_a_command_that_was_killed_leaves_no_folder(tmp_path: Path) -> None:
    """The next one removes what it left in the temporary folder, and not the folder of one that lives."""
    places = tmp_path / "tmp"
    places.mkdir()
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(places)}

    def start(name: str) -> Running:
        folder = tmp_path / name
        folder.mkdir()
        command = [
            sys.executable,
            "-m",
            "hedgerow.proxy.cli",
            "serve",
            "--workers",
            "2",
            "--config",
            str(configuration(folder)),
        ]
        with (folder / "log").open("wb") as out:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)
        running = Running(process, folder / "log", address_of(process, folder / "log"))
        running.until(lambda: running.lines('"address":"') == 2)
        return running

    first, second = start("first"), start("second")
    try:
        assert len(list(places.iterdir())) == 2
        workers = first.workers()
        first.supervisor.kill()
        first.supervisor.wait()
        second.until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
        third = start("third")
        try:
            assert len(list(places.iterdir())) == 2
        finally:
            third.supervisor.terminate()
            assert third.supervisor.wait(timeout=90) == 0
    finally:
        second.supervisor.terminate()
        assert second.supervisor.wait(timeout=90) == 0
    assert list(places.iterdir()) == []
