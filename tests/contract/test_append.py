"""`stream: append` with the real client: the upstream's own tokens at once, and a closing sentence when the confidence is known."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse, StreamingResponse

from tests.contract.test_failures import rows_of
from tests.support.needs import EMBEDDED
from tests.support.upstream import Upstream, completion, fails, raw, spent, sse_response, stream_chunks
from tests.support.waiting import until

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
SERVED = "The capital of Australia is Canberra."
AGREE, DIFFER = "Canberra.", "Sydney."


def answers(served: str, *drawn: str, events: list[Any] | None = None) -> Any:
    """A stream is answered with one text, a sampling call with others."""

    def reply(_request: Any, body: Any) -> Any:
        if body.get("stream"):
            return sse_response(events or [*stream_chunks(served), "[DONE]"])
        return JSONResponse(completion(*drawn[: body.get("n") or 1]))

    return reply


def ask(client: openai.OpenAI, **fields: Any) -> tuple[str, list[Any]]:
    """The whole text and all chunks."""
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True, **fields))
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices), chunks


def test_the_answer_is_followed_by_how_sure_it_is(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """Six of ten say what was served, itself counted: the text goes out unchanged, then the sentence, then the finish with our field."""
    upstream.default = answers(SERVED, *[AGREE] * 5, *[DIFFER] * 4)
    text, chunks = ask(client_of(serve(stream="append")))
    assert text.startswith(SERVED + " ")
    assert len(text) > len(SERVED) + 10
    assert text.endswith(".")
    finish = chunks[-1]
    field = finish.model_extra["hedgerow"]
    assert finish.choices[0].finish_reason == "stop"
    assert [c.choices[0].finish_reason for c in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert (field["status"], field["samples"], field["clusters"]) == ("hedged", 10, [6, 4])
    assert field["raw"]["mean"] == 0.6
    assert field["rewrite"]["rewriter"] == "closing"
    assert {c.id for c in chunks} == {"chatcmpl-streamed"}
    assert {c.object for c in chunks} == {"chat.completion.chunk"}
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["served_agrees"], row["response_id"]) == ("hedged", 1, "chatcmpl-streamed")
    assert row["answer"] == text
    assert upstream.calls[1].get("n", upstream.calls[0].get("n")) == 9


def test_an_answer_that_the_others_contradict_counts_by_its_own_cluster(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The confidence is in what the client reads, not in what most others say."""
    upstream.default = answers(SERVED, AGREE, *[DIFFER] * 8)
    _, chunks = ask(client_of(serve(stream="append")))
    field = chunks[-1].model_extra["hedgerow"]
    assert field["clusters"] == [2, 8]
    assert field["raw"]["mean"] == 0.2
    (row,) = rows_of(tmp_path, 1)
    assert row["served_agrees"] == 0


