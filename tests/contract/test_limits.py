"""Limits of named keys, with the real client and 64 connections at once: what gets through, and what the others are answered."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.contract.test_keys import ASK, at
from tests.support.keys import in_one_minute, new_key
from tests.support.upstream import Upstream, completion, fails, never, raw, says, stream_chunks
from tests.support.waiting import until

AT_ONCE = 64


@pytest.fixture
def counting(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Where use is counted: in the process, or in Redis."""
    if request.param == "memory":
        return {"store": "memory"}
    return {"store": "redis", "url": request.getfixturevalue("redis_url")}


both = pytest.mark.parametrize("counting", ["memory", "redis"], indirect=True)


def send(addresses: list[str], secret: str, requests: int, **more: Any) -> list[Any]:
    """So many requests over 64 connections, spread over proxies: the answers, or the errors."""

    async def all_of_them() -> list[Any]:
        clients = [
            openai.AsyncOpenAI(base_url=address + "/v1", api_key=secret, max_retries=0, timeout=60)
            for address in addresses
        ]
        free = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> Any:
            async with free:
                try:
                    return await clients[number % len(clients)].chat.completions.create(**ASK | more)
                except openai.APIStatusError as error:
                    return error

        outcomes = await asyncio.gather(*(one(number) for number in range(requests)))
        await asyncio.gather(*(client.close() for client in clients))
        return outcomes

    return asyncio.run(all_of_them())


def answered(found: list[Any]) -> int:
    """How many were answered; the others must have been told to wait."""
    refused = [each for each in found if isinstance(each, Exception)]
    assert {type(each) for each in refused} <= {openai.RateLimitError}
    return len(found) - len(refused)


@both
def test_no_more_requests_a_minute_than_allowed(
    serve: Any, upstream: Upstream, tmp_path: Path, counting: dict[str, Any]
) -> None:
    """Exactly as many, also where two proxies share a Redis."""
    upstream.default = says("Canberra.")
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", requests_per_minute=100)
    proxies = 2 if counting["store"] == "redis" else 1
    settings = at(url, tmp_path, access={"counting": counting})
    addresses = [serve(settings=settings, mode="off") for _ in range(proxies)]
    in_one_minute()
    outcomes = send(addresses, secret, 300)
    assert answered(outcomes) == 100
    assert len(upstream.calls) == 100
    error = next(each for each in outcomes if isinstance(each, openai.RateLimitError))
    headers = error.response.headers
    assert (error.code, error.type) == ("rate_limit_exceeded", "requests")
    assert (headers["x-ratelimit-limit-requests"], headers["x-ratelimit-remaining-requests"]) == ("100", "0")
    assert 1 <= int(headers["retry-after"]) <= 60
    assert headers["x-ratelimit-reset-requests"] == headers["retry-after"] + "s"
    counted = httpx.get(addresses[0] + "/metrics").text
    assert 'hedgerow_key_refusals_total{key="search",limit="requests",team=""}' in counted


@both
def test_no_more_requests_in_flight_than_allowed(
    serve: Any, upstream: Upstream, tmp_path: Path, counting: dict[str, Any]
) -> None:
    """The upstream never sees more at once; a place is free again when its answer is complete, also for the client that got it."""
    most = slow(upstream)
    url = f"sqlite:///{tmp_path}/audit.db"
    secret, alone = new_key(url, "search", concurrency=5), new_key(url, "alone", concurrency=1)
    address = serve(settings=at(url, tmp_path, access={"counting": counting}), mode="off")
    outcomes = send([address], secret, 200)
    assert 5 <= answered(outcomes) < 200
    assert max(most) == 5
    error = next(each for each in outcomes if isinstance(each, openai.RateLimitError))
    assert (error.type, error.response.headers["retry-after"]) == ("concurrency", "1")
    upstream.default = says("Canberra.")
    with openai.OpenAI(base_url=address + "/v1", api_key=alone, max_retries=0) as client:
        for stream in (False, True) * 10:
            answer = client.chat.completions.create(**ASK, stream=stream)
            if stream:
                assert list(answer)


