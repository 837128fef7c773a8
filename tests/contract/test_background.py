"""A fault in background work or in a changed file, with the real server: the proxy answers on, says what failed, and goes on working."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from starlette.responses import JSONResponse

from hedgerow.proxy import supervision
from hedgerow.proxy.app import application
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.config import load
from hedgerow.proxy.monitoring import drift
from tests.contract.test_routes import ASK, CHAT, UNSURE
from tests.support.servers import serving
from tests.support.upstream import Upstream, completion, says
from tests.support.waiting import until

ROUTE = {"name": "test", "upstream": "u", "mode": "on"}
WORDS = "what a user asked"


def test_a_watcher_that_fails_leaves_the_proxy_serving(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, lines: Any
) -> None:
    """Before, one exception closed store and upstreams under a process that said it was well."""
    monkeypatch.setattr(supervision, "PAUSE_S", 0.05)

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError(WORDS)

    monkeypatch.setattr(drift, "examine", broken)
    upstream.default = says(*UNSURE)
    address = serve()
    until(lambda: "background" in httpx.get(f"{address}/health").json())
    health = httpx.get(f"{address}/health")
    assert health.status_code == 200
    assert health.json()["degraded"] is True
    assert {"drift"} == {failure["job"] for failure in health.json()["background"]}
    assert httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).json()["hedgerow"]["status"] == "hedged"
    assert 'hedgerow_background_failures_total{task="drift"}' in httpx.get(f"{address}/metrics").text
    assert WORDS not in str(lines)


def test_a_shadow_job_that_fails_costs_only_itself(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has its answer, the next request is served, and `/health` names the work that failed."""

    async def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(AuditStore, "write", broken)
    upstream.default = says(*UNSURE)
    address = serve(mode="shadow")
    for _ in range(2):
        assert httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).status_code == 200
        until(lambda: "background" in httpx.get(f"{address}/health").json())
    until(lambda: httpx.get(f"{address}/health").json()["background"][0]["count"] == 2)
    assert httpx.get(f"{address}/health").json()["background"][0]["job"] == "shadow"


def test_work_that_may_be_left_out_is_when_too_much_waits(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has its answer, and the row says why it was not measured."""
    monkeypatch.setattr(supervision, "MOST_JOBS", 0)
    upstream.default = says(*UNSURE, id="chatcmpl-crowded")
    address = serve(mode="shadow")
    assert httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).status_code == 200
    counted = 'hedgerow_requests_total{mode="shadow",reason="overloaded",route="test",status="degraded"} 1.0'
    until(lambda: counted in httpx.get(address + "/metrics").text)


def test_an_answer_that_is_measured_late_keeps_its_place(serve: Any, upstream: Upstream) -> None:
    """Maps are fitted on the answers that were asked first. By the end of their work those that agree, which are measured fastest, would be older."""
    answered = asyncio.Event()
    drawn: list[str] = []

    async def reply(_request: Any, body: Any) -> Any:
        question = body["messages"][-1]["content"]
        drawn.append(question)
        if question == "slow" and drawn.count("slow") > 1:  # what shadow draws for it
            await answered.wait()
        elif drawn.count("fast") > 1:
            asyncio.get_running_loop().call_later(0.05, answered.set)
        return JSONResponse(completion(*UNSURE[: body.get("n") or 1], id=f"chatcmpl-{question}"))

    upstream.default = reply
    address = serve(mode="shadow")

    def row(question: str) -> Any:
        asked = {"model": "m", "messages": [{"role": "user", "content": question}]}
        assert httpx.post(address + CHAT, json=asked).status_code == 200
        return lambda: httpx.get(f"{address}/v1/audit/chatcmpl-{question}")

    slow = row("slow")
    fast = row("fast")
    until(lambda: slow().status_code == fast().status_code == 200)
    assert slow().json()["created_at"] < fast().json()["created_at"]


BROKEN = {
    "an infinite cost": {"routes": [ROUTE | {"policy": {"wrong": float("inf"), "needless_abstention": 1.0}}]},
    "a key that is not text": {1: 2},
    "deep brackets": "[" * 5000,
    "an impossible date": "x: 2024-13-45",
    "half an address": {"upstreams": {"u": {"provider": "openai", "base_url": "http://[::1"}}},
    "a port beyond 65535": {"upstreams": {"u": {"provider": "openai", "base_url": "http://h:99999/v1"}}},
    "an empty secret": {"server": {"admin_key": ""}},
    "a secret that is a placeholder": {"audit": {"hash_key": "changeme-changeme"}},
    "a lexicon without hedges": {"routes": [ROUTE | {"lexicon": "empty.yaml"}]},
}


@pytest.mark.slow
def test_a_file_that_cannot_be_used_changes_nothing(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a changed file holds: the old configuration answers on, `/health` says why, and the next good file is taken over."""
    upstream.default = says(*UNSURE)
    (tmp_path / "empty.yaml").write_text("{schema: 1, name: empty, version: '1', language: en, hedges: []}")
    good = {
        "upstreams": {"u": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
        "routes": [ROUTE],
        "audit": {"url": f"sqlite:///{tmp_path}/a.db", "spool": str(tmp_path / "spool")},
        "maps": {"folder": str(tmp_path / "maps")},
    }
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(good))
    with serving(application(load(config), "test", config), lifespan="on") as address:
        for name, broken in BROKEN.items():
            text = broken if isinstance(broken, str) else yaml.safe_dump(good | broken)
            config.write_text(text.replace("empty.yaml", str(tmp_path / "empty.yaml")))
            health = until(lambda: httpx.get(f"{address}/health").json(), lambda health: "problem" in health)
            assert health["degraded"] is True, name
            reply = httpx.post(address + CHAT, json={"model": "m", "messages": ASK})
            assert (reply.status_code, "hedgerow" in reply.json()) == (200, True), name
            config.write_text(yaml.safe_dump(good))
            until(lambda: "problem" not in httpx.get(f"{address}/health").json())
        for error in (errno.EIO, errno.EACCES, errno.ENOENT):  # it is as it was, and is read again when it can be
            with monkeypatch.context() as ill:
                ill.setattr(Path, "read_text", _failing(error))
                config.touch()
                until(lambda: "problem" in httpx.get(f"{address}/health").json())
            until(lambda: "problem" not in httpx.get(f"{address}/health").json())
        assert "background" not in httpx.get(f"{address}/health").json()


def _failing(number: int) -> Any:
    real = Path.read_text

    def read(path: Path, *rest: Any, **more: Any) -> str:
        if path.name == "config.yaml":
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *rest, **more)

    return read