def test_a_sure_answer_gets_no_sentence(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """All agree: nothing is added."""
    upstream.default = answers(SERVED, *[AGREE] * 9)
    text, chunks = ask(client_of(serve(stream="append")))
    assert text == SERVED
    assert chunks[-1].model_extra["hedgerow"]["status"] == "plain"


def test_usage_is_the_upstreams_own(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The upstream's own count of the served answer is held back and sent after the finish."""
    counted = stream_chunks(SERVED)[0] | {
        "choices": [],
        "usage": {"prompt_tokens": 7, "completion_tokens": 6, "total_tokens": 13},
    }
    events = [*stream_chunks(SERVED), counted, "[DONE]"]
    upstream.default = answers(SERVED, *[AGREE] * 5, *[DIFFER] * 4, events=events)
    client = client_of(serve(stream="append"))
    _, chunks = ask(client, stream_options={"include_usage": True})
    assert chunks[-1].choices == []
    assert chunks[-1].usage.total_tokens == 13
    assert [c.usage for c in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-2].model_extra["hedgerow"]["usage"]["answer"] == spent(7, 6)


def test_the_first_token_does_not_wait_for_the_samples(serve: Any, upstream: Upstream) -> None:
    """The samples are held until the client has read the answer; comment lines come meanwhile."""
    release = asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def held(_request: Any, body: Any) -> Any:
        if body.get("stream"):
            return sse_response([*stream_chunks(SERVED), "[DONE]"])
        loops.append(asyncio.get_running_loop())
        await release.wait()
        return JSONResponse(completion(*[AGREE] * 5, *[DIFFER] * 4))

    upstream.default = held
    address = serve(stream="append", settings={"server": {"keep_alive_s": 0.05}})
    body = {"model": "m", "messages": ASK, "stream": True}
    seen = ""
    with httpx.stream("POST", address + "/v1/chat/completions", json=body, timeout=20) as reply:
        assert reply.headers["x-hedgerow-audit-id"].startswith("hr_")
        for part in reply.iter_text():
            seen += part
            if ": keep-alive" in seen and loops and not release.is_set():
                assert "Canberra." in seen
                assert 'finish_reason": "stop' not in seen.replace('":"', '": "')
                loops[0].call_soon_threadsafe(release.set)
    assert seen.endswith("data: [DONE]\n\n")
    assert '"hedgerow"' in seen


def test_a_client_that_leaves_ends_both(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The stream's work and the samples' are cancelled; the audit has its row."""

    async def endless(_request: Any, body: Any) -> Any:
        if not body.get("stream"):
            await asyncio.sleep(3600)

        async def chunks() -> Any:
            for chunk in stream_chunks(SERVED)[:3]:
                yield f"data: {json.dumps(chunk)}\n\n".encode()
            await asyncio.sleep(3600)

        return StreamingResponse(chunks(), media_type="text/event-stream")

    upstream.default = endless
    body = {"model": "m", "messages": ASK, "stream": True}
    address = serve(stream="append")
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(address + "/v1/chat/completions", json=body, timeout=0.5)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("cancelled", "client_gone")
    until(lambda: upstream.abandoned == 1)


@pytest.mark.parametrize("ending", ["error event", "no end", "nonsense"])
def test_an_upstream_that_fails_in_the_middle(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, ending: str
) -> None:
    """The client gets the chunks so far and an error, never a short answer that looks whole."""
    last: dict[str, list[Any]] = {
        "error event": [{"error": {"message": "overloaded", "type": "server_error"}}],
        "no end": [],
        "nonsense": ["{"],
    }
    upstream.default = answers(SERVED, *[AGREE] * 9, events=[*stream_chunks(SERVED)[:3], *last[ending]])
    stream = client_of(serve(stream="append")).chat.completions.create(model="m", messages=ASK, stream=True)
    seen = []
    with pytest.raises(openai.APIError):
        seen.extend(chunk.choices[0].delta.content for chunk in stream)
    (row,) = rows_of(tmp_path, 1)
    assert row["status"] == "failed"
    assert row["reason"] in ("upstream_rejected", "upstream_broken")


def test_an_error_in_place_of_a_stream_comes_as_it_was(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """Status and body are the upstream's."""
    upstream.default = fails(429, {"error": {"message": "slow down", "type": "t", "param": None, "code": "c"}})
    with pytest.raises(openai.RateLimitError, match="slow down"):
        ask(client_of(serve(stream="append")))
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["http_status"]) == ("failed", 429)


@pytest.mark.parametrize("on_failure", ["pass", "error"])
def test_samples_that_fail_leave_the_stream_whole_and_marked(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, on_failure: str
) -> None:
    """What was sent cannot be taken back, whatever the route says of failures."""

    def reply(_request: Any, body: Any) -> Any:
        if body.get("stream"):
            return sse_response([*stream_chunks(SERVED), "[DONE]"])
        return JSONResponse({"error": {"message": "no"}}, 500)

    upstream.default = reply
    text, chunks = ask(client_of(serve(stream="append", on_failure=on_failure)))
    assert text == SERVED
    assert chunks[-1].choices[0].finish_reason == "stop"
    field = chunks[-1].model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("degraded", "upstream_rejected")
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["response_id"]) == ("degraded", "chatcmpl-streamed")


def test_samples_that_come_too_late(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """At the deadline the stream ends without a sentence."""

    async def reply(_request: Any, body: Any) -> Any:
        if body.get("stream"):
            return sse_response([*stream_chunks(SERVED), "[DONE]"])
        await asyncio.sleep(3600)
        return None

    upstream.default = reply
    text, chunks = ask(client_of(serve(stream="append", deadline_s=0.4)))
    assert text == SERVED
    assert chunks[-1].model_extra["hedgerow"]["reason"] == "deadline"


def test_a_streamed_tool_call_draws_no_samples(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The call reaches the client as it came."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    head = stream_chunks("x")[0]
    events = [
        head | {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}]},
        head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        "[DONE]",
    ]
    upstream.default = answers("", events=events)
    tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
    _, chunks = ask(client_of(serve(stream="append")), tools=tools)
    assert chunks[0].choices[0].delta.tool_calls[0].function.name == "weather"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].model_extra["hedgerow"]["reason"] == "tool_calls"
    assert len(upstream.calls) == 1


