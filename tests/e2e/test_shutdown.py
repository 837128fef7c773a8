"""Told to stop, the proxy lets requests under way end, and takes no new ones: a real process, a real signal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.support.upstream import Upstream, says
from tests.support.waiting import address_of, until

ROOT = Path(__file__).parent.parent.parent
ASK = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}


@pytest.mark.parametrize("mode", ["off", "on"])
def test_requests_under_way_end_with_their_answer(upstream: Upstream, tmp_path: Path, mode: str) -> None:
    """SIGTERM while the upstream thinks: the client gets its answer, the row is kept, the process ends with 0."""
    asked, answer_now = threading.Event(), threading.Event()
    answer = says("Canberra.", "Canberra.", "Sydney.")

    def waiting(request: Any, body: Any) -> Any:
        asked.set()
        answer_now.wait(timeout=30)
        return answer(request, body)

    upstream.default = waiting
    running, log = start(tmp_path, upstream, mode)
    try:
        address = address_of(running, log)
        replies: list[httpx.Response] = []
        client = threading.Thread(
            target=lambda: replies.append(httpx.post(f"{address}/v1/chat/completions", json=ASK, timeout=60))
        )
        client.start()
        assert asked.wait(timeout=30)
        running.terminate()
        until(lambda: is_refused(address))
        answer_now.set()
        client.join(timeout=60)
        assert running.wait(timeout=60) == 0, log.read_text()
    finally:
        answer_now.set()
        running.kill()
        running.wait(timeout=30)
    assert [reply.status_code for reply in replies] == [200]
    assert re.search(r'"event":"request"', log.read_text())
    assert re.search(r'"event":"audit_chain_end"', log.read_text())


def test_a_shadow_job_that_hangs_is_cut_off(upstream: Upstream, tmp_path: Path) -> None:
    """SIGTERM while the shadow's own calls get no answer: the process ends with 0 all the same, and its log says what it cut off."""
    hangs, end = threading.Event(), threading.Event()
    answer, asked = says("Canberra."), 0

    def first_only(request: Any, body: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > 1:
            hangs.set()
            end.wait(timeout=120)
        return answer(request, body)

    upstream.default = first_only
    running, log = start(tmp_path, upstream, "shadow")
    try:
        reply = httpx.post(f"{address_of(running, log)}/v1/chat/completions", json=ASK, timeout=60)
        assert reply.status_code == 200
        assert hangs.wait(timeout=60)
        running.terminate()
        assert running.wait(timeout=60) == 0, log.read_text()
    finally:
        end.set()
        running.kill()
        running.wait(timeout=30)
    cut_off = [line for line in log.read_text().splitlines() if '"background_cut_off"' in line]
    assert len([line for line in cut_off if '"job":"shadow"' in line]) == 1, log.read_text()


def start(tmp_path: Path, upstream: Upstream, mode: str) -> tuple[subprocess.Popen[bytes], Path]:
    """A serving process, and its log."""
    config = tmp_path / "config.yaml"
    settings = {
        "server": {"port": 0},
        "upstreams": {"scripted": {"provider": "openai", "base_url": upstream.url}},
        "routes": [{"name": "test", "upstream": "scripted", "mode": mode}],
        "audit": {"url": f"sqlite:///{tmp_path}/audit.db"},
        "log": {"format": "json"},
    }
    config.write_text(yaml.safe_dump(settings))
    log = tmp_path / "log"
    with log.open("wb") as out:
        command = [sys.executable, "-m", "hedgerow.proxy.cli", "serve", "--config", str(config)]
        running = subprocess.Popen(
            command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=out, stderr=out
        )
    return running, log


def is_refused(address: str) -> bool:
    """Whether no new connection is taken: refused at once, not left without an answer."""
    try:
        httpx.get(f"{address}/health", timeout=1)
    except httpx.HTTPError as error:
        return isinstance(error, httpx.ConnectError)
    return False
