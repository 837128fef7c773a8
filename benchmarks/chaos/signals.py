"""Signals at random moments of start, reload, run and stop: each life must end in a serving proxy, or in the stop that was asked for."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from benchmarks import ROOT

PATIENCE_S = 120.0
STOPS = (signal.SIGTERM, signal.SIGINT)
SECONDS = {"start": 4.0, "run": 1.5, "stop": 0.4}
"""Longest time from one signal to the next."""


@dataclass
class Storm:
    """What became of some lives.

    Attributes:
        sent: signals so far.
        found: what should not have been, a sentence each.
    """

    config: Path
    workers: int
    rng: random.Random
    sent: int = 0
    lives: int = 0
    found: list[str] = field(default_factory=list)

    def live(self) -> None:
        """One life, which somebody ends at any moment."""
        self.lives += 1
        log = self.config.parent / f"log-{self.workers}-{self.lives}"
        command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(self.config)]
        command += ["--workers", str(self.workers)] if self.workers > 1 else []
        with log.open("wb") as out:
            process = subprocess.Popen(
                command, cwd=log.parent, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out
            )
        try:
            self._live(process, log)
            if self._waited(lambda: process.poll() is not None, process, "did not stop"):
                self._look(process.returncode, log)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()

    def _live(self, process: subprocess.Popen[bytes], log: Path) -> None:
        """From the start to the signal that asks to stop, and beyond."""
        self._waited(lambda: _holds(process.pid) or process.poll() is not None, process, "never began")
        if not self._some(process, "start"):
            return
        if not self._waited(lambda: _serves(log) or process.poll() is not None, process, "did not serve"):
            return
        if process.poll() is not None:
            self.found.append(f"ended with {process.returncode} although nobody asked: {log.read_text()[-300:]}")
            return
        if self.workers > 1 and self.rng.random() < 0.7:
            for pid in self.rng.sample(children := _children(process.pid), self.rng.randint(1, len(children))):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self.sent += 1
        if not self._some(process, "run"):
            return
        if self._waited(lambda: _serves(log), process, "no longer served"):
            self._send(process, self.rng.choice(STOPS))
            self._some(process, "stop")

    def _some(self, process: subprocess.Popen[bytes], phase: str) -> bool:
        """Some signals of a phase; False if one of them asked to stop."""
        for _ in range(self.rng.randint(0, 4)):
            time.sleep(self.rng.random() * SECONDS[phase])
            asked = phase != "stop" and self.rng.random() < 0.08
            number = self.rng.choice(STOPS) if asked or (self.rng.random() < 0.5 and phase == "stop") else signal.SIGHUP
            self._send(process, number)
            if asked:
                self._some(process, "stop")
                return False
        return True

    def _send(self, process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        process.send_signal(number)
        self.sent += 1

    def _waited(self, holds: object, process: subprocess.Popen[bytes], otherwise: str) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():  # type: ignore[operator]
            if time.monotonic() > deadline:
                self.found.append(f"{otherwise} in {PATIENCE_S:g} s")
                return False
            time.sleep(0.02)
        return True

    def _look(self, status: int, log: Path) -> None:
        """An ended life ends with 0, and all that it wrote are lines of its log."""
        if status != 0:
            self.found.append(f"ended with {status}: {log.read_text()[-300:]}")
        for line in log.read_bytes().splitlines():
            try:
                orjson.loads(line)
            except orjson.JSONDecodeError:
                self.found.append(f"wrote {line[:200]!r}")
                return


def storms(config: Path, seed: int, signals: int) -> Iterator[Storm]:
    """Lives of one process, and of a command with three workers, until both have had so many signals together."""
    rng = random.Random(seed)
    both = [Storm(config, workers, rng) for workers in (1, 3)]
    while sum(storm.sent for storm in both) < signals:
        for storm in both:
            storm.live()
    yield from both


def _holds(pid: int) -> bool:
    """Whether a process holds signals back, as it must from its first line until it handles them."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    held = re.search(r"^SigBlk:\s*(\w+)$", status, re.MULTILINE)
    return held is not None and bool(int(held[1], 16) & 1 << (signal.SIGHUP - 1))


def _serves(log: Path) -> bool:
    found = re.search(r'"address":"(http://[^"]+)"', log.read_text())
    if found is None:
        return False
    with suppress(OSError), urllib.request.urlopen(f"{found[1]}/health", timeout=10) as answer:  # ours
        return bool(answer.status == 200)
    return False


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
