"""Answers that are measured and left as they are, because something beside them describes their very words; and streams in their order."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse, Response

from benchmarks.performance.untouched import differences
from hedgerow.proxy.upstreams.dialects import messages, responses
from tests.contract.test_failures import rows_of
from tests.support import messages as messages_support
from tests.support import responses as responses_support
from tests.support.upstream import Upstream, completion, fails, says, sse_response, stream_chunks

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
CHAT = "/v1/chat/completions"
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def test_citations_keep_their_places(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Offsets into a reworded text would point elsewhere."""
    cited = {"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 8, "url": "u", "title": "t"}}

    def reply(_request: Any, body: Any) -> Any:
        answer = completion(*(UNSURE * 2)[: body.get("n") or 1])
        for choice in answer["choices"]:
            choice["message"]["annotations"] = [cited]
        return JSONResponse(answer)

    upstream.default = reply
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    message, field = answer.choices[0].message, answer.model_extra["hedgerow"]
    assert message.content == "Canberra."
    where = message.annotations[0].url_citation
    assert message.content[where.start_index : where.end_index] == "Canberra"
    assert (field["status"], field["reason"], field["confidence"]) == ("plain", "citations", 0.6)


CITIES = ["Canberra"] * 6 + ["Sydney"] * 2 + ["Melbourne", "Perth"]
SOURCE = {"type": "web_search_result_location", "url": "u", "title": "t", "encrypted_index": "x", "cited_text": "c"}


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_cited_response_is_measured_and_its_places_hold(
    serve: Any, client_of: Any, upstream: Upstream, stream: str
) -> None:
    """A search of the provider's: what its citations point at is where they say, whole, streamed, and before a sentence of ours."""
    turn = itertools.count()

    def reply(_request: Any, body: Any) -> Any:
        city = CITIES[next(turn) % len(CITIES)]
        text = f"The capital of Australia is {city}."
        cited = {"type": "url_citation", "start_index": 28, "end_index": 28 + len(city), "url": "u", "title": "t"}
        item = responses_support.message(text)
        item["content"][0]["annotations"] = [cited]
        search = {"id": "ws_1", "type": "web_search_call", "status": "completed"}
        answer = responses_support.response(search, item)
        if not body.get("stream"):
            return JSONResponse(answer)
        return Response(b"".join(responses.events(answer, lambda text: [text])), media_type="text/event-stream")

    upstream.default = reply
    client = client_of(serve(stream=stream))
    ask: Any = {"model": "m", "input": ASK[0]["content"], "tools": [{"type": "web_search"}], "store": False}
    answers = [client.responses.create(**ask)]
    with client.responses.stream(**ask) as events:
        answers.append(events.until_done().get_final_response())
    for answer in answers:
        field, (part,) = answer.hedgerow, answer.output[-1].content
        (where,) = part.annotations
        assert part.text[where.start_index : where.end_index] == "Canberra"
        assert field["confidence"] == pytest.approx(0.6)
        is_appended = stream == "append" and answer is answers[-1]
        assert field["reason"] == (None if is_appended else "citations")
        assert (part.text == "The capital of Australia is Canberra.") is not is_appended


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_cited_message_is_measured_as_a_whole(serve: Any, claude_of: Any, upstream: Upstream, stream: str) -> None:
    """Citations cut a text into blocks: its last block is a full stop, in which all answers agree."""
    turn = itertools.count()

    def reply(_request: Any, body: Any) -> Any:
        cited = {"type": "text", "text": f"Australia is {CITIES[next(turn) % len(CITIES)]}", "citations": [SOURCE]}
        looks = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "capital"}}
        saw = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
        texts = ({"type": "text", "text": "I will look."}, {"type": "text", "text": "The capital of "})
        answer = messages_support.message(texts[0], looks, saw, texts[1], cited, {"type": "text", "text": "."})
        if not body.get("stream"):
            return JSONResponse(answer)
        return Response(b"".join(messages.events(answer, lambda text: [text])), media_type="text/event-stream")

    upstream.default = reply
    client = claude_of(serve(stream=stream))
    ask: Any = {"model": "m", "max_tokens": 64, "messages": ASK}
    ask["tools"] = [{"type": "web_search_20250305", "name": "web_search"}]
    whole = client.messages.create(**ask)
    with client.messages.stream(**ask) as events:
        of_stream = next(event.hedgerow for event in events if event.type == "message_delta")
        streamed = events.get_final_message()
    for answer, field in ((whole, whole.hedgerow), (streamed, of_stream)):
        said = [block.text for block in answer.content if block.type == "text"]
        assert said[:3] == ["I will look.", "The capital of ", "Australia is Canberra"]
        assert said[3].startswith(".")
        assert field["confidence"] == pytest.approx(0.6)
        is_appended = stream == "append" and answer is streamed
        assert field["reason"] == (None if is_appended else "citations")
        assert (said[3] == ".") is not is_appended


