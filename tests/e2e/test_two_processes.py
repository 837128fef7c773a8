"""Two real processes on one store: what an operator does to one, the other does within two seconds; a changed file is taken over by both."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.support.servers import serving
from tests.support.upstream import Upstream, says
from tests.support.waiting import address_of, until

ROOT = Path(__file__).parent.parent.parent
ADMIN = {"authorization": "Bearer adm-of-these-tests"}


@dataclass
class Pair:
    """Two processes, the file they follow, and what lies behind them."""

    addresses: list[str]
    processes: list[subprocess.Popen[bytes]]
    config: Path
    content: dict[str, Any]

    def modes(self, route: str = "test") -> list[str]:
        """The route's mode as each process has it."""
        seen = []
        for address in self.addresses:
            routes = httpx.get(f"{address}/v1/admin/routes", headers=ADMIN, timeout=60).json()["routes"]
            seen.append(next(row["mode"] for row in routes if row["name"] == route))
        return seen

    def hedges(self, address: str) -> bool:
        """Whether an answer of this process is calibrated."""
        body = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
        return "hedgerow" in httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60).json()

    def edit(self, **route: Any) -> None:
        """Change the file as an operator would."""
        self.content["routes"][0] |= route
        self.config.write_text(yaml.safe_dump(self.content))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    config = folder / "config.yaml"
    upstream = Upstream(default=says("Canberra.", "Sydney.", "Canberra."))
    with serving(upstream) as behind:
        content: dict[str, Any] = {
            "server": {"admin_key": "adm-of-these-tests"},
            "upstreams": {"scripted": {"provider": "openai", "base_url": f"{behind}/v1"}},
            "routes": [{"name": "test", "upstream": "scripted", "mode": "off"}],
            "audit": {"url": f"sqlite:///{folder}/audit.db", "synchronous": "normal", "spool": str(folder / "spool")},
            "maps": {"folder": str(folder / "maps")},
        }
        config.write_text(yaml.safe_dump(content))
        command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(config), "--port", "0"]
        logs = [folder / "one.log", folder / "two.log"]
        processes = []
        try:
            for log in logs:
                with log.open("wb") as out:
                    processes.append(
                        subprocess.Popen(
                            command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out
                        )
                    )
            yield Pair([address_of(p, log) for log, p in zip(logs, processes, strict=True)], processes, config, content)
        finally:
            for process in processes:
                process.terminate()
            assert [process.wait(timeout=60) for process in processes] == [0, 0], [log.read_text() for log in logs]


def test_a_mode_set_at_one_process_holds_at_both(pair: Pair) -> None:
    """By the admin API; the history says who, when and what it was before."""
    one, two = pair.addresses
    httpx.post(f"{one}/v1/admin/routes/test/mode", json={"mode": "off"}, headers=ADMIN, timeout=60)
    until(lambda: pair.modes() == ["off", "off"])
    assert (pair.hedges(one), pair.hedges(two)) == (False, False)
    wish = {"mode": "on", "actor": "ada", "note": "looks good"}
    done = httpx.post(f"{one}/v1/admin/routes/test/mode", json=wish, headers=ADMIN, timeout=60).json()
    assert (done["actor"], done["what"], done["before"], done["after"]) == ("ada", "mode", "off", "on")
    assert pair.hedges(one)  # at once, where it was said
    until(lambda: pair.modes() == ["on", "on"])
    assert pair.hedges(two)
    change = httpx.get(f"{two}/v1/admin/changes", headers=ADMIN, timeout=60).json()["changes"][0]
    assert (change["actor"], change["note"]) == ("ada", "looks good")


def test_the_command_line_reaches_running_processes(pair: Pair) -> None:
    """`hedgerow routes set-mode` writes the store; both processes read it; `configured` takes it back."""
    for mode, expected in (("shadow", ["shadow"] * 2), ("configured", [pair.content["routes"][0]["mode"]] * 2)):
        command = [sys.executable, "-m", "hedgerow.proxy.cli", "routes", "set-mode", "test", mode, "--note", "bob"]
        done = subprocess.run(
            [*command, "--config", str(pair.config)], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert "bob" in done.stdout
        until(lambda expected=expected: pair.modes() == expected)


def test_a_changed_file_is_taken_over_and_a_broken_one_is_not(pair: Pair) -> None:
    """Both processes follow the file; what cannot be used is told by /health, and the old configuration goes on answering."""
    pair.edit(mode="on")
    until(lambda: pair.modes() == ["on", "on"])
    good = pair.config.read_text()
    pair.config.write_text(good.replace("mode: 'on'", "mode: loud").replace("mode: on", "mode: loud"))
    until(lambda: all("loud" in httpx.get(f"{a}/health", timeout=60).json().get("problem", "") for a in pair.addresses))
    assert all(pair.hedges(address) for address in pair.addresses)
    pair.config.write_text(good)
    until(lambda: all("problem" not in httpx.get(f"{a}/health", timeout=60).json() for a in pair.addresses))
    assert pair.modes() == ["on", "on"]


def test_a_hangup_signal_takes_the_file_anew(pair: Pair) -> None:
    """The process lives on."""
    for process in pair.processes:
        process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert [process.poll() for process in pair.processes] == [None, None]
    assert httpx.get(f"{pair.addresses[0]}/health", timeout=60).json()["status"] == "ok"


def test_both_processes_spend_from_one_budget(pair: Pair) -> None:
    """64 connections against both: what all calibrated answers took is within the limit; the others go out plain."""
    took = 7 + 10 * 3
    hard = 10 * took + 5
    pair.content["budgets"] = [{"route": "test", "hard": hard}]
    pair.edit(mode="on")

    def both_count() -> bool:
        for address in pair.addresses:
            pair.hedges(address)
        return in_store(pair, "count(DISTINCT CASE WHEN used > 0 THEN holder END)") == len(pair.addresses)

    until(both_count)

    def is_calibrated(number: int) -> bool:
        message = {"role": "user", "content": f"What is the capital of Australia? ({number})"}
        body = {"model": "m", "messages": [message]}
        reply = httpx.post(f"{pair.addresses[number % 2]}/v1/chat/completions", json=body, timeout=120)
        return reply.headers.get("x-hedgerow-reason") not in ("over_budget", "budget_unknown")  # the store may be busy

    calibrated: list[bool] = []

    def is_spent() -> bool:
        with ThreadPoolExecutor(64) as pool:
            calibrated.extend(pool.map(is_calibrated, range(128)))
        return in_store(pair, "sum(used)") > hard - took

    until(is_spent)
    assert sum(calibrated) * took <= hard
    del pair.content["budgets"]
    pair.edit()
    until(lambda: all(pair.hedges(address) for address in pair.addresses))


def in_store(pair: Pair, figure: str) -> float:
    """A figure of what the budgets have counted."""
    with sqlite3.connect(pair.config.parent / "audit.db", timeout=20) as store:
        return store.execute(f"SELECT coalesce({figure}, 0) FROM spending").fetchone()[0]
