"""Equal requests draw once: at the same time, and, with a cache, a little later; never for another client unless the route says so."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import JSONResponse

from hedgerow.proxy.config import redis as redis_module
from hedgerow.proxy.pipeline.sampling import cache as cache_module
from tests.support.upstream import Reply, Upstream, completion, fails, says
from tests.support.waiting import until

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]


def slowly(*texts: str, seconds: float = 0.5) -> Reply:
    """Answers after a while, so that requests meet."""

    async def reply(_request: Any, body: Any) -> JSONResponse:
        await asyncio.sleep(seconds)
        return JSONResponse(completion(*(texts[i % len(texts)] for i in range(body.get("n") or 1))))

    return reply


def _ask(client: Any, **extra: Any) -> Any:
    return client.chat.completions.create(model="m", messages=ASK, **extra)


def _at_once(*calls: Any) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_equal_requests_at_once_draw_once(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Five clients' requests with one key are one call; the answer to whoever drew counts the tokens of the samples, the others count none."""
    upstream.default = slowly("Canberra.", "Sydney.")
    client = client_of(serve())
    answers = _at_once(*[lambda: _ask(client)] * 5)
    assert len(upstream.calls) == 1
    fields = [answer.model_extra["hedgerow"] for answer in answers]
    assert sorted(one.get("samples_from", "upstream") for one in fields) == ["shared"] * 4 + ["upstream"]
    assert all(one["clusters"] == [5, 5] for one in fields)
    assert sum(one["usage"]["samples"]["completion_tokens"] > 0 for one in fields) == 1
    assert len({answer.choices[0].message.content for answer in answers}) == 1
    assert len({one["id"] for one in fields}) == 5


@pytest.mark.parametrize("difference", ["key", "temperature", "route"])
def test_what_differs_is_not_shared(serve: Any, client_of: Any, upstream: Upstream, difference: str) -> None:
    """Another key, another field of the request, or a route that shares nothing."""
    upstream.default = slowly("Canberra.")
    address = serve(sampling={"share": difference != "route"})
    other = client_of(address, api_key="sk-other") if difference == "key" else client_of(address)
    extra = {"max_tokens": 5} if difference == "temperature" else {}
    _at_once(lambda: _ask(client_of(address)), lambda: _ask(other, **extra))
    assert len(upstream.calls) == 2


