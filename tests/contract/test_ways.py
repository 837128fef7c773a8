"""Every way of a request ends the same: one answer, one row, one line, whatever goes wrong on it. The real client, a real proxy."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse, StreamingResponse

from hedgerow.proxy.gateway.relayed import Copy
from tests.contract.test_failures import rows_of
from tests.contract.test_pages import csrf_of, lines_of
from tests.support.responses import responds
from tests.support.tables import cases
from tests.support.upstream import Upstream, completion, says, sse_response, stream_chunks

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
CHAT = "/v1/chat/completions"
SERVED = "The capital of Australia is Canberra."
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
TOO_MANY_TOKENS = 2**64 - 1


def body(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": ASK} | fields


def test_an_appended_stream_survives_its_deadline(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """A stream that takes longer than the route's deadline comes to its end like any other; it is only not hedged."""

    async def slowly(_request: Any, asked: Any) -> Any:
        if not asked.get("stream"):
            return JSONResponse(completion(*["Canberra."] * asked["n"]))

        async def chunks() -> Any:
            for chunk in stream_chunks(SERVED):
                yield f"data: {json.dumps(chunk)}\n\n".encode()
                await asyncio.sleep(0.15)
            yield b"data: [DONE]\n\n"

        return StreamingResponse(chunks(), media_type="text/event-stream")

    upstream.default = slowly
    client = client_of(serve(stream="append", deadline_s=0.3, settings={"audit": _audit(tmp_path)}))
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == SERVED
    assert chunks[-1].choices[0].finish_reason == "stop"
    field = chunks[-1].model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("degraded", "deadline")
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["http_status"]) == ("degraded", "deadline", 200)
    assert (row["draft"], row["answer"]) == (SERVED, SERVED)


def _audit(tmp_path: Any) -> dict[str, Any]:
    return {"url": f"sqlite:///{tmp_path}/audit.db", "spool": str(tmp_path / "spool"), "store_text": "full"}


