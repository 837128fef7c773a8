"""A fault in background work, with the real server: the proxy answers on, says what failed, and goes on working."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.monitoring import drift
from hedgerow.proxy.services import background
from tests.contract.test_routes import ASK, CHAT, UNSURE
from tests.support.upstream import Upstream, says

WORDS = "what a user asked"


def _eventually(holds: Any) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_watcher_that_fails_leaves_the_proxy_serving(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, lines: Any
) -> None:
    """Before, one exception closed store and upstreams under a process that said it was well."""
    monkeypatch.setattr(background, "PAUSE_S", 0.05)

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError(WORDS)

    monkeypatch.setattr(drift, "examine", broken)
    upstream.default = says(*UNSURE)
    address = serve()
    _eventually(lambda: "background" in httpx.get(f"{address}/health").json())
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
        _eventually(lambda: "background" in httpx.get(f"{address}/health").json())
    _eventually(lambda: httpx.get(f"{address}/health").json()["background"][0]["count"] == 2)
    assert httpx.get(f"{address}/health").json()["background"][0]["job"] == "shadow"