def test_who_leaves_does_not_take_the_others_answer(serve: Any, upstream: Upstream) -> None:
    """The first of two leaves; the second has its answer from the same call, which goes on for it."""
    released = threading.Event()

    async def held(_request: Any, body: Any) -> JSONResponse:
        await asyncio.to_thread(released.wait, 60)
        return JSONResponse(completion(*["Canberra."] * body["n"]))

    upstream.default = held
    address = serve()
    body = json.dumps({"model": "m", "messages": ASK}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-x\r\ncontent-length: %d\r\n\r\n"

    def ask() -> socket.socket:
        parts = urlsplit(address)
        connection = socket.create_connection((parts.hostname, parts.port), timeout=60)
        connection.sendall(head % len(body) + body)
        return connection

    leaving = ask()
    until(lambda: len(upstream.calls) == 1)
    staying = ask()
    until(lambda: "hedgerow_requests_in_flight 2.0" in httpx.get(f"{address}/metrics").text)
    leaving.close()
    until(lambda: "hedgerow_requests_in_flight 1.0" in httpx.get(f"{address}/metrics").text)
    released.set()
    assert staying.recv(100).startswith(b"HTTP/1.1 200 ")
    staying.close()
    assert (len(upstream.calls), upstream.abandoned) == (1, 0)


def test_a_failure_is_told_to_all_and_kept_for_nobody(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The next request draws anew."""
    upstream.enqueue(fails(429, {"error": {"message": "slow down"}}))
    upstream.default = says("Canberra.")
    client = client_of(serve(sampling={"cache": {"ttl_s": 60}}))
    with pytest.raises(Exception, match="slow down"):
        _ask(client)
    assert _ask(client).model_extra["hedgerow"].get("samples_from") is None


def test_a_cache_in_memory(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A later equal request draws nothing until the set is too old; another client's does, unless keys share that the upstream does not see."""
    upstream.default = says("Canberra.", "Sydney.")
    address = serve(sampling={"cache": {"ttl_s": 3.0}})
    client, other = client_of(address), client_of(address, api_key="sk-other")
    first, second = _ask(client), _ask(client)
    assert second.model_extra["hedgerow"]["samples_from"] == "cache"
    assert second.choices[0].message.content == first.choices[0].message.content
    assert len(upstream.calls) == 1
    _ask(other)
    assert len(upstream.calls) == 2
    time.sleep(3.1)
    _ask(client)
    assert len(upstream.calls) == 3
    between = {"cache": {"ttl_s": 60, "share_between_keys": True, "max_entries": 1}}
    for settings, calls in (({"api_key": "sk-ours"}, 1), ({}, 2)):  # the upstream cannot tell them apart, or can
        upstream.calls.clear()
        shared = serve(sampling=between, upstream_settings=settings)
        for key in ("sk-a", "sk-b"):
            _ask(client_of(shared, api_key=key))
        assert len(upstream.calls) == calls


def test_a_cache_is_bounded_in_bytes() -> None:
    """Long answers take no more memory than short ones: the oldest go, and one that is larger than all does not push the others out."""

    async def kept() -> list[str]:
        cache = cache_module.MemoryCache(600.0, 1024)
        for number in range(8):
            await cache.put(f"{number}", [{"text": "x" * (cache_module.MOST_BYTES // 5)}])
            await cache.put("0", [{"text": "short"}])
        await cache.put("huge", [{"text": "x" * cache_module.MOST_BYTES}])
        return [key for key in (*map(str, range(8)), "huge") if await cache.get(key) is not None]

    assert asyncio.run(kept()) == ["0", "4", "5", "6", "7"]


def test_what_is_erased_is_not_kept_for_equal_requests(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """An operator erases an answer; the next equal request does not get it from the cache."""
    upstream.default = says("Canberra.", "Sydney.")
    address = serve(sampling={"cache": {"ttl_s": 600}}, settings={"server": {"admin_key": "adm-of-these-tests"}})
    client = client_of(address)
    name = _ask(client).model_extra["hedgerow"]["id"]
    assert _ask(client).model_extra["hedgerow"]["samples_from"] == "cache"
    gone = httpx.delete(f"{address}/v1/audit/{name}", headers={"authorization": "Bearer adm-of-these-tests"})
    assert gone.json()["erased"] is True
    assert len(upstream.calls) == 1
    assert "samples_from" not in _ask(client).model_extra["hedgerow"]
    assert len(upstream.calls) == 2


def test_a_cache_in_redis(serve: Any, client_of: Any, upstream: Upstream, redis_url: str) -> None:
    """Two proxies before one Redis draw once."""
    upstream.default = says("Canberra.", "Sydney.")
    cache = {"store": "redis", "url": redis_url, "ttl_s": 60}
    for _ in range(2):
        field = _ask(client_of(serve(sampling={"cache": cache}))).model_extra["hedgerow"]
    assert field["samples_from"] == "cache"
    assert len(upstream.calls) == 1


def test_equal_requests_at_once_at_two_proxies_draw_once(
    serve: Any, client_of: Any, upstream: Upstream, redis_url: str
) -> None:
    """Each waits for the one that was first, whose answer alone counts the tokens of the samples."""
    released = threading.Event()

    async def held(_request: Any, body: Any) -> JSONResponse:
        await asyncio.to_thread(released.wait, 60)
        return JSONResponse(completion(*["Canberra.", "Sydney."] * (body["n"] // 2)))

    upstream.default = held
    cache = {"store": "redis", "url": redis_url, "ttl_s": 60}
    addresses = [serve(sampling={"cache": cache}) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(_ask, client_of(address)) for address in addresses * 2]
        for address in addresses:
            until(lambda at=address: "hedgerow_requests_in_flight 2.0" in httpx.get(f"{at}/metrics").text)  # type: ignore[misc]
        released.set()
        fields = [one.result().model_extra["hedgerow"] for one in asked]
    assert len(upstream.calls) == 1
    assert sorted(one.get("samples_from", "upstream") for one in fields) == ["shared"] * 3 + ["upstream"]
    assert sum(one["usage"]["samples"]["completion_tokens"] > 0 for one in fields) == 1
    assert all(one["clusters"] == [5, 5] for one in fields)


def test_a_cache_out_of_reach_is_a_miss(
    serve: Any, client_of: Any, upstream: Upstream, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests are answered, the log says once why nothing is kept, and nobody waits for the server again before its rest is over."""
    pytest.importorskip("redis")
    monkeypatch.setattr(redis_module, "DOWN_S", 3600.0)
    monkeypatch.setattr(redis_module, "LONGEST_DOWN_S", 3600.0)
    upstream.default = says("Canberra.", "Sydney.")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    cache = {"store": "redis", "url": f"redis://127.0.0.1:{port}/0"}
    client = client_of(serve(sampling={"cache": cache}))
    for _ in range(2):
        assert _ask(client).model_extra["hedgerow"]["status"] == "hedged"
    assert len(upstream.calls) == 2
    assert [line["problem"] for line in lines.of("problem")] == ["unchecked-cache:test"]
