"""Answers that are measured and left as they are, because something beside them describes their very words; and streams in their order."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.contract.test_failures import rows_of
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
    message, told = answer.choices[0].message, answer.model_extra["hedgerow"]
    assert message.content == "Canberra."
    where = message.annotations[0].url_citation
    assert message.content[where.start_index : where.end_index] == "Canberra"
    assert (told["status"], told["reason"], told["confidence"]) == ("plain", "citations", 0.6)


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
    told = answer.model_extra["hedgerow"]
    assert (told["status"], told["reason"]) == ("plain", "logprobs")
    assert told["clusters"] == [3, 5, 2]
    assert told["confidence"] == pytest.approx(0.3)


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
    assert ask in upstream.calls
    choices = [chunk.choices[0] for chunk in chunks]
    assert "".join(choice.delta.content or "" for choice in choices) == "Sydney."
    assert [t.token for choice in choices if choice.logprobs for t in choice.logprobs.content] == ["Syd", "ney."]
    told = chunks[-1].model_extra["hedgerow"]
    assert (told["status"], told["reason"], told["signal"]) == ("plain", "logprobs", signal)
    assert told["clusters"] == [3, 5, 2]
