"""JSON that parses, however odd, is answered: it goes on as it came, or one sentence refuses it. Nothing of it is a fault of ours."""

from __future__ import annotations

import base64
import json
import socket
from itertools import product
from typing import Any

import httpx
import pytest
from starlette.responses import Response

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, fails, raw
from tests.support.waiting import until
from tests.support.wire import ask, connect, head

DEEP = "[" * 300 + "1" + "]" * 300
HALF = '"\\ud83d"'
MESSAGES = '"messages": [{"role": "user", "content": "What is the capital of Australia?"}]'
INPUT = '"input": "What is the capital of Australia?"'
CALL = f'"messages": [{{"role": "assistant", "content": [{{"type": "tool_use", "id": "a", "name": "b", "input": {DEEP}}}]}}, {{"role": "user", "content": "x"}}]'
ODD = [
    ("chat/completions", f'{{"model": {HALF}, {MESSAGES}}}'),
    ("chat/completions", f'{{"user": {HALF}, "safety_identifier": {HALF}, "model": "m", {MESSAGES}}}'),
    ("chat/completions", f'{{"model": {{"a": {HALF}}}, "user": {2**70}, {MESSAGES}}}'),
    ("chat/completions", f'{{"model": {{"a": {2**70}}}, "x": {HALF}, {MESSAGES}}}'),
    ("chat/completions", f'{{"model": "m", "metadata": {{"user_id": {HALF}}}, {MESSAGES}}}'),
    ("chat/completions", f'{{"model": "m", "x": {2**70}, "y": 1{"0" * 400}, {MESSAGES}}}'),
    ("chat/completions", f'{{"model": "m", "x": {DEEP}, {MESSAGES}}}'),
    ("chat/completions", f'{{"model": "m", "tools": [{{"function": {DEEP}}}], {MESSAGES}}}'),
    ("chat/completions", f'{{"x": {"[" * 800}1{"]" * 800}, {MESSAGES}}}'),
    ("completions", f'{{"model": "m", "prompt": {HALF}}}'),
    ("responses", f'{{"model": "m", "input": [{{"type": "function_call", "name": "b", "arguments": {DEEP}}}]}}'),
    ("responses", f'{{"model": {HALF}, {INPUT}}}'),
    ("messages", f'{{"model": "m", "max_tokens": 9, {CALL}}}'),
    ("messages", f'{{"model": "m", "max_tokens": 9, "metadata": {{"user_id": {HALF}}}, {MESSAGES}}}'),
]


@pytest.mark.parametrize(("mode", "converts", "model"), [(*pair, None) for pair in product(("off", "shadow", "on"), ([], ["responses", "messages"]))] + [("off", [], "real")])  # fmt: skip
def test_an_odd_body_is_no_fault_of_ours(
    serve: Any, upstream: Upstream, lines: Any, mode: str, converts: list[str], model: str | None
) -> None:
    """In every mode, of every endpoint, asked in its own words or in chat's, under its own name or another."""
    upstream.default = raw(json.dumps(completion("Canberra.")).encode())
    address = serve(mode=mode, model=model, upstream_settings={"converts": converts})
    for path, body in ODD:
        for stream in ("false", "true"):
            sent = f'{{"stream": {stream}, {body[1:]}'.encode()
            reply = httpx.post(f"{address}/v1/{path}", content=sent, headers={"content-type": "application/json"})
            assert reply.status_code in (200, 400, 502), (path, body[:200], reply.text)
            if reply.status_code != 200:
                assert reply.json()["error"]["message"]
            if mode == "off" and not converts and model is None:
                assert upstream.raw_bodies[-1] == sent
    assert lines.of("request_fault") == []


@pytest.mark.parametrize("text", [DEEP, json.dumps({"a": "b"})[:-1] + f', "c": {DEEP}}}', f'{{"a": {2**70}}}'])
@pytest.mark.parametrize("kind", ["text", "call"])
def test_an_odd_answer_is_no_fault_of_ours(
    serve: Any, upstream: Upstream, lines: Any, tmp_path: Any, text: str, kind: str
) -> None:
    """JSON as the text of an answer, and as the arguments of a call."""
    answer = completion(*[text] * 10)
    if kind == "call":
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
        for number, choice in enumerate(answer["choices"]):
            other = call | {"function": call["function"] | {"arguments": text if number % 2 else f"[{text}]"}}  # type: ignore[operator]
            choice["message"] |= {"content": None, "tool_calls": [other]}
    upstream.default = raw(json.dumps(answer).encode())
    address = serve(tool_calls="measure", policy={"calls": "ask"})
    ask_it: Any = {"model": "m", "messages": [{"role": "user", "content": "Which city? Answer in JSON."}]}
    ask_it |= {"tools": [{"type": "function", "function": {"name": "f"}}]} if kind == "call" else {}
    reply = httpx.post(address + "/v1/chat/completions", json=ask_it)
    assert reply.status_code == 200, reply.text
    assert rows_of(tmp_path, 1)[0]["status"] != "failed"
    assert not [line for line in lines if line["event"] in ("request_fault", "step_failed")]


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("stream", [False, True])
def test_an_odd_error_of_an_upstream_in_other_words(
    serve: Any, upstream: Upstream, lines: Any, mode: str, stream: bool
) -> None:
    """It keeps its status."""
    upstream.default = fails(422, {"error": {"message": "no", "x": json.loads(DEEP)}})
    address = serve(mode=mode, upstream_settings={"converts": ["messages"]})
    body = {"model": "m", "max_tokens": 9, "stream": stream, "messages": [{"role": "user", "content": "Which city?"}]}
    assert httpx.post(address + "/v1/messages", json=body).status_code == 422
    assert lines.of("request_fault") == []


