"""New parts while requests are under way: who began with the old ones ends with them, and what nobody uses is closed."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion, says
from tests.support.waiting import until

ADMIN = {"authorization": "Bearer adm-of-these-tests"}
BODY = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}


def test_what_the_warm_up_loads_is_not_looked_through_again(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends when the proxy already serves; each search for garbage among weights and patterns would hold up every request."""
    ready, loaded = threading.Event(), list[Any]()

    def rehearse(*_: Any) -> None:
        assert ready.wait(60)
        loaded.append([])  # newer than what was there at the start

    monkeypatch.setattr("hedgerow.proxy.pipeline.rehearsal.rehearse", rehearse)
    serve()
    ready.set()
    until(lambda: loaded and all(each is not loaded[0] for each in gc.get_objects()))


def test_a_request_under_way_ends_as_it_began(serve: Any, upstream: Upstream) -> None:
    """Switched off in the middle of a request: that one is still calibrated, the next is not."""
    go, begun = threading.Event(), threading.Event()

    async def slowly(_request: Any, body: Any) -> JSONResponse:
        begun.set()
        await asyncio.to_thread(go.wait, 60)
        return JSONResponse(completion(*["Canberra."] * (body.get("n") or 1)))

    upstream.default = slowly
    address = serve(settings={"server": {"admin_key": "adm-of-these-tests"}})

    def ask() -> dict[str, Any]:
        answer: dict[str, Any] = httpx.post(f"{address}/v1/chat/completions", json=BODY, timeout=60).json()
        return answer

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask)
        assert begun.wait(30)
        done = httpx.post(f"{address}/v1/admin/routes/test/mode", json={"mode": "off"}, headers=ADMIN, timeout=60)
        assert done.json()["after"] == "off"
        go.set()
        assert "hedgerow" in first.result()
    assert "hedgerow" not in ask()


def test_an_unknown_map_of_the_store_is_reported_and_answers_are_uncalibrated(
    serve: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """A map that nobody has: the route answers without one, and `/health` and the routes say why."""
    from hedgerow.proxy.audit.engine import open_engine
    from hedgerow.proxy.audit.operators import set_state
    from hedgerow.proxy.config import Audit

    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    address = serve(settings={"server": {"admin_key": "adm-of-these-tests"}})
    engine = open_engine(Audit(url=f"sqlite:///{tmp_path}/audit.db"))
    set_state(engine, "test", "map", "elsewhere", actor="ada")

    def health() -> Any:
        return httpx.get(f"{address}/health", timeout=60).json()

    degraded = until(health, lambda health: "elsewhere" in health.get("maps", {}).get("test", ""))
    assert (degraded["status"], degraded["degraded"]) == ("ok", True)
    answer = httpx.post(f"{address}/v1/chat/completions", json=BODY, timeout=60).json()["hedgerow"]
    assert (answer["uncalibrated"], answer["map"]) == (True, None)
    (route,) = httpx.post(f"{address}/v1/admin/check", headers=ADMIN, timeout=60).json()["routes"]
    assert route["health"]["status"] == "yellow"
    assert "elsewhere" in route["health"]["reasons"][0]
    set_state(engine, "test", "map", None, actor="ada")
    until(lambda: "maps" not in health())
    engine.dispose()
