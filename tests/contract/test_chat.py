"""The real openai client against the proxy: whatever it could do before, it can still do."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion, fails, ignores_n, raw, says, spent

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = (
    "Canberra.",
    "Sydney.",
    "Canberra.",
    "Melbourne.",
    "Canberra.",
    "Sydney.",
    "Canberra.",
    "Perth.",
    "Canberra.",
    "Canberra.",
)


def test_an_unsure_answer_is_hedged(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Six of ten answers agree: the majority's answer comes back, worded less surely, with what is known about it."""
    upstream.default = says(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    text = answer.choices[0].message.content
    field = answer.model_extra["hedgerow"]
    assert "Canberra" in text
    assert text != "Canberra."
    assert field["status"] == "hedged"
    assert field["samples"] == 10
    assert field["clusters"] == [6, 2, 1, 1]
    assert field["raw"] == {"alpha": 6.0, "beta": 4.0, "mean": 0.6}
    assert field["uncalibrated"] is True
    nearest = [h["distance"] for h in field["hedges"][:5]]
    assert len(nearest) == 5
    assert nearest == sorted(nearest)
    assert answer.id == "chatcmpl-scripted"
    assert answer.system_fingerprint == "fp_scripted"


def test_a_sure_answer_stays_as_it_is(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """All ten agree: the nearest entry of the lexicon is the plain assertion."""
    upstream.default = says("Canberra is the capital of Australia.")
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.choices[0].message.content == "Canberra is the capital of Australia."
    assert answer.model_extra["hedgerow"]["status"] == "plain"


def test_a_plain_choice_is_the_upstreams_to_the_last_key(serve: Any, upstream: Upstream) -> None:
    """What strict readers expect stays there: `logprobs: null`, too."""
    upstream.default = says("Canberra.")
    got = httpx.post(f"{serve()}/v1/chat/completions", json={"model": "m", "messages": ASK})
    assert got.json()["choices"] == completion("Canberra.")["choices"]


def test_headers_tell_status_and_audit_id(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """What a client without access to the body needs stands in three headers."""
    upstream.default = says(*UNSURE)
    reply = client_of(serve()).chat.completions.with_raw_response.create(model="m", messages=ASK)
    field = reply.parse().model_extra["hedgerow"]
    assert reply.headers["x-hedgerow-status"] == "hedged"
    assert reply.headers["x-hedgerow-audit-id"] == field["id"]
    assert float(reply.headers["x-hedgerow-confidence"]) == pytest.approx(field["confidence"], abs=1e-4)


def test_a_route_can_hide_both(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Neither field nor headers, where the route says so."""
    upstream.default = says(*UNSURE)
    address = serve(expose={"field": False, "headers": False})
    reply = client_of(address).chat.completions.with_raw_response.create(model="m", messages=ASK)
    assert "hedgerow" not in reply.parse().model_extra
    assert not [name for name in reply.headers if name.startswith("x-hedgerow")]


def test_the_field_says_what_tokens_were_spent_for(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """An upstream that ignores `n` is asked ten times; every token is in the field."""
    upstream.default = ignores_n(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert len(upstream.calls) == 10
    assert answer.usage.total_tokens == 7 + 3
    split = answer.model_extra["hedgerow"]["usage"]
    assert split["answer"] == spent(7, 3)
    assert split["samples"] == spent(63, 27)


def test_one_call_where_n_is_honoured(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`n` is asked for at once; the client's other fields travel along, streams and its own `n` do not."""
    upstream.default = says(*UNSURE)
    client_of(serve()).chat.completions.create(
        model="m", messages=ASK, max_tokens=20, extra_body={"unknown_field": {"kept": 1}}
    )
    assert len(upstream.calls) == 1
    asked = upstream.calls[0]
    assert asked["n"] == 10
    assert asked["max_tokens"] == 20
    assert asked["unknown_field"] == {"kept": 1}
    assert "stream" not in asked


def test_an_upstream_that_refuses_n_is_asked_answer_by_answer(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Some servers answer `n` > 1 with 400: the answers are then drawn one by one."""
    upstream.enqueue(fails(400, {"error": {"message": "n must be 1"}}))
    upstream.default = ignores_n(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.model_extra["hedgerow"]["samples"] == 10
    assert len(upstream.calls) == 11


def test_a_stream_has_correct_chunks(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Role first, then text, then the finish reason with our field, then usage when asked for."""
    upstream.default = says(*UNSURE)
    chunks = list(
        client_of(serve()).chat.completions.create(
            model="m", messages=ASK, stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert "Canberra" in text
    assert [c for c in chunks if c.choices and c.choices[0].delta.content]
    last = [c for c in chunks if c.choices][-1]
    assert last.choices[0].finish_reason == "stop"
    assert last.model_extra["hedgerow"]["status"] == "hedged"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 7 + 3
    assert {c.id for c in chunks} == {"chatcmpl-scripted"}
    assert {c.object for c in chunks} == {"chat.completion.chunk"}


def test_a_stream_without_usage_asked_has_none(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`usage` comes only when `stream_options.include_usage` asks for it."""
    upstream.default = says(*UNSURE)
    chunks = list(client_of(serve()).chat.completions.create(model="m", messages=ASK, stream=True))
    assert all(c.usage is None for c in chunks)


def test_a_slow_pipeline_keeps_the_stream_alive(serve: Any, upstream: Upstream) -> None:
    """Comment lines come while the answers are drawn, and `[DONE]` is the last event."""
    import asyncio

    from starlette.responses import JSONResponse

    async def slow(_request: Any, body: Any) -> Any:
        await asyncio.sleep(0.5)
        return JSONResponse(completion(*UNSURE[: body["n"]]))

    upstream.default = slow
    address = serve(settings={"server": {"keep_alive_s": 0.1}})
    body = {"model": "m", "messages": ASK, "stream": True}
    reply = httpx.post(address + "/v1/chat/completions", json=body, timeout=20)
    events = [part for part in reply.text.split("\n\n") if part]
    assert events[0] == ": keep-alive"
    assert events[-1] == "data: [DONE]"
    assert reply.headers["content-type"].startswith("text/event-stream")


def test_an_error_after_the_start_of_a_stream_is_raised_by_the_client(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """The status is gone by then: the error is the stream's last event."""
    import asyncio

    from starlette.responses import JSONResponse

    async def slow_failure(_request: Any, _body: Any) -> Any:
        await asyncio.sleep(0.4)
        return JSONResponse({"error": {"message": "quota used up", "type": "insufficient_quota", "code": "quota"}}, 429)

    upstream.default = slow_failure
    address = serve(settings={"server": {"keep_alive_s": 0.1}})
    stream = client_of(address).chat.completions.create(model="m", messages=ASK, stream=True)
    with pytest.raises(openai.APIError, match="quota used up"):
        list(stream)


async def _answers(client: openai.AsyncOpenAI) -> tuple[Any, list[Any]]:
    async with client:
        whole = await client.chat.completions.create(model="m", messages=ASK)
        stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
        return whole, [chunk async for chunk in stream]


def test_the_async_client_works_the_same(serve: Any, upstream: Upstream) -> None:
    """Both answers and streams."""
    import asyncio

    upstream.default = says(*UNSURE)
    client = openai.AsyncOpenAI(base_url=serve() + "/v1", api_key="sk-test-client", max_retries=0)
    whole, chunks = asyncio.run(_answers(client))
    assert "Canberra" in whole.choices[0].message.content
    assert "Canberra" in "".join(c.choices[0].delta.content or "" for c in chunks)


TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
]
TOOL_CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


def _calls_a_tool() -> Any:
    message = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
    return completion() | {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]}


def test_a_tool_call_passes_untouched_after_one_answer(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Where tools are on offer one answer is drawn first; a tool call costs no further ones."""
    import json

    upstream.default = raw(json.dumps(_calls_a_tool()).encode())
    reply = client_of(serve()).chat.completions.with_raw_response.create(model="m", messages=ASK, tools=TOOLS)
    answer = reply.parse()
    assert answer.choices[0].finish_reason == "tool_calls"
    assert answer.choices[0].message.tool_calls[0].function.arguments == '{"city": "Oslo"}'
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == "tool_calls"
    assert len(upstream.calls) == 1


def test_a_tool_call_arrives_through_a_stream(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The client's own accumulation of a streamed tool call works."""
    import json

    upstream.default = raw(json.dumps(_calls_a_tool()).encode())
    stream = client_of(serve()).chat.completions.create(model="m", messages=ASK, tools=TOOLS, stream=True)
    deltas = [chunk.choices[0].delta for chunk in stream if chunk.choices]
    assert {delta.content for delta in deltas} == {
        None
    }  # no text at all, as in the answer that is not streamed: "" would be one
    calls = [delta.tool_calls for delta in deltas if delta.tool_calls]
    assert calls[0][0].index == 0
    assert calls[0][0].function.name == "weather"


def test_an_answer_in_words_is_hedged_although_tools_are_on_offer(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """Offering tools does not switch calibration off."""
    upstream.default = says(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, tools=TOOLS)
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert [call.get("n") for call in upstream.calls] == [None, 9]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"n": 2}, "several_choices"),
        ({"tools": TOOLS, "tool_choice": "required"}, "tool_calls"),
        ({"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}, "media"),
    ],
)
def test_what_is_never_rewritten_is_forwarded_byte_for_byte(
    serve: Any, client_of: Any, upstream: Upstream, fields: Any, reason: str
) -> None:
    """The upstream gets the client's bytes, the client gets the upstream's, and the header says why."""
    body = b'{"id":"x",   "object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"{\\"a\\":1}"},"finish_reason":"stop"}]}'
    upstream.default = raw(body)
    reply = client_of(serve()).chat.completions.with_raw_response.create(model="m", messages=ASK, **fields)
    assert reply.content == body
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == reason
    assert len(upstream.calls) == 1


def test_pictures_in_the_question_do_not_hinder(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Vision parts reach the upstream as they are; the answer in words is hedged."""
    upstream.default = says(*UNSURE)
    parts: Any = [
        {"type": "text", "text": "Which city is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    answer = client_of(serve()).chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert upstream.calls[0]["messages"][0]["content"] == parts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Use this:\n```python\nprint(1)\n```", "code"),
    ],
)
def test_drafts_of_these_kinds_stay_plain(
    serve: Any, client_of: Any, upstream: Upstream, text: str, reason: str
) -> None:
    """Code stands as it is, with the reason."""
    upstream.default = says(text, "Something else.", text)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    field = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content == text
    assert (field["status"], field["reason"]) == ("passed", reason)


def test_a_refusal_stays_a_refusal(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """A refusal is not an assertion that could be hedged."""
    import json

    message = {"role": "assistant", "content": None, "refusal": "I can't help with that."}
    body = completion() | {"choices": [{"index": i, "finish_reason": "stop", "message": message} for i in range(10)]}
    upstream.default = raw(json.dumps(body).encode())
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.choices[0].message.refusal == "I can't help with that."
    assert answer.model_extra["hedgerow"]["reason"] == "refusal"


def test_plain_completions_are_calibrated_too(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`/v1/completions` with one string as prompt."""
    import json

    texts = ["Canberra.", "Sydney.", "Canberra."] * 4
    body = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": i, "text": t, "finish_reason": "stop", "logprobs": None} for i, t in enumerate(texts)],
    }
    upstream.default = raw(json.dumps(body).encode())
    answer = client_of(serve()).completions.create(model="m", prompt="What is the capital of Australia?")
    assert "Canberra" in answer.choices[0].text
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    streamed = list(client_of(serve()).completions.create(model="m", prompt="The capital?", stream=True))
    assert "Canberra" in "".join(c.choices[0].text for c in streamed if c.choices)


@pytest.mark.parametrize("honours_n", [True, False])
def test_what_a_client_has_stored_is_its_own_answer(
    serve: Any, client_of: Any, upstream: Upstream, honours_n: bool
) -> None:
    """The samples leave no trace at the provider, and the id that it stored is the one that the client has."""
    said = says(*["Canberra."] * 6, "Sydney.", "Perth.")

    def reply(request: Any, body: Any) -> Any:
        answer = json.loads(said(request, body).body)
        return JSONResponse(answer | {"id": "stored" if body.get("store") else "forgotten"})

    upstream.default = reply
    address = serve(upstream_settings={"honours_n": honours_n})
    answer = client_of(address).chat.completions.create(model="m", messages=ASK, store=True, metadata={"a": "b"})
    assert (answer.id, answer.model_extra["hedgerow"]["samples"]) == ("stored", 10)
    assert [call["store"] for call in upstream.calls].count(True) == 1
    assert all(call["metadata"] == {"a": "b"} for call in upstream.calls)