@pytest.mark.parametrize(
    "data",
    [DEEP, "[" * 100_000, "9" * 5000, f"1{'0' * 400}", HALF, "NaN", "1e999", "{", f'{{"id": {HALF}, "correct": true}}', f'{{"id": "x", "correct": 1{"0" * 350}}}'],
    ids=range(10),
)  # fmt: skip
def test_our_own_endpoints_refuse_in_our_form(serve: Any, lines: Any, data: str) -> None:
    """An error object with a sentence, whatever the libraries make of it."""
    address = serve(mode="off", settings={"server": {"admin_key": "an-admin-key-of-the-tests"}})
    headers = {"content-type": "application/json", "authorization": "Bearer an-admin-key-of-the-tests"}
    for path in ("feedback", "perceive", "admin/routes/test/mode", "admin/review/hr_x", "admin/keys"):
        reply = httpx.post(f"{address}/v1/{path}", content=data.encode(), headers=headers)
        assert reply.status_code in (400, 422), (path, reply.text)
        assert reply.json()["error"]["message"], path
    assert lines.of("request_fault") == []


def test_a_body_for_us_has_a_limit(serve: Any) -> None:
    """Like one for an upstream."""
    address = serve(mode="off", settings={"server": {"max_body_bytes": 10_000}})
    reply = httpx.post(address + "/v1/feedback", content=b" " * 20_000, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_may_name_a_length(
    serve: Any, upstream: Upstream, lines: Any, tmp_path: Any, status: int, mode: str
) -> None:
    """That of what would have come; the connection goes on."""

    def reply(_request: Any, _body: Any) -> Any:
        return Response(status_code=status, headers={"content-length": "100", "etag": '"a"'})

    upstream.default = reply
    with httpx.Client(base_url=serve(mode=mode)) as client:
        for _ in range(2):
            came = client.get("/v1/files/x", headers={"if-none-match": '"a"'})
            assert (came.status_code, came.headers["etag"], came.content) == (status, '"a"', b"")
            assert "connection" not in came.headers
    assert [(row["status"], row["http_status"]) for row in rows_of(tmp_path, 2)] == [("passed", status)] * 2
    assert lines.of("request_fault") == []


ADMIN = {"server": {"admin_key": "an-admin-key-of-the-tests"}}
MIDDLES = ["5", "null", "1.5", "true", '"ab"', "[]", "{}", "[1,2,3]", '["key",[],"viewer"]', '["key",{},"viewer"]', '["admin",null,[]]', '["oidc",5,"operator"]', "[" * 2000, '{"a":1,"b":2,"c":3}', '["key","\\ud83d","viewer"]']  # fmt: skip


@pytest.mark.parametrize("settings", [{}, ADMIN])
def test_any_cookie_is_answered(serve: Any, lines: Any, settings: Any) -> None:
    """Signed by nobody: the visitor is one who has not signed in."""
    address = serve(mode="off", settings=settings)
    for middle in MIDDLES:
        packed = base64.urlsafe_b64encode(middle.encode()).decode().rstrip("=")
        for cookie in (f"9999999999.x.{packed}.y", f"{packed}.{packed}.{packed}", packed, f"x.{packed}.\xe9"):
            lines_of = (f"cookie: hedgerow_session={cookie}; hedgerow_sign_in={cookie}",)
            for method, target in (("GET", "/dashboard"), ("POST", "/sign-out"), ("GET", "/sign-in/oidc/back?code=x")):
                reply = ask(address, method, target, *lines_of, body=b"" if method == "POST" else None)
                assert reply.status < 500, (middle, target, reply)
    assert lines.of("request_fault") == []


@pytest.mark.parametrize("target", ["/verdict", "/sign-in", "/try", "/v1/feedback"])
def test_a_client_that_leaves_in_the_body_is_no_fault(serve: Any, lines: Any, target: str) -> None:
    """Nobody is there to answer, and nothing is wrong."""
    address = serve(mode="off")
    with connect(address) as connection:
        kind = "application/json" if target.startswith("/v1") else "application/x-www-form-urlencoded"
        connection.sendall(head(address, "POST", target, f"content-type: {kind}", "content-length: 100") + b"csrf=")
        connection.shutdown(socket.SHUT_RDWR)
    until(lambda: httpx.get(address + "/health").status_code == 200)
    assert lines.of("request_fault") == []
