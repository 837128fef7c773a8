"""The sampling calls of an upstream: one route that must wait for it does not hold up the others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.support.upstream import Upstream, fails, says

WAIT_S = 5


def test_a_call_that_waits_for_its_next_try_leaves_its_slot(serve: Any, upstream: Upstream) -> None:
    """One slot, and a route that is told to come back in 5 seconds: another route of that upstream is answered meanwhile."""
    refused = threading.Event()
    answer, refusal = says("Canberra."), fails(429, {"error": {"message": "slow down"}}, {"retry-after": str(WAIT_S)})

    def by_model(request: Any, body: Any) -> Any:
        if body["model"] == "quick":
            return answer(request, body)
        refused.set()
        return refusal(request, body)

    upstream.default = by_model
    routes = [
        {"name": name, "upstream": "scripted", "mode": "on", "match": {"model": name}} for name in ("busy", "quick")
    ]
    address = serve(settings={"routes": routes}, upstream_settings={"max_sampling_calls": 1, "retries": 1})

    def ask(model: str) -> httpx.Response:
        body = {"model": model, "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
        return httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, "busy")
        assert refused.wait(30)
        assert ask("quick").json()["choices"][0]["message"]["content"]
        assert [call["model"] for call in upstream.calls][:2] == ["busy", "quick"]  # and not busy's second try first
        waiting.result()


def test_a_rate_limit_holds_no_slot_while_answers_move_or_wait(serve: Any, upstream: Upstream, lines: Any) -> None:
    """Eight requests of a route that is told to wait, two slots: they wait outside, another route goes through, and each retry line says whose it is."""
    refused = threading.Semaphore(0)
    answer, refusal = says("Canberra."), fails(429, {"error": {"message": "slow down"}}, {"retry-after": str(WAIT_S)})
    seen: dict[str, int] = {}

    def by_model(request: Any, body: Any) -> Any:
        model = body["model"]
        seen[model] = seen.get(model, 0) + 1
        if model == "quick" or seen[model] > 1:
            return answer(request, body)
        refused.release()
        return refusal(request, body)

    upstream.default = by_model
    address = serve(upstream_settings={"max_sampling_calls": 2, "retries": 1})

    def ask(model: str) -> httpx.Response:
        body = {"model": model, "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
        return httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60)

    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(ask, f"busy-{number}") for number in range(8)]
        for _ in waiting:
            assert refused.acquire(timeout=30)
        assert ask("quick").status_code == 200
        assert not any(one.done() for one in waiting)
        ids = {one.result().headers["x-hedgerow-audit-id"] for one in waiting}
    retries = lines.of("upstream_retry")
    assert {line["id"] for line in retries} == ids
    assert {(line["upstream"], line["status"], line["wait_s"]) for line in retries} == {("scripted", 429, WAIT_S)}