def test_text_in_the_chunk_of_the_finish_is_not_lost(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Some servers send the last words with the finish reason: the words go on, the reason waits."""
    *most, last_words, end = stream_chunks(SERVED)
    last_words["choices"][0]["finish_reason"] = end["choices"][0]["finish_reason"]
    upstream.default = answers(SERVED, *[AGREE] * 5, *[DIFFER] * 4, events=[*most, last_words, "[DONE]"])
    text, chunks = ask(client_of(serve(stream="append")))
    assert text.startswith(SERVED + " ")
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == ["stop"]


def test_an_answer_that_is_not_a_stream_passes_as_it_is(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """A server that does not stream: its JSON goes on byte for byte, and the row says so."""
    body = json.dumps(completion(SERVED)).encode()
    upstream.default = raw(body)
    reply = httpx.post(
        serve(stream="append") + "/v1/chat/completions", json={"model": "m", "messages": ASK, "stream": True}
    )
    assert reply.content == body
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("passed", "not_a_stream")


def test_whole_answers_of_the_route_are_reworded(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`append` is about streams only."""
    upstream.default = answers(SERVED, *[AGREE] * 6, *[DIFFER] * 4)
    answer = client_of(serve(stream="append")).chat.completions.create(model="m", messages=ASK)
    assert answer.model_extra["hedgerow"]["rewrite"]["rewriter"] == "local"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::ResourceWarning")
@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="LiteLLM is not installed")
def test_the_sentence_follows_a_stream_of_litellm(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The provider's stream in LiteLLM's form: the text unchanged, then the sentence, one finish, our field."""
    upstream.default = answers(SERVED, *[AGREE] * 5, *[DIFFER] * 4)
    named = {"provider": "litellm", "model_prefix": "openai/", "api_base": upstream.url, "retries": 0}
    text, chunks = ask(client_of(serve(stream="append", settings={"upstreams": {"scripted": named}})))
    field = chunks[-1].model_extra["hedgerow"]
    assert text.startswith(SERVED + " ")
    assert (field["status"], field["clusters"]) == ("hedged", [6, 4])
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]


@pytest.mark.embedded
@EMBEDDED
def test_the_sentence_follows_a_stream_of_the_embedded_model(serve: Any, client_of: Any, tmp_path: Any) -> None:
    """Its own tokens as they are made, then what the other answers say of them; with one model they wait for each other."""
    settings = {"upstreams": {"scripted": {"provider": "embedded", "max_answer_tokens": 12}}}
    text, chunks = ask(client_of(serve(stream="append", settings=settings, sampling={"n": 4, "min_n": 2})))
    field = chunks[-1].model_extra["hedgerow"]
    (row,) = rows_of(tmp_path, 1)
    assert text.startswith(row["draft"])
    assert text == row["answer"]
    assert field["samples"] == sum(field["clusters"]) == 4
    assert (text != row["draft"]) == (field["status"] == "hedged")


def test_what_no_format_knows_goes_on_as_it_came(serve: Any, upstream: Upstream) -> None:
    """Comments and strange chunks are the client's to judge; an end without its blank line is an end."""
    strange = 'data: {"id": "chatcmpl-streamed", "choices": ["?"]}'
    events = [": waiting", *(f"data: {json.dumps(chunk)}" for chunk in stream_chunks(SERVED)), strange, "data: [DONE]"]
    drawn = answers(SERVED, *[AGREE] * 9)
    stream = raw("\n\n".join(events).encode(), "text/event-stream")
    upstream.default = lambda request, body: (stream if body.get("stream") else drawn)(request, body)
    reply = httpx.post(
        serve(stream="append") + "/v1/chat/completions", json={"model": "m", "messages": ASK, "stream": True}
    )
    sent = reply.text.split("\n\n")
    assert sent[0] == ": waiting"
    assert strange in sent
    assert sent[-2:] == ["data: [DONE]", ""]
    assert json.loads(sent[-3].removeprefix("data: "))["hedgerow"]["status"] == "plain"
