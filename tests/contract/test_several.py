"""Several choices and several prompts: what the client asked for is what is compared, and every choice has its confidence."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse

from tests.contract.test_budgets import spent
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, says, sse_response, stream_chunks
from tests.support.waiting import until

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def _plain(*texts: str) -> Any:
    choices = [{"index": i, "text": text, "finish_reason": "stop", "logprobs": None} for i, text in enumerate(texts)]
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    answer = {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": usage,
    }
    return lambda _request, _body: JSONResponse(answer)


def test_each_choice_has_a_confidence_and_nothing_more_is_asked(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The call and the choices are the client's own, word for word."""
    upstream.default = says(*UNSURE)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, n=5, temperature=0.7, seed=3)
    assert upstream.calls == [{"model": "m", "messages": ASK, "n": 5, "temperature": 0.7, "seed": 3}]
    assert [choice.message.content for choice in answer.choices] == list(UNSURE)
    assert answer.usage.completion_tokens == 15
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"], field["clusters"]) == ("plain", "several_choices", [3, 1, 1])
    assert [(one["confidence"], one["agreeing"]) for one in field["choices"]] == [
        (0.6, 3),
        (0.2, 1),
        (0.6, 3),
        (0.2, 1),
        (0.6, 3),
    ]
    assert field["confidence"] == 0.6
    assert field["usage"]["answer"]["completion_tokens"] == 15
    assert field["usage"]["samples"]["completion_tokens"] == 0
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["samples"]) == ("plain", "several_choices", 5)


@pytest.mark.parametrize("stream", [False, True])
def test_too_few_choices_pass(serve: Any, client_of: Any, upstream: Upstream, stream: bool) -> None:
    """Two choices say too little."""
    upstream.default = says(*UNSURE)
    reply = client_of(serve()).chat.completions.with_raw_response.create(model="m", messages=ASK, n=2, stream=stream)
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == "several_choices"
    assert len(upstream.calls) == 1


def streams(*texts: str, together: bool = False, probable: bool = False) -> Any:
    """Choices written side by side, a chunk for each or one for all; the last words come with the reason of the end, as some servers send them."""
    head = stream_chunks("")[0]

    def part(index: int, text: str, reason: str | None) -> Any:
        token = {"token": text, "logprob": -0.25, "bytes": None, "top_logprobs": []}
        known = {"content": [token]} if probable else None
        return {"index": index, "delta": {"content": text}, "finish_reason": reason, "logprobs": known}

    rounds = [[part(i, text[:4], None) for i, text in enumerate(texts)]]
    rounds.append([part(i, text[4:], "stop") for i, text in enumerate(texts)])
    chunks = [
        head | {"choices": choices}
        for parts in rounds
        for choices in ([parts] if together else [[one] for one in parts])
    ]
    usage = head | {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 15, "total_tokens": 22}}

    def reply(_request: Any, body: Any) -> Any:
        counted = bool((body.get("stream_options") or {}).get("include_usage"))
        return sse_response([*chunks, *([usage] if counted else []), "[DONE]"])

    return reply


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("probable", [False, True])
@pytest.mark.parametrize("route", [{"stream": "buffer"}, {"stream": "append"}])
def test_streamed_choices_have_a_confidence_each(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any, together: bool, probable: bool, route: Any
) -> None:
    """In the last chunk with a choice, and in the row; texts, log-probabilities and reasons are the upstream's, and nothing more is asked."""
    upstream.default = streams(*UNSURE, together=together, probable=probable)
    ask: Any = {"model": "m", "messages": ASK, "n": 5, "stream": True, "stream_options": {"include_usage": True}}
    ask |= {"logprobs": True} if probable else {}
    chunks = list(client_of(serve(**route)).chat.completions.create(**ask))
    assert upstream.calls == [ask]
    texts, ends, tokens = [""] * 5, [0] * 5, [0] * 5
    for choice in (choice for chunk in chunks for choice in chunk.choices):
        texts[choice.index] += choice.delta.content or ""
        ends[choice.index] += choice.finish_reason == "stop"
        tokens[choice.index] += len(choice.logprobs.content) if choice.logprobs else 0
    assert (texts, ends, tokens) == (list(UNSURE), [1] * 5, [2 * probable] * 5)
    *_, last, counted = chunks
    assert counted.usage.completion_tokens == 15
    field = last.model_extra["hedgerow"]
    assert (field["status"], field["reason"], field["clusters"]) == ("plain", "several_choices", [3, 1, 1])
    assert [one["confidence"] for one in field["choices"]] == [0.6, 0.2, 0.6, 0.2, 0.6]
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["samples"]) == ("plain", "several_choices", 5)


