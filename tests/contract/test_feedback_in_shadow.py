"""A verdict may come before its row: in shadow the client has its answer long before the work on it is done."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from hedgerow.proxy.audit import store
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.leases import announce, any_under_way, forget
from hedgerow.proxy.config import Audit
from tests.support.upstream import Upstream, raw, says

ASK = {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
SERVED = b'{"id":"chatcmpl-early","object":"chat.completion","choices":[{"index":0,"message":{"content":"Canberra."}}]}'
LIMIT_S = 60


@pytest.mark.parametrize("many", [False, True])
def test_a_verdict_that_comes_before_its_row_waits_for_it_at_every_process(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, many: bool
) -> None:
    """The answer came from one process, the verdict goes to another; the samples come only once that one has looked in vain."""
    sampling, looked = threading.Event(), threading.Event()
    samples = says("Canberra.")

    async def held_back(request: Any, body: Any) -> Any:
        sampling.set()
        assert await asyncio.to_thread(looked.wait, LIMIT_S)
        return samples(request, body)

    def look(*arguments: Any) -> bool:
        late = any_under_way(*arguments)
        looked.set()
        return late

    monkeypatch.setattr(store, "LATE_ROW_S", 0.0)
    monkeypatch.setattr(store, "any_under_way", look)
    upstream.enqueue(raw(SERVED))
    upstream.default = held_back
    answering, other = serve(mode="shadow"), serve(mode="shadow")
    answer = httpx.post(f"{answering}/v1/chat/completions", json=ASK, timeout=LIMIT_S).json()
    assert sampling.wait(LIMIT_S)
    verdict = {"id": answer["id"], "correct": True}
    reply = httpx.post(f"{other}/v1/feedback", json=[verdict] if many else verdict, timeout=LIMIT_S)
    assert reply.status_code == 200, reply.text
    stored = reply.json()["results"][0] if many else reply.json()
    assert (stored["changed"], stored["counts"]) == (True, True)
    assert stored["faithfulness_divergence"]["calibrated"] > 0.0


def test_verdicts_sent_at_once_are_taken(serve: Any, upstream: Upstream) -> None:
    """Sixteen clients that judge every answer as soon as they have it, at whichever of two processes."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.")
    addresses = serve(mode="shadow"), serve(mode="shadow")

    def ask_and_judge(number: int) -> int:
        upstream_id = f"chatcmpl-{number}"
        answer = raw(SERVED.replace(b"chatcmpl-early", upstream_id.encode()))
        body = ASK | {"messages": [{"role": "user", "content": f"What is the capital of Australia? ({number})"}]}
        replies[number] = answer
        httpx.post(f"{addresses[number % 2]}/v1/chat/completions", json=body, timeout=LIMIT_S)
        verdict = {"id": upstream_id, "correct": True}
        return httpx.post(f"{addresses[number // 2 % 2]}/v1/feedback", json=verdict, timeout=LIMIT_S).status_code

    replies: dict[int, Any] = {}
    samples = upstream.default

    def by_question(request: Any, body: Any) -> Any:
        number = int(body["messages"][-1]["content"].rpartition("(")[2].rstrip(")"))
        return replies.pop(number, samples)(request, body)

    upstream.default = by_question
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask_and_judge, range(48))) == {200}


def test_what_is_under_way_ends_with_its_row_or_its_time(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed leaves an answer that no row will ever have: verdicts do not wait for it for ever."""
    engine = open_engine(Audit(url=store_url))
    monkeypatch.setattr("hedgerow.proxy.audit.leases.time.time", lambda: now)
    now = 100.0
    announce(engine, [("b", 110.0), ("a", 120.0), ("a", 130.0)])
    announce(engine, [("b", 115.0)])
    assert any_under_way(engine, {"b"})
    assert not any_under_way(engine, {"c"})
    now = 116.0
    assert not any_under_way(engine, {"b"})
    assert any_under_way(engine, {"a", "b"})
    forget(engine)
    now = 100.0
    assert not any_under_way(engine, {"b"}), "what was past its time is deleted"
    assert any_under_way(engine, {"a"})
    engine.dispose()
