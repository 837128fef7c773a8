"""Bad input and bad upstreams: each gets one clear error object and an audit row; nothing hangs, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion, fails, never, raw, says, stream_chunks
from tests.support.waiting import until

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
CHAT = "/v1/chat/completions"
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def rows_of(tmp_path: Any, expected: int) -> list[dict[str, Any]]:
    """The audit's rows with their texts, once as many are there as are expected."""
    import sqlite3

    def read() -> list[dict[str, Any]]:
        with closing(sqlite3.connect(tmp_path / "audit.db")) as connection:
            connection.row_factory = sqlite3.Row
            rows = connection.execute("SELECT * FROM answers LEFT JOIN texts ON answer_id = id ORDER BY created_at")
            return [dict(row) for row in rows]

    return until(read, lambda rows: len(rows) >= expected)


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        (b"", "invalid_json", 400),
        (b'{"messages": [', "invalid_json", 400),
        (b"\xff\xfe\x00", "invalid_json", 400),
        (b'{"messages": [{"role": "user", "content": "\xc3\x28"}]}', "invalid_json", 400),
        (b"[1, 2]", "invalid_json", 400),
        (b"{}", "missing_field", 400),
        (b'{"messages": "hello"}', "invalid_type", 400),
        (b'{"messages": []}', "empty_messages", 400),
        (b'{"messages": ["hello"]}', "invalid_type", 400),
        (b'{"messages": [{"content": "x"}]}', "invalid_type", 400),
        (b'{"messages": [{"role": "user", "content": 5}]}', "invalid_type", 400),
        (b'{"model": 5, "messages": [{"role": "user", "content": "x"}]}', "invalid_type", 400),
        (b'{"stream": "yes", "messages": [{"role": "user", "content": "x"}]}', "invalid_type", 400),
        (b'{"n": "two", "messages": [{"role": "user", "content": "x"}]}', "invalid_type", 400),
        (b'{"n": 0, "messages": [{"role": "user", "content": "x"}]}', "bad_request", 400),
        (b'{"n": -1.0, "messages": [{"role": "user", "content": "x"}]}', "bad_request", 400),
        (json.dumps({"messages": [{"role": "user", "content": "x"}] * 10_000}).encode(), "too_many_messages", 400),
        (b'{"messages": [{"role": "user", "content": "' + b"x" * 100_000 + b'"}]}', "payload_too_large", 413),
    ],
)
def test_a_bad_body_is_answered_with_one_error_object(
    serve: Any, tmp_path: Any, body: bytes, code: str, status: int
) -> None:
    """The client learns what is wrong, and the audit has a row that says so."""
    limit = 50_000 if code == "payload_too_large" else 1_000_000
    reply = httpx.post(serve(settings={"server": {"max_body_bytes": limit}}) + CHAT, content=body)
    assert reply.status_code == status
    error = reply.json()["error"]
    assert error["code"] == code
    assert error["type"] == "invalid_request_error"
    assert error["message"]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["http_status"]) == ("failed", code, status)


def test_a_body_over_the_limit_without_a_length_is_stopped(serve: Any) -> None:
    """The limit holds for chunked bodies too."""
    address = serve(settings={"server": {"max_body_bytes": 10_000}})
    reply = httpx.post(address + CHAT, content=(b"x" * 1000 for _ in range(50)))
    assert reply.status_code == 413


def test_a_request_that_no_route_takes(serve: Any, client_of: Any, tmp_path: Any) -> None:
    """The message names the model."""
    address = serve(match={"model": "gpt-*"})
    with pytest.raises(openai.NotFoundError, match="no route takes the model 'claude-9'"):
        client_of(address).chat.completions.create(model="claude-9", messages=ASK)
    (row,) = rows_of(tmp_path, 1)
    assert row["reason"] == "no_route"


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
def test_an_error_of_the_upstream_reaches_the_client_as_it_was(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, status: int
) -> None:
    """Status, body and Retry-After are the upstream's; `on` and `off` alike."""
    body = {"error": {"message": "the upstream's own words", "type": "t", "param": None, "code": "c"}}
    upstream.default = fails(status, body, {"retry-after": "7"})
    for mode in ("on", "off"):
        address = serve(mode=mode)
        with pytest.raises(openai.APIStatusError) as caught:
            client_of(address).chat.completions.create(model="m", messages=ASK)
        assert caught.value.status_code == status
        assert caught.value.response.json() == body
        assert caught.value.response.headers["retry-after"] == "7"
    rows = rows_of(tmp_path, 2)
    assert [row["http_status"] for row in rows] == [status, status]


