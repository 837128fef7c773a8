"""Clients that leave before the end of their answers, and answers that break off or cannot be read: nothing of that is free."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response, StreamingResponse

from hedgerow.proxy.gateway.relayed import Copy
from tests.contract.test_keys import ASK, at
from tests.support.keys import in_one_day, in_one_minute, new_key
from tests.support.tables import cases
from tests.support.upstream import Upstream, completion, fails, raw, says, stream_chunks
from tests.support.waiting import until

CHAT = "/v1/chat/completions"
AT_ONCE = 64
TEXT = "word " * 3200
USAGE = (70, 3930)
COST = sum(USAGE)
LIMIT = 12 * COST + 500


class Scripted:
    """Answers of 4,000 tokens, of which the last byte is held back as long as the client is there; also as single samples."""

    def __init__(self, upstream: Upstream) -> None:
        self.spent, self.calls = 0, upstream.calls
        upstream.default = self

    def __call__(self, _request: Any, body: Any) -> Response:
        if not body.get("stream") and (n := body.get("n")):  # a sampling call
            usage = USAGE[0], USAGE[1] // n
            self.spent += usage[0] + n * usage[1]
            return JSONResponse(completion(*["Canberra."] * n, usage=usage))
        self.spent += COST
        answer = completion(TEXT, usage=USAGE)
        if not body.get("stream"):
            return held_back(json.dumps(answer).encode(), "application/json")
        counted = bool((body.get("stream_options") or {}).get("include_usage"))
        head = {key: answer[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
        if counted:
            head |= {"usage": None}
        chunks = [head | {"choices": [{"index": 0, "delta": {"content": TEXT[i : i + 4000]}, "finish_reason": None}]} for i in range(0, len(TEXT), 4000)]  # fmt: skip
        chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        if counted:
            chunks.append(head | {"choices": [], "usage": answer["usage"]})
        events = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
        return held_back(events + b"data: [DONE]\n\n", "text/event-stream")


def held_back(data: bytes, kind: str) -> Response:
    """All but the last byte."""

    async def body() -> AsyncIterator[bytes]:
        yield data[:-1]
        await asyncio.sleep(600)

    length = {} if kind == "text/event-stream" else {"content-length": str(len(data))}
    return StreamingResponse(body(), media_type=kind, headers=length)


async def leave(client: httpx.AsyncClient, address: str, enough: bytes, secret: str = "", **more: Any) -> int:
    """Read until `enough` has come, or all of a declared length but the last byte, and leave; the status."""
    number = more.pop("number", 0)
    asked = {**ASK, "messages": [{"role": "user", "content": f"What is the capital of Australia? ({number})"}], **more}
    headers = {"authorization": f"Bearer {secret}"} if secret else {}
    async with client.stream("POST", address + CHAT, json=asked, headers=headers) as reply:
        if reply.status_code != 200:
            return reply.status_code
        length, data = int(reply.headers.get("content-length", 1 << 60)), b""
        async for piece in reply.aiter_raw():
            data += piece
            if len(data) >= length - 1 or enough in data:
                return 200
    return 200


def flood(address: str, enough: bytes, secret: str = "", **more: Any) -> list[int]:
    """One who leaves early, and then so many at once: how each was answered."""

    async def all_of_them() -> list[int]:
        limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=0)
        async with httpx.AsyncClient(timeout=60, limits=limits) as client:
            first = await leave(client, address, enough, secret, **more)
            await asyncio.to_thread(until, lambda: "hedgerow_requests_total{" in httpx.get(f"{address}/metrics").text)
            return [first, *await asyncio.gather(*(leave(client, address, enough, secret, number=i, **more) for i in range(1, 100)))]  # fmt: skip

    return asyncio.run(all_of_them())


@pytest.mark.parametrize(
    ("mode", "more", "enough"),
    [
        ("off", {}, b"never"),
        ("off", {"stream": True}, b"data: [DONE]"),
        ("off", {"stream": True, "stream_options": {"include_usage": True}}, b"data: [DONE]"),
        ("append", {"stream": True}, b"word word "),
        ("on", {}, b"never"),
        ("on", {"stream": True}, b"Canberra"),
        ("shadow", {"stream": True}, b"data: [DONE]"),
    ],
)
def test_limits_hold_where_everybody_leaves_one_byte_early(
    serve: Any, upstream: Upstream, tmp_path: Path, mode: str, more: dict[str, Any], enough: bytes
) -> None:
    """64 clients: what the upstream has given stays under the limit, within one request; afterwards nothing is admitted."""
    scripted, url = Scripted(upstream), f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", tokens_per_minute=LIMIT)
    route = {"mode": "on", "stream": "append"} if mode == "append" else {"mode": mode}
    address = serve(settings=at(url, tmp_path), sampling={"n": 3, "min_n": 2, "share": False}, **route)
    in_one_minute(30.0)
    statuses = flood(address, enough, secret, **more)
    assert set(statuses) == {200, 429}
    one = 2 * COST if mode == "append" else COST  # its samples have come, and nobody reads them
    assert LIMIT - (5 if mode == "shadow" else 3) * COST < scripted.spent <= LIMIT + one
    until(
        lambda: httpx.post(address + CHAT, json=ASK, headers={"authorization": f"Bearer {secret}"}).status_code == 429
    )


def test_a_budget_holds_where_everybody_leaves_early(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Before their answers are there, and one byte before their end: what nobody could count stays counted as it was reserved."""
    in_one_day()
    scripted = Scripted(upstream)
    one = USAGE[0] + 3 * (USAGE[1] // 3)
    address = serve(settings={"budgets": [{"route": "test", "hard": 12 * one + 50}]}, sampling={"n": 3, "min_n": 2})
    flood(address, b"never")
    calibrated = sum(1 for call in upstream.calls if call.get("n"))
    assert calibrated == 12
    assert scripted.spent - (len(upstream.calls) - calibrated) * COST <= 12 * one + 50
    late = asyncio.Event()

    async def slow(_request: Any, body: Any) -> Response:
        await asyncio.wait_for(late.wait(), 60)
        return Response()

    upstream.default = slow
    other = serve(
        settings={"budgets": [{"route": "test", "hard": 10_000}], "audit": {"url": f"sqlite:///{tmp_path}/b.db"}}
    )
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(other + CHAT, json={**ASK, "max_tokens": 300}, timeout=0.5)

    def used() -> tuple[float, float]:
        with sqlite3.connect(tmp_path / "b.db") as store:
            row: tuple[float, float] = store.execute("SELECT sum(used), sum(held) FROM spending").fetchone()
        return row

    spent, _ = until(used, lambda counts: counts[0] and not counts[1])
    assert 10 * 300 <= spent < 10 * 300 + 1000


def unfinished(text: str) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in stream_chunks(text)[:-1])