def test_a_place_is_free_when_its_client_leaves(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """Or when its upstream fails."""
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", concurrency=1)
    address = serve(settings=at(url, tmp_path), mode="off")
    upstream.enqueue(never(), fails(500, {"error": {"message": "no"}}))
    upstream.default = says("Canberra.")
    with openai.OpenAI(base_url=address + "/v1", api_key=secret, max_retries=0) as client:
        with pytest.raises(openai.APITimeoutError):
            client.chat.completions.create(**ASK, timeout=0.5)

        def is_answered() -> bool:
            try:
                return bool(client.chat.completions.create(**ASK))
            except (openai.RateLimitError, openai.InternalServerError):
                return False

        until(is_answered)


@both
@pytest.mark.parametrize(("mode", "cost"), [("off", 100), ("on", 70 + 3 * 30)])
def test_no_more_tokens_a_minute_than_allowed(
    serve: Any, upstream: Upstream, tmp_path: Path, counting: dict[str, Any], mode: str, cost: int
) -> None:
    """Within one request: what is not known yet is set aside, and counted when it is."""
    upstream.default = says("Canberra.", "Sydney.", "Canberra.", usage=(70, 30))
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", tokens_per_minute=3050)
    address = serve(
        settings=at(url, tmp_path, access={"counting": counting}), mode=mode, sampling={"n": 3, "share": False}
    )
    in_one_minute(15.0)
    headers = []
    with openai.OpenAI(base_url=address + "/v1", api_key=secret, max_retries=0) as client:
        for _ in range(2):  # from here on it is known what an answer needs
            headers.append(client.chat.completions.with_raw_response.create(**ASK).headers)
            time.sleep(0.2)
    assert headers[0]["x-ratelimit-limit-tokens"] == "3050"
    outcomes = send([address], secret, 100)
    assert 2 + answered(outcomes) == 3050 // cost
    assert "tokens" in {each.type for each in outcomes if isinstance(each, openai.RateLimitError)}
    counted = httpx.get(address + "/metrics").text
    lines = [line for line in counted.splitlines() if line.startswith("hedgerow_key_tokens_total")]
    assert sum(float(line.split()[-1]) for line in lines) == 3050 // cost * cost


@pytest.mark.parametrize("path", ["/chat/completions", "/responses", "/messages"])
@pytest.mark.parametrize("stream", [False, True])
def test_tokens_of_passed_answers_are_counted_in_every_dialect(
    serve: Any, upstream: Upstream, tmp_path: Path, path: str, stream: bool
) -> None:
    """As the upstream tells them, whole or at the end of a stream."""
    upstream.default = told_usage(path, stream)
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search")
    address = serve(settings=at(url, tmp_path), mode="off")
    headers = {"authorization": f"Bearer {secret}", "accept-encoding": "gzip"}
    body = {"model": "m", "stream": stream, "messages": [], "input": "x", "max_tokens": 9}
    assert httpx.post(address + "/v1" + path, json=body, headers=headers).status_code == 200
    counted = 'hedgerow_key_tokens_total{key="search",purpose="relayed",team=""} 21.0'
    until(lambda: counted in httpx.get(address + "/metrics").text)
    assert upstream.headers[-1]["accept-encoding"] == "identity"


def test_an_upstreams_own_limits_give_way_to_the_keys(serve: Any, upstream: Upstream, tmp_path: Path) -> None:
    """They are of an account that many keys share; a key without limits sees them as they come."""

    def reply(request: Any, body: Any) -> Any:
        answer = says("Canberra.")(request, body)
        answer.headers["x-ratelimit-remaining-requests"] = "9999"
        return answer

    upstream.default = reply
    url = f"sqlite:///{tmp_path}/audit.db"
    limited, free = new_key(url, "limited", requests_per_minute=10), new_key(url, "free")
    address = serve(settings=at(url, tmp_path), mode="off")
    in_one_minute(5.0)
    headers = [
        httpx.post(address + "/v1/chat/completions", json=ASK, headers={"authorization": f"Bearer {secret}"}).headers
        for secret in (limited, free)
    ]
    assert [each.get_list("x-ratelimit-remaining-requests") for each in headers] == [["9"], ["9999"]]


def test_a_redis_out_of_reach_takes_no_model_away(serve: Any, upstream: Upstream, tmp_path: Path, lines: Any) -> None:
    """Requests go on without limits, and the log says so."""
    pytest.importorskip("redis")
    upstream.default = says("Canberra.")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    counting = {"store": "redis", "url": f"redis://127.0.0.1:{port}/0"}
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "search", requests_per_minute=1, concurrency=1, tokens_per_minute=1)
    address = serve(settings=at(url, tmp_path, access={"counting": counting}), mode="off")
    assert answered(send([address], secret, 20)) == 20
    (line,) = lines.of("problem")
    assert (line["problem"], "ConnectionError" in line["reason"]) == ("unchecked-limits", True)


def slow(upstream: Upstream) -> list[int]:
    """Have the upstream take a moment; how many requests it had at once, at each of their beginnings."""
    most, now = [], 0

    async def reply(request: Any, body: Any) -> Any:
        nonlocal now
        now += 1
        most.append(now)
        await asyncio.sleep(0.2)
        now -= 1
        return says("Canberra.")(request, body)

    upstream.default = reply
    return most


def told_usage(path: str, stream: bool) -> Any:
    """A reply of 21 tokens in the words of an endpoint."""
    usage = {"input_tokens": 14, "output_tokens": 7}
    if path == "/chat/completions":
        usage = {"prompt_tokens": 14, "completion_tokens": 7, "total_tokens": 21}
        whole: Any = completion("Canberra.", usage=(14, 7))
        events = [
            *stream_chunks("Canberra."),
            {"id": "x", "object": "chat.completion.chunk", "choices": [], "usage": usage},
        ]
    elif path == "/responses":
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Canberra."}]}
        whole = {"id": "resp_1", "object": "response", "status": "completed", "output": [message], "usage": usage}
        events = [{"type": "response.completed", "response": whole}]
    else:
        part = {"type": "text", "text": "Canberra."}
        whole = {"id": "msg_1", "type": "message", "role": "assistant", "content": [part], "usage": usage}
        start = whole | {"content": [], "usage": {"input_tokens": 14, "output_tokens": 1}}
        events = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Canberra."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
    if not stream:
        return raw(json.dumps(whole).encode())
    named = b"".join(
        (f"event: {event['type']}\n" if "type" in event else "").encode()
        + b"data: "
        + json.dumps(event).encode()
        + b"\n\n"
        for event in events
    )
    return raw(named + (b"data: [DONE]\n\n" if path == "/chat/completions" else b""), kind="text/event-stream")