@pytest.mark.parametrize(("said", "status"), [(429, 429), ("overloaded", 502), (None, 502), (200, 502)])
@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_an_error_with_status_200_is_an_error_in_the_upstreams_words(
    serve: Any, upstream: Upstream, tmp_path: Any, path: str, said: Any, status: int
) -> None:
    """Some providers answer so; the status that the error names becomes the answer's."""
    body = {"error": {"code": said, "message": "Provider returned error"}, "user_id": "u"}
    upstream.default = lambda *_: JSONResponse(body)
    ask = {"model": "m", "messages": ASK, "input": ASK[0]["content"], "max_tokens": 9}
    got = httpx.post(f"{serve()}/v1/{path}", json=ask)
    assert (got.status_code, got.json()) == (status, body)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("failed", "upstream_rejected")


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (raw(b"<html>502 Bad Gateway</html>", "text/html"), "upstream_not_json"),
        (raw(b'{"choices": [{"mess'), "upstream_not_json"),
        (raw(b"[]"), "upstream_not_completion"),
        (raw(b'{"id": "x"}'), "upstream_not_completion"),
        (raw(b'{"choices": []}'), "upstream_no_choices"),
    ],
)
def test_an_upstream_that_answers_with_nonsense(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, reply: Any, code: str
) -> None:
    """It is a 502 that says what was wrong, and never quotes it."""
    upstream.default = reply
    with pytest.raises(openai.APIStatusError) as caught:
        client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert caught.value.status_code == 502
    assert caught.value.response.json()["error"]["code"] == code
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("failed", code)