@pytest.mark.parametrize("function", ["draft_reason", "comparable", "answer_reason", "measures_choices"])
def test_a_fault_between_the_steps_leaves_the_draft(
    serve: Any, client_of: Any, upstream: Upstream, lines: Any, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """A bug of ours outside of every step costs the hedge and not the answer; where nothing was drawn yet it is an error."""
    from hedgerow.proxy.pipeline import run

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(run, function, broken)
    upstream.default = says(*UNSURE)
    client = client_of(serve())
    if function == "measures_choices":
        with pytest.raises(openai.InternalServerError):
            client.chat.completions.create(model="m", messages=ASK)
    else:
        answer = client.chat.completions.create(model="m", messages=ASK)
        assert answer.choices[0].message.content == "Canberra."
        field = answer.model_extra["hedgerow"]
        assert field["status"] == "degraded"
        assert field["reason"] == "step_fault"
    assert len(lines.requests(1)) == 1
    assert "ZeroDivisionError" in lines.of("step_failed")[0]["exception"]


def test_a_fault_behind_a_shadow_answer_leaves_its_row(
    serve: Any, upstream: Upstream, tmp_path: Any, lines: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client has its answer; that its tokens could not be counted is on record."""

    async def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(Copy, "usage", broken)
    served = completion("Canberra.")
    del served["usage"]
    upstream.default = lambda *_: JSONResponse(served)
    reply = httpx.post(serve(mode="shadow") + CHAT, json=body())
    assert reply.json() == served
    assert [line["status"] for line in lines.requests(1)] == ["failed"]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["http_status"]) == ("failed", 200)


@pytest.mark.parametrize("mode", ["on", "shadow"])
def test_a_count_of_tokens_that_no_answer_has_harms_nothing(
    serve: Any, upstream: Upstream, tmp_path: Any, lines: Any, mode: str
) -> None:
    """An upstream that counts 2^64 - 1 tokens counts none: neither the request nor what works beside it fails."""
    counts = {"prompt_tokens": TOO_MANY_TOKENS, "completion_tokens": TOO_MANY_TOKENS}
    upstream.default = lambda _, asked: JSONResponse(completion(*(UNSURE * 2)[: asked.get("n", 1)]) | {"usage": counts})
    address = serve(mode=mode)
    for expected in (1, 2):  # the second finds the background work alive
        assert httpx.post(address + CHAT, json=body()).status_code == 200
        rows = rows_of(tmp_path, expected)
        assert [row["status"] for row in rows] == ["hedged"] * expected
    assert len(lines.requests(2)) == 2
    assert rows[0]["tokens_answer"] == 0


def _tried(address: str, question: str) -> list[dict[str, Any]]:
    with httpx.Client(base_url=address) as client:
        asked = {"csrf": csrf_of(client.get("/").text), "route": "test", "question": question}
        return lines_of(client.post("/try", json=asked))


@pytest.mark.parametrize("greeting", ["hi", "Hello, how are you?"])
def test_a_greeting_is_never_hedged_on_the_try_page(
    serve: Any, upstream: Upstream, tmp_path: Any, greeting: str
) -> None:
    """The page draws one answer and shows it as it came, as the API would."""
    upstream.default = says("Hello! I'm fine.", "Hi.", "Good day.")
    lines = _tried(serve(), greeting)
    assert lines[-1]["end"]["status"] == "passed"
    assert "Hello! I&#39;m fine." in lines[-2]["wording"] or "Hello! I'm fine." in lines[-2]["wording"]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["samples"]) == ("passed", "not_a_claim", 1)
    assert len(upstream.calls) == 1


def test_the_try_page_and_the_audit_name_the_same_signal(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """A long answer has a signal of its own, whatever the route measures short ones by."""
    long = "The Atomium stands in Brussels. It was designed by André Waterkeyn. It is {} metres tall. It was built in 1958."
    upstream.default = says(*(long.format(height) for height in (102, 165, 102, 99, 102)))
    lines = _tried(serve(), "Tell me about the Atomium.")
    shown = [line["confidence"] for line in lines if "confidence" in line][-1]
    (row,) = rows_of(tmp_path, 1)
    assert row["signal"] == "consistency"
    assert "consistency" in shown


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"best_of": "x"}, "several_choices"),
        ({"modalities": 5}, "media"),
        ({"metadata": None}, "nested_too_deep"),
    ],
)
def test_odd_requests_are_the_upstreams_to_judge(
    serve: Any, upstream: Upstream, tmp_path: Any, fields: dict[str, Any], reason: str
) -> None:
    """Fields of a wrong type and JSON nested too deeply are forwarded as they came."""
    nested = json.dumps(body(**fields)).replace("null", "[" * 300 + "]" * 300)
    upstream.default = says("Canberra.")
    reply = httpx.post(serve() + CHAT, content=nested, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.headers["x-hedgerow-reason"]) == (200, reason)
    assert upstream.raw_bodies == [nested.encode()]
    assert [row["reason"] for row in rows_of(tmp_path, 1)] == [reason]


@pytest.mark.parametrize(
    "odd",
    [{"choices": [5]}, {"choices": 5}, {"choices": [{"delta": "x"}]}, {"choices": [{"delta": {"tool_calls": 7}}]}],
)
def test_odd_chunks_reach_the_client_and_the_stream_ends(
    serve: Any, upstream: Upstream, tmp_path: Any, odd: dict[str, Any]
) -> None:
    """A chunk in a form that nobody expects is the client's to judge; the closing chunks come all the same."""
    head = stream_chunks("x")[0]
    upstream.default = _answers([*stream_chunks(SERVED)[:2], head | odd, *stream_chunks(SERVED)[2:], "[DONE]"])
    reply = httpx.post(serve(stream="append") + CHAT, json=body(stream=True))
    assert reply.text.endswith("data: [DONE]\n\n")
    assert '"finish_reason":"stop"' in reply.text
    assert [row["http_status"] for row in rows_of(tmp_path, 1)] == [200]


def _answers(events: list[Any]) -> Any:
    def reply(_request: Any, asked: Any) -> Any:
        return sse_response(events) if asked.get("stream") else JSONResponse(completion(*["Canberra."] * asked["n"]))

    return reply


def test_a_fault_in_a_stream_that_has_begun_is_its_last_event(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client raises an error, never takes the piece for the answer; the row names the route and the fault."""
    from hedgerow.proxy.upstreams.dialects.chat_stream import ServedChat

    def broken(_self: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(ServedChat, "completion", broken)
    upstream.default = _answers([*stream_chunks(SERVED), "[DONE]"])
    with pytest.raises(openai.APIError, match="inside the proxy"):
        list(client_of(serve(stream="append")).chat.completions.create(model="m", messages=ASK, stream=True))
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["route"]) == ("failed", "internal_error", "test")


def test_a_refused_request_names_its_route(serve: Any, tmp_path: Any, upstream: Upstream, lines: Any) -> None:
    """Row, line and counter of a failure know the route once one was chosen."""
    upstream.default = lambda *_: JSONResponse({"error": {"message": "no"}}, 500)
    address = serve(mode="off", upstream_settings={"base_url": "http://127.0.0.1:9/v1"})
    assert httpx.post(address + CHAT, json=body()).status_code == 502
    (row,) = rows_of(tmp_path, 1)
    assert (row["route"], row["mode"], row["reason"]) == ("test", "off", "upstream_unreachable")
    (line,) = lines.requests(1)
    assert (line["route"], line["http_status"]) == ("test", 502)
    assert line["cause"] == json.loads(row["story"])["cause"] == "ConnectionRefusedError: Connection refused"
    assert 'route="test",status="failed"' in httpx.get(address + "/metrics").text


def test_a_long_line_of_a_stream_is_read_in_linear_time() -> None:
    """One event of many pieces costs in proportion to its length."""
    from hedgerow.proxy.upstreams.sse import Reader

    def seconds(pieces: int) -> float:
        reader, start = Reader(), time.perf_counter()
        for _ in range(pieces):
            assert reader.feed(b"x" * 1000) == []
        assert len(reader.feed(b"\r\n\r\n")) == 1
        return time.perf_counter() - start

    seconds(100)
    assert seconds(20_000) < 10.0


@cases("size", [1, 2, 3, 5, 1000])
def test_events_are_the_same_however_a_stream_is_cut(size: int) -> None:
    """Whatever ends their lines."""
    from hedgerow.proxy.upstreams.sse import Reader, data_of

    stream = b'data: {"a": 1}\n\n: note\n\ndata: {"b": 2}\r\n\r\ndata: x\ndata: y\n\n'
    reader = Reader()
    events = [event for i in range(0, len(stream), size) for event in reader.feed(stream[i : i + size])]
    assert b"".join(events) == stream
    assert [data_of(event) for event in events] == [b'{"a": 1}', b"", b'{"b": 2}', b"x\ny"]


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/chat/completions", {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " "}]}),
        ("/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}),
        ("/chat/completions", {"messages": [{"role": "user", "content": []}]}),
        ("/responses", {"input": ""}),
    ],
)  # fmt: skip
def test_an_empty_message_asks_nothing(serve: Any, upstream: Upstream, path: str, asked: dict[str, Any]) -> None:
    """Ten answers to nothing differ, and would look like one that is most probably wrong: the model's own goes on, without a confidence."""
    answers = ("Paris.", "Berlin.", "Rome.", "Madrid.")
    upstream.default = responds(*answers) if path == "/responses" else says(*answers)
    reply = httpx.post(f"{serve()}/v1{path}", json={"model": "m"} | asked, timeout=60)
    seen = {name: reply.headers.get(f"x-hedgerow-{name}") for name in ("status", "reason", "confidence")}
    assert seen == {"status": "passed", "reason": "not_a_claim", "confidence": None}
    assert len(upstream.calls) == 1


def test_a_system_message_alone_may_ask(serve: Any, upstream: Upstream) -> None:
    """Some clients put the whole question there."""
    upstream.default = says("Paris.", "Berlin.", "Paris.", "Paris.")
    body = {"model": "m", "messages": [{"role": "system", "content": "What is the capital of France?"}]}
    assert httpx.post(f"{serve()}/v1/chat/completions", json=body, timeout=60).json()["hedgerow"]["status"] == "hedged"
