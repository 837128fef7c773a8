"""What is wrong, odd or huge, on every path that is calibrated: a clear error or the plain answer, an audit row, and nothing lost."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects import messages, responses
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, says, sse_response, stream_chunks

QUESTION = "What is the capital of Australia?"
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": CHAT,
    "completions": {"model": "m", "prompt": QUESTION},
    "responses": {"model": "m", "input": QUESTION},
    "messages": CHAT | {"max_tokens": 64},
}
WAYS = [("on", "buffer"), ("on", "append"), ("shadow", "buffer")]
NATIVE = ["responses", "messages"]


def canberra(request: Any, body: Any) -> Any:
    """The same answer in the words of whichever path is asked, whole or streamed."""
    path = request.url.path
    if path.endswith("/responses"):
        part = {"type": "output_text", "text": "Canberra.", "annotations": []}
        said = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        made: Any = {"id": "resp_1", "object": "response", "status": "completed", "output": [said]}
        stream = responses.events(made, lambda text: [text])
    elif path.endswith("/messages"):
        made = {"id": "msg_1", "type": "message", "role": "assistant", "stop_reason": "end_turn"}
        made |= {"content": [{"type": "text", "text": "Canberra."}]}
        stream = messages.events(made, lambda text: [text])
    else:
        return says("Canberra.")(request, body)
    return Response(b"".join(stream), media_type="text/event-stream") if body.get("stream") else JSONResponse(made)


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("data", [b"{", b"", b"[1]", b'"x"', b"\xff\xfe", b'{"model": '])
@pytest.mark.parametrize("mode", ["on", "shadow"])
def test_what_is_not_json(serve: Any, upstream: Upstream, tmp_path: Any, path: str, data: bytes, mode: str) -> None:
    """On, the client gets an error; in shadow the upstream is to judge. A row either way."""
    upstream.default = lambda *_: JSONResponse({"error": {"message": "no"}}, 400)
    reply = httpx.post(f"{serve(mode=mode)}/v1/{path}", content=data, headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]
    assert ("type" in reply.json()) == (path == "messages" and mode == "on")
    (row,) = rows_of(tmp_path, 1)
    assert (row["path"], row["http_status"]) == (f"/v1/{path}", 400)
    assert len(upstream.calls) == (mode == "shadow")


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("messages", {"messages": "x"}),
    ("messages", {"messages": []}),
    ("messages", {"messages": [5]}),
    ("messages", {"messages": [{"content": "x"}]}),
    ("messages", {"messages": [{"role": "user", "content": 5}]}),
    ("messages", {"stream": "yes"}),
    ("messages", {"model": 5}),
    ("responses", {"stream": 1}),
    ("responses", {"model": ["m"]}),
    ("chat/completions", {"n": "5", "stream": True}),
    ("chat/completions", {"n": True}),
    ("completions", {"n": [5], "stream": True}),
]


@pytest.mark.parametrize(("path", "wrong"), WRONG)
def test_wrong_types_that_the_pipeline_relies_on(
    serve: Any, upstream: Upstream, tmp_path: Any, path: str, wrong: dict[str, Any]
) -> None:
    """Named with the field, in the words of the endpoint."""
    upstream.default = canberra
    reply = httpx.post(f"{serve()}/v1/{path}", json=BODIES[path] | wrong)
    assert reply.status_code == 400
    assert next(iter(wrong)) in reply.json()["error"]["message"]
    (row,) = rows_of(tmp_path, 1)
    assert row["status"] == "failed"
    assert upstream.calls == []


TOOLS: dict[str, Any] = {
    "responses": [{"type": "function", "name": f"find_{i}", "parameters": {}} for i in range(200)],
    "messages": [{"name": f"find_{i}", "input_schema": {"type": "object"}} for i in range(200)],
    "chat/completions": [{"type": "function", "function": {"name": f"find_{i}"}} for i in range(200)],
}
HUGE = {
    "type": "object",
    "properties": {f"field_{i}": {"type": "string", "description": "x" * 500} for i in range(500)},
}
DEEP: Any = json.loads('{"a":' * 150 + "1" + "}" * 150)
ODD: list[tuple[str, dict[str, Any]]] = [
    *((path, {"tools": tools}) for path, tools in TOOLS.items()),
    *((path, {"tools": [*tools[:1], {"type": "new_kind", "x": DEEP}, None, 5]}) for path, tools in TOOLS.items()),
    ("responses", {"text": {"format": {"type": "json_schema", "name": "x", "schema": HUGE}}}),
    ("messages", {"output_config": {"format": {"type": "json_schema", "schema": HUGE}}}),
    ("chat/completions", {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": HUGE}}}),
    ("responses", {"input": [{"type": "new_kind", "x": 1}, None, {"role": "user", "content": [{"type": "new_part"}]}]}),
    ("responses", {"input": [{"role": 5, "content": 5}, {"type": 5}], "tools": 5, "tool_choice": 5, "reasoning": 5}),
    ("responses", {"input": None, "instructions": 5, "text": [], "include": 5, "metadata": 5, "top_logprobs": "x"}),
    ("messages", {"messages": [{"role": "user", "content": [{"type": "new_block", "x": 1}, None, 5]}]}),
    ("messages", {"system": 5, "tools": 5, "tool_choice": 5, "metadata": 5, "output_config": 5, "max_tokens": "x"}),
    ("messages", {"messages": [{"role": "new_role", "content": None}, {"role": "user", "content": "x"}]}),
    ("chat/completions", {"tools": 5, "response_format": 5, "logit_bias": [], "metadata": 5}),
]


@pytest.mark.parametrize("path", TOOLS)
@pytest.mark.parametrize(("mode", "stream"), WAYS)
@pytest.mark.parametrize("streamed", [False, True])
def test_what_is_odd_or_huge_goes_on_as_it_came(
    serve: Any, upstream: Upstream, tmp_path: Any, path: str, mode: str, stream: str, streamed: bool
) -> None:
    """Kinds that nobody knows are the upstream's to judge; what comes back is its answer."""
    upstream.default = canberra
    address = serve(mode=mode, stream=stream, tool_calls="measure")
    odd = [fields for where, fields in ODD if where == path]
    for fields in odd:
        reply = httpx.post(f"{address}/v1/{path}", json=BODIES[path] | fields | {"stream": streamed}, timeout=30)
        assert reply.status_code == 200, fields
        assert "Canberra." in reply.text, fields
        assert any(call | fields == call for call in upstream.calls), fields
    rows = rows_of(tmp_path, len(odd))
    assert {row["status"] for row in rows} <= {"passed", "plain", "hedged", "degraded"}