def test_an_upstream_that_never_answers_meets_the_deadline(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """After the deadline the client gets a 504 and the upstream's work is given up."""
    upstream.default = never()
    with pytest.raises(openai.APIStatusError) as caught:
        client_of(serve(deadline_s=0.3)).chat.completions.create(model="m", messages=ASK)
    assert caught.value.status_code == 504
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("failed", "deadline")
    until(lambda: upstream.abandoned == 1)


def test_the_plain_draft_comes_when_too_few_answers_do(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """One answer gives no confidence: the draft is sent as it is, and marked."""
    upstream.enqueue(says("Canberra."))
    upstream.default = fails(500, {"error": {"message": "down"}})
    address = serve(upstream_settings={"honours_n": False, "max_sampling_calls": 1})
    answer = client_of(address).chat.completions.create(model="m", messages=ASK)
    field = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content == "Canberra."
    assert (field["status"], field["reason"]) == ("degraded", "too_few_samples")
    assert "confidence" not in field


def test_on_failure_error_answers_with_an_error(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A route that would rather say nothing than say it uncalibrated."""
    upstream.enqueue(says("Canberra."))
    upstream.default = fails(500, {"error": {"message": "down"}})
    address = serve(on_failure="error", upstream_settings={"honours_n": False, "max_sampling_calls": 1})
    with pytest.raises(openai.InternalServerError) as caught:
        client_of(address).chat.completions.create(model="m", messages=ASK)
    assert caught.value.response.json()["error"]["code"] == "too_few_samples"


def test_an_upstream_that_is_not_there(serve: Any, client_of: Any, lines: Any) -> None:
    """A refused connection is a 502 with its own code; the operator reads why."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for mode in ("on", "off"):
        address = serve(mode=mode, upstream_settings={"base_url": f"http://127.0.0.1:{port}/v1"})
        with pytest.raises(openai.InternalServerError) as caught:
            client_of(address).chat.completions.create(model="m", messages=ASK)
        assert caught.value.status_code == 502
        assert caught.value.response.json()["error"]["code"] == "upstream_unreachable"
        assert "refused" not in caught.value.response.text
    causes = [line["cause"] for line in lines.requests(2)]
    assert causes == ["ConnectionRefusedError: Connection refused"] * 2
    assert httpx.get(address + "/dashboard").status_code == 200


def test_a_call_is_repeated_after_429_and_waits_as_told(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`Retry-After` is honoured, and the client never notices."""
    upstream.enqueue(fails(429, {"error": {"message": "slow down"}}, {"retry-after": "0.2"}))
    upstream.enqueue(fails(503, {"error": {"message": "not yet"}}))
    upstream.default = says(*UNSURE)
    start = time.monotonic()
    address = serve(upstream_settings={"retries": 2})
    answer = client_of(address).chat.completions.create(model="m", messages=ASK)
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert len(upstream.calls) == 3
    assert time.monotonic() - start >= 0.2


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("mode", ["on", "off"])
def test_a_client_that_leaves_ends_the_upstreams_work(
    serve: Any, upstream: Upstream, tmp_path: Any, mode: str, stream: bool
) -> None:
    """The upstream's call is cancelled and the audit still has its row."""
    upstream.default = never()
    address = serve(mode=mode)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(address + CHAT, json={"model": "m", "messages": ASK, "stream": stream}, timeout=0.4)
    until(lambda: upstream.abandoned == 1)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("cancelled", "client_gone")


def test_a_client_that_leaves_after_a_large_body_is_noticed(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Reading pauses while a body comes faster than it is taken in; it must go on, or nobody would hear of the client's leaving."""
    upstream.default = never()
    parts = urlsplit(serve(mode="off"))
    body = json.dumps({"model": "m", "messages": ASK, "metadata": {"padding": "x" * 300_000}}).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection((str(parts.hostname), parts.port or 80), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        until(lambda: len(upstream.calls) == 1)
    until(lambda: upstream.abandoned == 1)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("cancelled", "client_gone")


@pytest.mark.parametrize("declared", [True, False])
def test_half_a_stream_is_told_as_an_error(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, declared: bool
) -> None:
    """An upstream that breaks off in the middle: the client gets the chunks so far and then an error, never a short answer."""

    class Broken:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            headers = [(b"content-type", b"text/event-stream")] + [(b"content-length", b"5000")] * declared
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            chunk = f"data: {json.dumps(stream_chunks('Canberra.')[1])}\n\n".encode()
            await send({"type": "http.response.body", "body": chunk, "more_body": True})

    upstream.default = lambda _request, _body: Broken()
    stream = client_of(serve(mode="off")).chat.completions.create(model="m", messages=ASK, stream=True)
    with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
        list(stream)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("failed", "upstream_broken")


def test_no_text_and_no_key_in_the_log(serve: Any, client_of: Any, upstream: Upstream, lines: Any) -> None:
    """Neither in the line of a good request, nor in that of a failed one, nor where a step breaks."""
    upstream.default = says(*UNSURE)
    client_of(serve(), api_key="sk-very-secret-key-1").chat.completions.create(model="m", messages=ASK)
    upstream.default = fails(500, {"error": {"message": "Canberra sk-very-secret-key-1"}})
    with pytest.raises(openai.InternalServerError):
        client_of(serve(), api_key="sk-very-secret-key-1").chat.completions.create(model="m", messages=ASK)
    assert len(lines.requests(2)) == 2
    text = json.dumps(list(lines), default=str)
    assert "Canberra" not in text
    assert "capital" not in text
    assert "secret" not in text


def test_a_fault_of_a_step_leaves_the_draft(
    serve: Any, client_of: Any, upstream: Upstream, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug of ours is logged with its cause and costs the client nothing but the hedge."""
    from hedgerow.lexicon import Retriever

    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(Retriever, "nearest", broken)
    upstream.default = says(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    field = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content == "Canberra."
    assert (field["status"], field["reason"]) == ("degraded", "step_fault")
    (line,) = lines.of("step_failed")
    assert "ZeroDivisionError" in line["exception"]


def test_a_fault_of_the_reader_costs_a_figure_and_not_the_answer(
    serve: Any, client_of: Any, upstream: Upstream, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How sure the draft's own words sound is read for the record once the answer is settled; that it cannot be read takes nothing from the client."""

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("hedgerow.proxy.pipeline.run._perceived", broken)
    upstream.default = says(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert "Canberra" in answer.choices[0].message.content
    (line,) = lines.of("answer_not_read")
    assert "ZeroDivisionError" in line["exception"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_without_end_is_given_up(serve: Any, upstream: Upstream, tmp_path: Any, stream: bool) -> None:
    """A body of 200 MB took 1.7 GB here. Passed on as it comes it costs nothing, and is."""
    long = "Canberra. " * 2000
    limit = {"max_answer_bytes": 4096}
    upstream.default = says(long)
    body = {"model": "m", "messages": ASK} | ({"stream": True} if stream else {})
    reply = httpx.post(serve(upstream_settings=limit) + CHAT, json=body)
    assert reply.status_code == 502
    assert "more than 4096 bytes" in reply.text
    assert '"upstream_broken"' in reply.text
    passed = httpx.post(serve(mode="off", upstream_settings=limit) + CHAT, json=body)
    assert len(passed.content) > 20_000
    assert [row["status"] for row in rows_of(tmp_path, 2)] == ["failed", "passed"]


def test_many_requests_at_once(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Sixty-four at once, each with its own answer and its own row."""

    async def echo(_request: Any, body: Any) -> Any:
        await asyncio.sleep(0.01)
        word = body["messages"][-1]["content"].split()[-1]
        return JSONResponse(completion(*[f"The word is {word}."] * (body["n"] - 1), "No idea."))

    upstream.default = echo
    address = serve()

    async def ask(client: httpx.AsyncClient, i: int) -> bool:
        body = {"model": "m", "messages": [{"role": "user", "content": f"Which word is word{i}"}]}
        reply = await client.post(address + CHAT, json=body)
        return re.search(rf"\bword{i}\b", reply.json()["choices"][0]["message"]["content"]) is not None

    async def run() -> list[bool]:
        async with httpx.AsyncClient(timeout=60) as client:
            return await asyncio.gather(*(ask(client, i) for i in range(64)))

    assert all(asyncio.run(run()))
    assert len({row["id"] for row in rows_of(tmp_path, 64)}) == 64


class _Status999(BaseHTTPRequestHandler):
    """Answers with a status that servers of ours refuse to send."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.wfile.write(b"HTTP/1.1 999 Request denied\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")


@pytest.mark.parametrize("mode", ["off", "on"])
def test_a_status_that_http_does_not_have(serve: Any, tmp_path: Any, mode: str) -> None:
    """An error object instead of a closed connection."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Status999) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            upstream = {"base_url": f"http://127.0.0.1:{server.server_port}/v1"}
            address = serve(mode=mode, upstream_settings=upstream)
            reply = httpx.post(address + CHAT, json={"model": "m", "messages": ASK}, timeout=30)
        finally:
            server.shutdown()
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_broken")
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("failed", "upstream_broken")


def test_headers_of_ours_are_not_taken_from_an_upstream(serve: Any, upstream: Upstream) -> None:
    """Whatever an upstream claims in `x-hedgerow-...`, a client reads there only what the proxy says."""
    claims = {"X-Hedgerow-Confidence": "0.99", "x-hedgerow-status": "hedged", "x-request-id": "r1"}
    upstream.default = lambda _request, _body: JSONResponse(completion("Canberra."), headers=claims)
    reply = httpx.post(serve(mode="off") + CHAT, json={"model": "m", "messages": ASK}, timeout=30)
    assert reply.headers["x-request-id"] == "r1"
    assert not [name for name in reply.headers if name.startswith("x-hedgerow-")]
