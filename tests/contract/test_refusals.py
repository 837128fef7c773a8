"""What an upstream refuses of a sampling call: the client's own call wins, and costs little to find."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.contract.test_failures import rows_of
from tests.support.messages import speaks
from tests.support.responses import responds
from tests.support.upstream import Upstream, completion, says, sse_response, stream_chunks

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
CHAT = "/v1/chat/completions"


def _refuses(*fields: str, named: bool = True, inner: Any = None) -> Any:
    """A provider that takes no call with all of these fields."""
    answer = inner or says(*UNSURE)

    def reply(request: Any, body: Any) -> Any:
        if all(body.get(field) not in (None, 1) or (field == "temperature" and field in body) for field in fields):
            words = f"Unsupported parameter: {', '.join(fields)}" if named else "Bad request"
            error = {"message": words, "type": "invalid_request_error", "param": fields[0] if named else None}
            return JSONResponse({"error": error}, 400)
        return answer(request, body)

    return reply


def _streams_only(request: Any, body: Any) -> Any:
    if not body.get("stream"):
        return JSONResponse({"error": {"message": "This model only supports streaming: set stream to true"}}, 400)
    return says(*UNSURE)(request, body)


@pytest.mark.parametrize("named", [True, False])
def test_a_model_that_takes_no_temperature_is_sampled_without(
    serve: Any, client_of: Any, upstream: Upstream, named: bool
) -> None:
    """Found once, with the client's own call first; after that its answers cost one call again."""
    upstream.default = _refuses("temperature", named=named)
    client = client_of(serve())
    field = client.chat.completions.create(model="o", messages=ASK).model_extra["hedgerow"]
    assert (field["status"], field["samples"]) == ("hedged", 10)
    assert upstream.calls[1] == {"model": "o", "messages": ASK}
    before = len(upstream.calls)
    field = client.chat.completions.create(model="o", messages=ASK).model_extra["hedgerow"]
    assert field["samples"] == 10
    assert all("temperature" not in call for call in upstream.calls[before:])
    if named:
        assert len(upstream.calls) == before + 1


