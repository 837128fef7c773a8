"""Several choices and several prompts: what the client asked for is what is compared, and every choice has its confidence."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, says

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
    told = answer.model_extra["hedgerow"]
    assert (told["status"], told["reason"], told["clusters"]) == ("plain", "several_choices", [3, 1, 1])
    assert [(one["confidence"], one["agreeing"]) for one in told["choices"]] == [
        (0.6, 3),
        (0.2, 1),
        (0.6, 3),
        (0.2, 1),
        (0.6, 3),
    ]
    assert told["confidence"] == 0.6
    assert told["usage"]["answer"]["completion_tokens"] == 15
    assert told["usage"]["samples"]["completion_tokens"] == 0
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["samples"]) == ("plain", "several_choices", 5)


@pytest.mark.parametrize("fields", [{"n": 2}, {"n": 5, "stream": True}])
def test_too_few_choices_and_streams_pass(serve: Any, client_of: Any, upstream: Upstream, fields: Any) -> None:
    """Two choices say too little; a stream's are read by nobody but the client."""
    upstream.default = says(*UNSURE)
    reply = client_of(serve()).chat.completions.with_raw_response.create(model="m", messages=ASK, **fields)
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == "several_choices"
    assert len(upstream.calls) == 1


def test_choices_that_call_tools_pass_whole(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """All of them reach the client."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    made = completion(*UNSURE)
    made["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
    upstream.default = lambda _request, _body: JSONResponse(made)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, n=5)
    assert len(answer.choices) == 5
    told = answer.model_extra["hedgerow"]
    assert (told["status"], told["reason"]) == ("passed", "tool_calls")
    assert "choices" not in told


def test_each_prompt_has_its_own_samples(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Three choices for each of two prompts: agreement counts within a prompt."""
    upstream.default = _plain("Canberra.", "Canberra.", "Sydney.", "Mars.", "Venus.", "Jupiter.")
    ask = {"model": "m", "prompt": ["Capital of Australia?", "Largest planet?"], "n": 3}
    answer = client_of(serve()).completions.create(**ask)
    assert upstream.calls == [ask]
    told = answer.model_extra["hedgerow"]
    assert [one["agreeing"] for one in told["choices"]] == [2, 2, 1, 1, 1, 1]
    assert [round(one["confidence"], 3) for one in told["choices"]] == [0.667, 0.667, 0.333, 0.333, 0.333, 0.333]
    assert "confidence" not in told


def test_a_list_of_one_prompt_is_that_prompt(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Calibrated and hedged like the string; the upstream gets the list that was sent."""
    upstream.default = _plain(*UNSURE)
    prompt = ["Q: What is the capital of Australia?\nA:"]
    answer = client_of(serve()).completions.create(model="m", prompt=prompt)
    assert answer.model_extra["hedgerow"]["status"] == "hedged"
    assert answer.choices[0].text != "Canberra."
    assert upstream.calls[0]["prompt"] == prompt