def test_streamed_choices_that_break_off_do_not_count_as_samples(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The client reads the error; the row has no confidence."""
    chunks = [stream_chunks("")[0] | {"choices": [{"index": i, "delta": {"content": "Can"}}]} for i in range(5)]
    upstream.default = lambda *_: sse_response(chunks)
    with pytest.raises(openai.APIError, match="broke off"):
        list(client_of(serve()).chat.completions.create(model="m", messages=ASK, n=5, stream=True))
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["alpha"]) == ("failed", None)


def test_prompts_in_a_stream_have_samples_of_their_own(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Two prompts with three choices each, as plain completions."""
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    texts = ("Canberra.", "Canberra.", "Sydney.", "Mars.", "Venus.", "Jupiter.")
    chunks = [
        head | {"choices": [{"index": i, "text": text, "finish_reason": "stop", "logprobs": None}]}
        for i, text in enumerate(texts)
    ]
    upstream.default = lambda *_: sse_response([*chunks, "[DONE]"])
    ask: Any = {"model": "m", "prompt": ["Capital of Australia?", "Largest planet?"], "n": 3, "stream": True}
    read = list(client_of(serve()).completions.create(**ask))
    assert "".join(choice.text for chunk in read for choice in chunk.choices) == "".join(texts)
    assert [choice.index for chunk in read for choice in chunk.choices if choice.finish_reason] == list(range(6))
    assert [one["agreeing"] for one in read[-1].model_extra["hedgerow"]["choices"]] == [2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize("stream", [False, True])
def test_shadow_measures_the_choices_that_were_served(
    serve: Any, upstream: Upstream, tmp_path: Any, stream: bool
) -> None:
    """Byte for byte the upstream's, no header, no further call; the tokens count once against a budget."""
    upstream.default = streams(*UNSURE) if stream else says(*UNSURE)
    ask = {"model": "m", "messages": ASK, "n": 5, "stream": stream, "stream_options": {"include_usage": True}}
    direct = httpx.post(f"{upstream.url}/chat/completions", json=ask)
    address = serve(mode="shadow", settings={"budgets": [{"hard": 1000}]})
    reply = httpx.post(f"{address}/v1/chat/completions", json=ask)
    assert reply.content == direct.content
    assert not [name for name in reply.headers if name.startswith("x-hedgerow")]
    (row,) = rows_of(tmp_path, 1)
    assert len(upstream.calls) == 2
    assert (row["mode"], row["status"], row["reason"]) == ("shadow", "plain", "several_choices")
    assert (row["samples"], row["clusters"], row["raw_alpha"], row["raw_beta"]) == (5, 3, 3.0, 2.0)
    assert row["response_id"] == ("chatcmpl-streamed" if stream else "chatcmpl-scripted")
    assert until(lambda: spent(tmp_path).get("tokens:*:*") == (22.0, 0.0))


def test_shadow_passes_too_few_choices_and_broken_streams(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Two choices say too little; five that break off do not count as samples."""
    chunks = [stream_chunks("")[0] | {"choices": [{"index": i, "delta": {"content": "Can"}}]} for i in range(5)]
    upstream.enqueue(says(*UNSURE), lambda *_: sse_response(chunks))
    address = serve(mode="shadow")
    for ask in ({"n": 2}, {"n": 5, "stream": True}):
        httpx.post(f"{address}/v1/chat/completions", json={"model": "m", "messages": ASK} | ask)
    few, broken = rows_of(tmp_path, 2)
    assert (few["status"], few["reason"], few["alpha"]) == ("passed", "several_choices", None)
    assert (broken["status"], broken["reason"], broken["alpha"]) == ("failed", "upstream_broken", None)


def test_choices_that_call_tools_pass_whole(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """All of them reach the client."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    made = completion(*UNSURE)
    made["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    upstream.default = lambda _request, _body: JSONResponse(made)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, n=5)
    assert len(answer.choices) == 5
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("passed", "tool_calls")
    assert "choices" not in field


def test_each_prompt_has_its_own_samples(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Three choices for each of two prompts: agreement counts within a prompt."""
    upstream.default = _plain("Canberra.", "Canberra.", "Sydney.", "Mars.", "Venus.", "Jupiter.")
    ask = {"model": "m", "prompt": ["Capital of Australia?", "Largest planet?"], "n": 3}
    answer = client_of(serve()).completions.create(**ask)
    assert upstream.calls == [ask]
    field = answer.model_extra["hedgerow"]
    assert [one["agreeing"] for one in field["choices"]] == [2, 2, 1, 1, 1, 1]
    assert [round(one["confidence"], 3) for one in field["choices"]] == [0.667, 0.667, 0.333, 0.333, 0.333, 0.333]
    assert "confidence" not in field


def test_a_list_of_one_prompt_is_that_prompt(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Calibrated and hedged like the string; the upstream gets the list that was sent."""
    upstream.default = _plain("Canberra.", "Sydney.", "Melbourne.", "Perth.", "Hobart.")
    prompt = ["Q: What is the capital of Australia?\nA:"]
    answer = client_of(serve()).completions.create(model="m", prompt=prompt)
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert not answer.choices[0].text.startswith("Canberra")
    assert upstream.calls[0]["prompt"] == prompt