@pytest.mark.parametrize("path", NATIVE)
@pytest.mark.parametrize(("mode", "stream"), WAYS)
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_an_upstream_that_answers_with_a_chat(
    serve: Any, upstream: Upstream, tmp_path: Any, path: str, mode: str, stream: str, streamed: bool, whole: bool
) -> None:
    """Shadow changes nothing; on, it is an error with a name, or the stream as it came and an error behind it. No confidence is made of it."""

    def reply(_request: Any, _body: Any) -> Any:
        return JSONResponse(completion("Canberra.")) if whole else sse_response([*stream_chunks("Canberra."), "[DONE]"])

    upstream.default = reply
    address = serve(mode=mode, stream=stream)
    got = httpx.post(f"{address}/v1/{path}", json=BODIES[path] | {"stream": streamed}, timeout=30)
    (row,) = rows_of(tmp_path, 1)
    assert row["alpha"] is None
    relayed = mode == "shadow" or (stream == "append" and streamed)
    if relayed:
        assert got.status_code == 200
        assert "Canberra." in got.text
    else:
        assert got.status_code == 502
        assert (row["status"], row["reason"]) in (("failed", "upstream_not_completion"), ("failed", "upstream_broken"))
    if relayed and mode == "on" and not whole:
        assert "broke off" in got.text
        assert row["status"] == "failed"


@pytest.mark.parametrize(
    "arguments", ["{broken", "", "[]", "5", '{"a": ' + "[" * 150 + "]" * 150 + "}", "null", "\ud800"]
)
def test_calls_whose_arguments_are_odd(serve: Any, upstream: Upstream, tmp_path: Any, arguments: str) -> None:
    """Compared as they are; the user is asked where they differ, and what is asked is text."""
    numbers = iter(range(100))

    def reply(_request: Any, body: Any) -> Any:
        choices = []
        for i in range(body.get("n") or 1):
            called = {"name": f"find_{next(numbers)}", "arguments": arguments}
            message = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": called}]}
            choices.append({"index": i, "finish_reason": "tool_calls", "message": message})
        return Response(json.dumps(completion() | {"choices": choices}), media_type="application/json")

    upstream.default = reply
    address = serve(tool_calls="measure", policy={"calls": "ask"})
    got = httpx.post(f"{address}/v1/chat/completions", json=CHAT | {"tools": TOOLS["chat/completions"][:1]})
    (row,) = rows_of(tmp_path, 1)
    assert got.status_code == 200
    answer = got.json()
    assert answer["hedgerow"]["reason"] == "calls_disagree"
    assert "find_0" in answer["choices"][0]["message"]["content"]
    assert row["status"] == "abstained"
