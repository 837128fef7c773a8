"""`hedgerow serve --workers`: processes that share a port, replaced when they die, reloaded and stopped together, counted as one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
import yaml
from starlette.responses import JSONResponse

from hedgerow.proxy.cli.serving.serve import SHORT_LIFE_S
from tests.e2e.test_shutdown import ASK, is_refused
from tests.support.servers import serving
from tests.support.upstream import Upstream, completion, says
from tests.support.waiting import address_of, until

ROOT = Path(__file__).parent.parent.parent
ADMIN = {"authorization": "Bearer adm-of-these-tests"}
CALIBRATED = {"name": "test", "upstream": "u", "mode": "on"}


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
        def read() -> bool:
            assert self.supervisor.poll() is None, self.log.read_text()
            return holds()

        until(read)


@contextmanager
def serving_with(workers: int, folder: Path, behind: str = "http://127.0.0.1:9", **more: Any) -> Iterator[Running]:
    """The command with so many workers before an upstream."""
    config, log = folder / "config.yaml", folder / "log"
    settings = {
        "server": {"port": 0, "admin_key": "adm-of-these-tests"},
        "upstreams": {"u": {"provider": "openai", "base_url": f"{behind}/v1"}},
        "routes": [{"name": "test", "upstream": "u", "mode": "off"}],
        "audit": {"url": f"sqlite:///{folder}/audit.db", "spool": str(folder / "spool")},
        "maps": {"folder": str(folder / "maps")},
        "log": {"format": "json"},
    }
    config.write_text(yaml.safe_dump(settings | more))
    command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(config), "--workers", str(workers)]
    with log.open("wb") as out:
        supervisor = subprocess.Popen(
            command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out
        )
    try:
        running = Running(supervisor, log, address_of(supervisor, log))
        running.until(lambda: running.lines('"address":"') == workers)
        yield running
    finally:
        supervisor.terminate()
        supervisor.wait(timeout=60)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with serving_with(2, tmp_path) as running:
        yield running


def test_workers_are_replaced_reloaded_and_stopped_together(running: Running) -> None:
    """A killed process has a successor and the port keeps answering; SIGHUP reaches each process; SIGTERM ends all, with status 0."""
    first = running.workers()
    assert len(first) == 2
    time.sleep(SHORT_LIFE_S)
    killed = min(first)
    os.kill(killed, signal.SIGKILL)
    running.until(lambda: running.lines('"address":"') == 3)
    assert killed not in running.workers()
    assert len(running.workers()) == 2
    assert running.lines('"event":"worker_ended","level":"error"') == 1
    assert httpx.get(f"{running.address}/health", timeout=30).status_code == 200

    running.supervisor.send_signal(signal.SIGHUP)
    running.until(lambda: running.lines('"config_reloaded"') == 2)

    last = running.workers()
    running.supervisor.terminate()
    assert running.supervisor.wait(timeout=60) == 0, running.log.read_text()
    until(lambda: is_refused(running.address))
    assert not any(Path(f"/proc/{pid}").exists() for pid in last)


def test_workers_end_with_their_command(running: Running) -> None:
    """Killed, it can stop nobody: the workers end by themselves, so that the port is free for the next start."""
    workers = running.workers()
    running.supervisor.kill()
    running.supervisor.wait(timeout=60)
    assert len(workers) == 2
    left = until(lambda: [pid for pid in workers if Path(f"/proc/{pid}").exists()], lambda alive: not alive)
    assert left == []
    assert is_refused(running.address)


def test_a_successor_that_cannot_start_takes_nobody_along(running: Running) -> None:
    """The file was broken meanwhile: the other process serves on, successors are tried again, and only with the last process the command ends,
    not with 0."""
    time.sleep(SHORT_LIFE_S)
    (running.log.parent / "config.yaml").write_text("routes: 5")
    first, second = running.workers()
    os.kill(first, signal.SIGKILL)
    running.until(lambda: running.lines('"worker_ended"') == 3)
    assert httpx.get(f"{running.address}/health", timeout=30).status_code == 200
    os.kill(second, signal.SIGKILL)
    assert running.supervisor.wait(timeout=60) != 0
    until(lambda: is_refused(running.address))


def test_a_stopped_command_takes_no_new_connections(upstream: Upstream, tmp_path: Path) -> None:
    """While a request is answered that was there before: whoever comes later is refused at once instead of waiting for nobody."""
    asked, released = threading.Event(), threading.Event()

    async def held(_request: Any, _body: Any) -> JSONResponse:
        asked.set()
        await asyncio.to_thread(released.wait, 60)
        return JSONResponse(completion("Canberra."))

    upstream.default = held
    with serving(upstream) as behind, serving_with(2, tmp_path, behind) as running, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(httpx.post, f"{running.address}/v1/chat/completions", json=ASK, timeout=90)
        assert asked.wait(90)
        running.supervisor.terminate()
        try:
            until(lambda: is_refused(running.address))
            assert not answer.done()
        finally:
            released.set()
        assert answer.result().status_code == 200


def test_a_scrape_of_any_worker_counts_the_requests_of_all(tmp_path: Path) -> None:
    """Three workers, one of them killed under load: every scrape gives the same sum, which holds the answers of the dead one too, and each
    answer that a client got has a row in a chain that verifies.
    """
    sent = 90
    with (
        serving(Upstream(default=says("Canberra.", "Sydney.", "Canberra."))) as behind,
        serving_with(3, tmp_path, behind, routes=[CALIBRATED]) as running,
    ):
        time.sleep(SHORT_LIFE_S)

        def ask(number: int) -> bool:
            if number == sent // 3:
                os.kill(min(running.workers()), signal.SIGKILL)
            try:
                return httpx.post(f"{running.address}/v1/chat/completions", json=ASK, timeout=60).status_code == 200
            except httpx.TransportError:  # it was with the worker that died
                return False

        with ThreadPoolExecutor(8) as clients:
            answered = sum(clients.map(ask, range(sent)))
        running.until(lambda: len(running.workers()) == 3)
        counts = {_requests(running.address) for _ in range(20)}
        assert len(counts) == 1
        assert sent - 8 <= answered <= counts.pop() <= sent
    engine = sa.create_engine(f"sqlite:///{tmp_path}/audit.db")
    with engine.connect() as connection:
        assert answered <= connection.execute(sa.text("SELECT count(*) FROM answers")).scalar_one() <= sent
    verify = [sys.executable, "-m", "hedgerow.proxy.cli", "audit", "verify", "--config", str(tmp_path / "config.yaml")]
    done = subprocess.run(verify, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _requests(address: str) -> int:
    text = httpx.get(f"{address}/metrics", timeout=30).text
    lines = [line for line in text.splitlines() if line.startswith("hedgerow_requests_total")]
    return int(sum(float(line.rpartition(" ")[2]) for line in lines))


def test_one_worker_watches_and_all_show_what_it_found(upstream: Upstream, tmp_path: Path) -> None:
    """Maps are examined by one process; whichever worker is asked, the answer is that report. When it dies, another takes its turn."""
    route = {"name": "test", "upstream": "u", "mode": "on"}
    with (
        serving(upstream) as behind,
        serving_with(3, tmp_path, behind, routes=[route], drift={"every_s": 0.5}) as running,
    ):
        engine = sa.create_engine(f"sqlite:///{tmp_path}/audit.db")

        def holder() -> str | None:
            with engine.connect() as connection:
                found: str | None = connection.execute(
                    sa.text("SELECT holder FROM leases WHERE duty = 'drift'")
                ).scalar()
                return found

        def reports() -> list[Any]:
            listings = [
                httpx.get(f"{running.address}/v1/admin/routes", headers=ADMIN, timeout=30).json() for _ in range(9)
            ]
            return [each["routes"][0]["health"] for each in listings]

        running.until(lambda: all(report is not None for report in reports()))
        first = holder()
        assert {report["status"] for report in reports()} == {"grey"}
        before = running.workers()
        time.sleep(SHORT_LIFE_S)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        running.until(lambda: len(running.workers()) == 3 and not running.workers() & before)
        running.until(lambda: holder() != first)