@pytest.mark.parametrize("asked", [{"logprobs": True, "top_logprobs": 2}, {"logprobs": True}])
def test_log_probabilities_stay_with_their_words(serve: Any, client_of: Any, upstream: Upstream, asked: Any) -> None:
    """The client's own call is the answer; the others only measure it."""

    def reply(_request: Any, body: Any) -> Any:
        own = "temperature" not in body
        answer = completion(*(["Sydney."] if own else (UNSURE * 2)[: body.get("n") or 1]))
        for choice in answer["choices"]:
            words = choice["message"]["content"]
            choice["logprobs"] = {"content": [{"token": words, "logprob": -0.5, "bytes": None, "top_logprobs": []}]}
        return JSONResponse(answer)

    upstream.default = reply
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, **asked)
    assert {"model": "m", "messages": ASK} | asked in upstream.calls
    assert answer.choices[0].message.content == "Sydney."
    assert answer.choices[0].logprobs.content[0].token == "Sydney."
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("plain", "logprobs")
    assert field["clusters"] == [3, 5, 2]
    assert field["confidence"] == pytest.approx(0.3)


def test_plain_completions_ask_for_them_with_zero(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`logprobs: 0` is a wish too."""

    def reply(_request: Any, body: Any) -> Any:
        texts = (UNSURE * 2)[: body.get("n") or 1]
        kept = {"tokens": ["x"], "token_logprobs": [-math.log(2)], "top_logprobs": None, "text_offset": [0]}
        choices = [
            {"index": i, "text": text, "finish_reason": "stop", "logprobs": kept} for i, text in enumerate(texts)
        ]
        return JSONResponse({"id": "c", "object": "text_completion", "created": 1, "model": "m", "choices": choices})

    upstream.default = reply
    ask = {"model": "m", "prompt": "Q: What is the capital of Australia?\nA:", "logprobs": 0}
    answer = client_of(serve()).completions.create(**ask)
    assert answer.choices[0].text == "Canberra."
    assert answer.choices[0].logprobs.token_logprobs == [-math.log(2)]
    assert answer.model_extra["hedgerow"]["reason"] == "logprobs"
    assert ask in upstream.calls


def test_thoughts_come_before_the_answer(serve: Any, upstream: Upstream) -> None:
    """As a model streams them: a client that shows what comes would put them below the answer."""

    def reply(_request: Any, body: Any) -> Any:
        answer = completion(*(UNSURE * 2)[: body.get("n") or 1])
        for choice in answer["choices"]:
            choice["message"] |= {"reasoning_content": "Not Sydney.", "own_field": 1}
        return JSONResponse(answer)

    upstream.default = reply
    got = httpx.post(serve() + CHAT, json={"model": "m", "messages": ASK, "stream": True})
    events = [json.loads(line[6:]) for line in got.text.splitlines() if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"] for event in events]
    assert deltas[1] == {"reasoning_content": "Not Sydney."}
    assert "Canberra" in "".join(delta.get("content", "") for delta in deltas[2:])
    assert deltas[-2] == {"own_field": 1}


def test_an_early_error_keeps_its_status_however_long_the_retries(serve: Any, upstream: Upstream) -> None:
    """No stream is begun while the upstream refuses: its refusal is the answer."""
    error = {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}
    upstream.default = fails(429, error, {"retry-after": "0.4"})
    address = serve(settings={"server": {"keep_alive_s": 0.1}}, upstream_settings={"retries": 2})
    reply = httpx.post(address + CHAT, json={"model": "m", "messages": ASK, "stream": True}, timeout=30)
    assert (reply.status_code, reply.json()) == (429, error)
    assert len(upstream.calls) == 3
    upstream.enqueue(fails(429, error, {"retry-after": "0.4"}))
    upstream.default = says(*UNSURE)
    reply = httpx.post(address + CHAT, json={"model": "m", "messages": ASK, "stream": True}, timeout=30)
    assert reply.status_code == 200
    assert b"[DONE]" in reply.content


@pytest.mark.parametrize(
    "events",
    [
        stream_chunks("Canberra.")[:-1],
        [*stream_chunks("Canberra.")[:-1], {"error": {"message": "overloaded"}}],
        [*stream_chunks("Canberra.")[:-1], "{"],
    ],
)
def test_shadow_takes_no_broken_stream_for_an_answer(
    serve: Any, upstream: Upstream, tmp_path: Any, events: Any
) -> None:
    """Cut off, ended by an error, or garbled: nothing is drawn for it."""
    upstream.enqueue(lambda _request, _body: sse_response(events))
    reply = httpx.post(serve(mode="shadow") + CHAT, json={"model": "m", "messages": ASK, "stream": True})
    assert reply.status_code == 200
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("failed", "upstream_broken")
    assert len(upstream.calls) == 1


@pytest.mark.parametrize("stream", ["buffer", "append"])
@pytest.mark.parametrize("signal", ["semantic", "token"])
def test_a_stream_with_log_probabilities_is_measured(
    serve: Any, client_of: Any, upstream: Upstream, stream: str, signal: str
) -> None:
    """Its chunks arrive as they were sent, whatever the route says of streams; the last one tells the confidence."""

    def token(words: str) -> Any:
        return {"content": [{"token": words, "logprob": -0.5, "bytes": None, "top_logprobs": []}]}

    def reply(_request: Any, body: Any) -> Any:
        if body.get("stream"):
            head = stream_chunks("")[0]
            said = [{"index": 0, "delta": {"content": w}, "logprobs": token(w)} for w in ("Syd", "ney.")]
            ends = [{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": None}]
            return sse_response([*(head | {"choices": [part]} for part in [*said, *ends]), "[DONE]"])
        answer = completion(*(UNSURE * 2)[: body.get("n") or 1])
        for choice in answer["choices"]:
            choice["logprobs"] = token(choice["message"]["content"])
        return JSONResponse(answer)

    upstream.default = reply
    ask: Any = {"model": "m", "messages": ASK, "stream": True, "logprobs": True}
    route = {"signal": signal} | ({"stream": stream} if signal == "semantic" else {})
    chunks = list(client_of(serve(**route)).chat.completions.create(**ask))
    assert ask | {"stream_options": {"include_usage": True}} in upstream.calls
    choices = [chunk.choices[0] for chunk in chunks]
    assert "".join(choice.delta.content or "" for choice in choices) == "Sydney."
    assert [t.token for choice in choices if choice.logprobs for t in choice.logprobs.content] == ["Syd", "ney."]
    field = chunks[-1].model_extra["hedgerow"]
    assert (field["status"], field["reason"], field["signal"]) == ("plain", "logprobs", signal)
    assert field["clusters"] == [3, 5, 2]


def test_generated_answers_are_read_as_direct() -> None:
    """A few of those of `benchmarks.performance.untouched`: whatever they hold, however they are cut, in every mode."""
    wrong, ways = asyncio.run(differences(160))
    assert (wrong, sum(ways.values())) == ([], 160)