def test_the_clients_top_p_is_kept_where_both_are_too_much(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A provider takes either; ours gives way. A request without `top_p` keeps our temperature."""
    upstream.default = _refuses("temperature", "top_p")
    client = client_of(serve())
    field = client.chat.completions.create(model="m", messages=ASK, top_p=0.9).model_extra["hedgerow"]
    assert (field["status"], field["samples"]) == ("hedged", 10)
    assert upstream.calls[-1]["top_p"] == 0.9
    client.chat.completions.create(model="m", messages=ASK)
    assert upstream.calls[-1]["temperature"] == 1.0


LATE_S = 0.3
"""After what the first of several calls is ahead of the others."""
WAYS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "chat": (CHAT, {"messages": ASK}, says),
    "chat, one by one": (CHAT, {"messages": ASK}, says),
    "chat with log-probabilities": (CHAT, {"messages": ASK, "logprobs": True}, says),
    "kept response": ("/v1/responses", {"input": "What is the capital of Australia?"}, responds),
    "response": ("/v1/responses", {"input": "What is the capital of Australia?", "store": False}, responds),
    "message": ("/v1/messages", {"messages": ASK, "max_tokens": 64}, speaks),
}


@pytest.mark.parametrize("delivery", ["whole", "buffer", "append"])
@pytest.mark.parametrize("way", WAYS)
def test_a_request_that_is_wrong_costs_two_calls(
    serve: Any, upstream: Upstream, tmp_path: Any, way: str, delivery: str
) -> None:
    """The sampling call and the client's own, however late the upstream says no, also of a model that has taken other requests; its own error
    is what the client gets. A stream for which we ask the usage costs one call more, once, while nothing is known of the model.
    """
    path, ask, answers = WAYS[way]
    well, limit = answers(*UNSURE), "max_output_tokens" if "responses" in path else "max_tokens"
    ask = ask | {"model": "m", "stream": delivery != "whole"}

    async def reply(request: Any, body: Any) -> Any:
        if body.get(limit) != 10**9:
            return well(request, body)
        await asyncio.sleep(LATE_S)
        return JSONResponse({"error": {"message": "that is too many", "code": "too_large"}}, 422)

    upstream.default = reply
    is_counted = path == CHAT and (delivery == "append" or ("logprobs" in ask and delivery == "buffer"))
    append = {"stream": "append"} if delivery == "append" else {}
    address = serve(upstream_settings={"honours_n": "one by one" not in way}, **append)
    for number in (1, 2):
        wrong = httpx.post(address + path, json=ask | {limit: 10**9})
        assert (wrong.status_code, wrong.json()["error"]["message"]) == (422, "that is too many")
        rows_of(tmp_path, number * 2 - 1)
        assert len([call for call in upstream.calls if call.get(limit) == 10**9]) == 2 * number + is_counted
        assert httpx.post(address + path, json=ask).status_code == 200


def test_where_nothing_but_the_clients_call_is_taken_its_answer_is_given(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """At temperature 0 all answers would be the same: no confidence is made of that."""
    upstream.default = lambda request, body: (
        says("Canberra.")(request, body)
        if body == {"model": "m", "messages": ASK, "temperature": 0}
        else JSONResponse({"error": {"message": "no"}}, 400)
    )
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, temperature=0)
    assert answer.choices[0].message.content == "Canberra."
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("degraded", "upstream_rejected")
    assert "confidence" not in field


def test_a_model_that_only_streams_is_read_as_a_stream(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Its chunks make the samples, reasoning included."""
    upstream.default = _streams_only
    chunks = list(client_of(serve()).chat.completions.create(model="m", messages=ASK, stream=True))
    field = [chunk for chunk in chunks if chunk.choices][-1].model_extra["hedgerow"]
    assert (field["status"], field["samples"]) == ("plain", 10)
    assert "Canberra" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def test_a_stream_that_nobody_asked_for_is_read_too(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Some servers stream whatever is asked; every part of the message arrives in one piece."""
    head = stream_chunks("")[0]
    deltas = [
        {"reasoning_content": "Not "},
        {"reasoning_content": "Sydney."},
        {"content": "Can"},
        {"content": "berra."},
    ]
    chunks = [head, *(head | {"choices": [{"index": 0, "delta": delta}]} for delta in deltas), stream_chunks("")[-1]]
    upstream.default = lambda _request, _body: sse_response([*chunks, "[DONE]"])
    message = client_of(serve()).chat.completions.create(model="m", messages=ASK).choices[0].message
    assert message.content == "Canberra."
    assert message.model_extra["reasoning_content"] == "Not Sydney."


@pytest.mark.parametrize("events", [[*stream_chunks("Canberra.")[:-1]], ["{"]])
def test_a_stream_that_breaks_off_is_not_an_answer(serve: Any, upstream: Upstream, events: Any) -> None:
    """Half an answer is not compared."""
    upstream.default = lambda _request, _body: sse_response(events)
    reply = httpx.post(serve() + CHAT, json={"model": "m", "messages": ASK})
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_broken")


@pytest.mark.parametrize("honours_n", [True, False])
def test_the_query_goes_with_every_call(serve: Any, upstream: Upstream, honours_n: bool) -> None:
    """`?api-version=` and the like: without it some servers know no such path."""
    upstream.default = says(*UNSURE)
    target = CHAT + "?api-version=2024-10-21&x=a%2Fb"
    httpx.post(serve(upstream_settings={"honours_n": honours_n}) + target, json={"model": "m", "messages": ASK})
    assert set(upstream.targets) == {target}


@pytest.mark.parametrize("honours_n", [True, False])
def test_every_sample_has_a_key_of_idempotency_of_its_own(serve: Any, upstream: Upstream, honours_n: bool) -> None:
    """An upstream that remembers keys would give one answer ten times. The same request again has the same keys."""
    upstream.default = says(*UNSURE)
    address = serve(upstream_settings={"honours_n": honours_n}, sampling={"stop_early": True})
    ask = {"model": "m", "messages": ASK}
    httpx.post(address + CHAT, json=ask, headers={"Idempotency-Key": "order-7"})
    keys = [headers["idempotency-key"] for headers in upstream.headers]
    assert len(keys) > 1
    assert len(set(keys)) == len(keys)
    assert "order-7" not in keys
    httpx.post(address + CHAT, json=ask, headers={"Idempotency-Key": "order-7"})
    again = {headers["idempotency-key"] for headers in upstream.headers[len(keys) :]}
    assert (
        again <= set(keys) or set(keys) <= again
    )  # calls that run side by side arrive in any order, and some are saved


def test_a_judge_is_not_asked_under_the_clients_key(serve: Any, upstream: Upstream) -> None:
    """Its question is another one: an upstream that remembers the key would refuse it, or answer with a sample."""
    upstream.enqueue(says("A heart attack.", "Myocardial infarction."), says("[[0, 1]]"))
    ask = {"model": "m", "messages": [{"role": "user", "content": "What did he die of?"}]}
    reply = httpx.post(serve(equivalence="llm") + CHAT, json=ask, headers={"Idempotency-Key": "order-8"})
    assert reply.status_code == 200
    assert len(upstream.headers) == 2
    assert "idempotency-key" not in upstream.headers[1]


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_beside_tools_is_asked_for_whole(serve: Any, client_of: Any, upstream: Upstream, stream: bool) -> None:
    """What was asked whole needs no putting together; a sentence before a call costs no other answers."""
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    called = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    answer = completion("I'll look.")
    answer["choices"][0]["message"]["tool_calls"] = [called]
    upstream.default = lambda _request, _body: JSONResponse(answer)
    client_of(serve()).chat.completions.create(model="m", messages=ASK, tools=tools, stream=stream)
    (call,) = upstream.calls
    assert "stream" not in call


def test_a_tool_call_needs_no_other_answers(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Read from a stream, its arguments arrive whole, and nothing of the stream is left in the answer."""
    tools: Any = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    head = stream_chunks("")[0] | {"obfuscation": "x7"}
    parts = [{"id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}]
    parts += [{"function": {"arguments": piece}} for piece in ('{"city"', ': "Canberra"}')]
    deltas = [{"delta": {"tool_calls": [{"index": 0} | part]}, "finish_reason": None} for part in parts]
    deltas.append({"delta": {}, "finish_reason": "tool_calls"})
    chunks = [head, *(head | {"choices": [{"index": 0} | delta]} for delta in deltas)]
    upstream.default = lambda _request, _body: sse_response([*chunks, "[DONE]"])
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, tools=tools)
    (call,) = answer.choices[0].message.tool_calls
    assert answer.choices[0].message.content is None
    assert "obfuscation" not in answer.model_extra
    assert (call.id, call.function.name, call.function.arguments) == ("call_1", "f", '{"city": "Canberra"}')
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.model_extra["hedgerow"]["reason"] == "tool_calls"
    assert len(upstream.calls) == 1


def test_calls_of_our_own_have_the_upstreams_query(serve: Any, upstream: Upstream) -> None:
    """A judge's call has no client's query; the configured one stands in every address that lacks it, and the client's own wins."""
    upstream.enqueue(says("A heart attack.", "Myocardial infarction."), says("[[0, 1]]"))
    ask = {"model": "m", "messages": [{"role": "user", "content": "What did he die of?"}]}
    address = serve(equivalence="llm", upstream_settings={"query": {"api-version": "2024-10-21", "x": "a/b"}})
    assert httpx.post(f"{address}{CHAT}?api-version=new&y=c%2Fd", json=ask).status_code == 200
    assert upstream.targets == [f"{CHAT}?api-version=new&y=c%2Fd&x=a%2Fb", f"{CHAT}?api-version=2024-10-21&x=a%2Fb"]
    upstream.enqueue(lambda *_: JSONResponse({"data": []}))
    httpx.get(f"{address}/v1/files")
    assert upstream.targets[-1] == "/v1/files?api-version=2024-10-21&x=a%2Fb"
