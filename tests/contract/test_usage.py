"""`usage` says what a call without the proxy would have said; all that was spent beside it stands in the field `hedgerow`."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.support.upstream import Upstream, completion, sse_response, stream_chunks

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
DETAILS = {
    "prompt_tokens": 20,
    "completion_tokens": 60,
    "total_tokens": 80,
    "prompt_tokens_details": {"cached_tokens": 16, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 40, "accepted_prediction_tokens": 0},
}
"""Tokens of one call, as OpenAI reports them."""


def _counted(usage: dict[str, Any], *, one_each: bool = False) -> Any:
    turn = 0

    def reply(_request: Any, body: Any) -> Any:
        nonlocal turn
        if body.get("stream"):
            last = stream_chunks("Canberra.")[0] | {"choices": [], "usage": usage}
            return sse_response([*stream_chunks("Canberra."), last, "[DONE]"])
        n = 1 if one_each else body.get("n") or 1
        texts = [UNSURE[(turn + i) % 5] for i in range(n)]
        turn += n
        return JSONResponse(completion(*texts) | {"usage": usage})

    return reply


def test_usage_is_the_answers_own_with_its_details(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Ten calls were paid; the client's counter sees the one it would have made."""
    upstream.default = _counted(DETAILS, one_each=True)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.usage.model_dump(exclude_none=True) == DETAILS
    spent = answer.model_extra["hedgerow"]["usage"]
    one = {"prompt_tokens": 20, "completion_tokens": 60, "cached_tokens": 16, "reasoning_tokens": 40}
    assert spent["answer"] == one | {"cost": None}  # the scripted model has no price
    assert spent["samples"] == {name: 9 * tokens for name, tokens in one.items()} | {"cost": None}
    assert spent["judge"] == dict.fromkeys(one, 0) | {"cost": 0.0}


def test_where_one_call_drew_all_the_answer_is_an_average_one(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """60 tokens for ten answers are six an answer, below the client's own limit; the prompt was read once."""
    upstream.default = _counted(DETAILS)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, max_tokens=10)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (20, 6, 26)
    assert answer.usage.prompt_tokens_details.cached_tokens == 16
    assert answer.usage.completion_tokens_details.reasoning_tokens == 4
    spent = answer.model_extra["hedgerow"]["usage"]
    assert (spent["samples"]["prompt_tokens"], spent["samples"]["completion_tokens"]) == (0, 54)


def test_a_route_may_report_the_sum(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """`expose.usage: sum`: what everything cost, in the place where bills are read."""
    upstream.default = _counted(DETAILS, one_each=True)
    answer = client_of(serve(expose={"usage": "sum"})).chat.completions.create(model="m", messages=ASK)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (200, 600, 800)
    assert answer.usage.completion_tokens_details.reasoning_tokens == 400


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_stream_reports_the_same(serve: Any, client_of: Any, upstream: Upstream, stream: str) -> None:
    """In the last chunk, once, and only where `include_usage` asks for it."""
    upstream.default = _counted(DETAILS, one_each=True)
    client = client_of(serve(stream=stream))
    asked = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True, stream_options=asked))
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].choices == []
    assert chunks[-1].usage.model_dump(exclude_none=True) == DETAILS


def test_an_appended_stream_may_report_the_sum(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The served answer and nine samples."""
    upstream.default = _counted(DETAILS, one_each=True)
    client = client_of(serve(stream="append", expose={"usage": "sum"}))
    asked = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True, stream_options=asked))
    assert chunks[-1].usage.total_tokens == 800


def test_an_upstream_that_counts_nothing_is_not_counted_for(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """No `usage` is made up."""
    upstream.default = _counted({})
    upstream.enqueue(lambda _, body: JSONResponse({"choices": completion(*(UNSURE * 2))["choices"]}))
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.usage is None