@pytest.mark.parametrize(
    ("reply", "counted"),
    [
        (raw(json.dumps(completion("Canberra.", usage=USAGE)).encode()), 4000),
        (raw(unfinished("word " * 4000), "text/event-stream"), 5000),
        (raw(b"<html>" + b"x" * 16_000), 4000),
        (raw(json.dumps(completion("word " * 4000)).encode()[:-40]), 5000),
        (lambda _request, _body: Response(gzip.compress(json.dumps(completion("Canberra.", usage=USAGE)).encode()), media_type="application/json", headers={"content-encoding": "gzip"}), 4000),
        (lambda _request, _body: Response(b"\x28\xb5\x2f\xfd" + b"z" * 400, media_type="application/json", headers={"content-encoding": "zstd"}), 1000),
        (raw(b"data: {\"error\": {\"message\": \"no\"}}\n\n", "text/event-stream"), 0),
        (fails(500, {"error": {"message": "no"}}), 0),
    ],
    ids=["whole", "broken stream", "no json", "broken object", "gzip", "zstd", "refused in a stream", "refused"],
)  # fmt: skip
def test_what_cannot_be_read_is_not_free(
    serve: Any, upstream: Upstream, tmp_path: Path, reply: Any, counted: int
) -> None:
    """It counts by its size, and by no less than was reserved where it is not whole; what the upstream refused counts nothing."""
    upstream.default = reply
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", tokens_per_minute=50_000)
    address = serve(settings=at(url, tmp_path), mode="off")
    in_one_minute()
    headers = {"authorization": f"Bearer {secret}"}
    for _ in range(2):
        with httpx.stream("POST", address + CHAT, json=ASK, headers=headers) as answer:
            assert b"".join(answer.iter_raw())
        until(lambda: "hedgerow_requests_total{" in httpx.get(f"{address}/metrics").text)
    left = int(answer.headers["x-ratelimit-remaining-tokens"])  # after the first, and with as much reserved as it took
    reserved = max(counted, 1000)
    assert abs(50_000 - left - counted - reserved) <= 2 * 60


@pytest.mark.parametrize("asks", [False, True])
def test_append_asks_for_usage_and_keeps_it_from_a_client_that_did_not(
    serve: Any, upstream: Upstream, client_of: Any, tmp_path: Path, asks: bool
) -> None:
    """The answer's tokens are known to us; the client's stream is as it would be."""

    def reply(request: Any, body: Any) -> Any:
        if not body.get("stream"):
            return says("Canberra.", "Sydney.")(request, body)
        usage = {"prompt_tokens": 70, "completion_tokens": 30, "total_tokens": 100}
        chunks = [chunk | {"usage": None} for chunk in stream_chunks("Canberra.")]
        events = [*chunks, chunks[0] | {"choices": [], "usage": usage}]
        return raw(b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + b"data: [DONE]\n\n", "text/event-stream")(request, body)  # fmt: skip

    upstream.default = reply
    address = serve(stream="append")
    options = {"stream_options": {"include_usage": True}} if asks else {}
    chunks = list(client_of(address).chat.completions.create(**ASK, stream=True, **options))
    assert next(call for call in upstream.calls if call.get("stream"))["stream_options"] == {"include_usage": True}
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([100] if asks else [])
    assert any(not chunk.choices for chunk in chunks) is asks
    field = next(chunk.model_extra["hedgerow"] for chunk in chunks if "hedgerow" in chunk.model_extra)
    assert field["usage"]["answer"]["completion_tokens"] == 30
    sent = httpx.post(address + CHAT, json={**ASK, "stream": True, **options}).text
    assert ('"usage"' in sent.replace('"usage":{"answer"', "")) is asks


def test_an_upstream_that_does_not_tell_usage_is_asked_without(serve: Any, upstream: Upstream, client_of: Any) -> None:
    """Once; a request that is refused either way gets the upstream's own error."""

    def reply(request: Any, body: Any) -> Any:
        if "stream_options" in body:
            return fails(400, {"error": {"message": "unknown field stream_options"}})(request, body)
        return says("Canberra.", "Sydney.")(request, body)

    upstream.default = reply
    address = serve(stream="append")
    for _ in range(2):
        chunks = list(client_of(address).chat.completions.create(**ASK, stream=True))
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices).startswith("Canberra.")
    assert ["stream_options" in call for call in upstream.calls if call.get("stream")] == [True, False, False]
    upstream.default = fails(400, {"error": {"message": "no such model"}})
    refused = httpx.post(address + CHAT, json={**ASK, "model": "other", "stream": True})
    assert (refused.status_code, refused.json()["error"]["message"]) == (400, "no such model")


@cases("path", ["/chat/completions", "/responses", "/messages"])
@cases("stream", [False, True])
def test_the_copy_of_a_cut_answer_counts_at_every_byte(path: str, stream: bool) -> None:
    """Wherever an answer is cut: something, and once its usage has come, that."""
    from types import SimpleNamespace

    from tests.contract.test_limits import told_usage

    whole = told_usage(path, stream)(None, None).body
    job: Any = SimpleNamespace(path=path)
    counts = []
    for end in range(len(whole) + 1):
        copy = Copy(40)
        copy.take(whole[:end])
        counts.append(asyncio.run(copy.usage(job, cut=end < len(whole))))
    assert all(usage.total >= 10 for usage, _ in counts)
    assert counts[-1][0].total == 21
    assert counts[-1][1]
    assert all(usage.total == 21 for usage, known in counts if known)
