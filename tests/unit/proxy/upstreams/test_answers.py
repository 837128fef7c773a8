"""What comes from upstreams: whatever an answer holds, reading it raises nothing else."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.upstreams.answers import checked_completion, sample_of, usage_of
from tests.support.needs import EMBEDDED, LITELLM
from tests.support.tables import cases


@cases(
    ("logprobs", "mean", "truncated"),
    [
        (None, None, False),
        ({"content": [{"logprob": -0.5}, {"logprob": -1.5}]}, -1.0, False),
        ({"content": [{"logprob": -0.5}, {"logprob": -9999.0}]}, -0.5, True),
        ({"content": []}, None, False),
        ({"token_logprobs": [None, -2.0]}, -2.0, True),
        ({"content": "nonsense"}, None, False),
    ],
)
def test_the_mean_log_probability_of_a_choice(logprobs: Any, mean: float | None, truncated: bool) -> None:
    """Chat and plain completions; a token that was cut off is left out and marked."""
    sample = sample_of({"message": {"content": "x"}, "logprobs": logprobs})
    assert (sample.logprob_mean, sample.logprob_truncated) == (mean, truncated)


def test_strange_fields_of_an_answer_count_as_absent() -> None:
    """Wrong types never raise: what is not text has no text."""
    sample = sample_of({"message": {"content": ["parts"], "refusal": 5, "tool_calls": []}, "finish_reason": 7})
    assert (sample.text, sample.refusal, sample.finish_reason, sample.has_tool_calls) == ("", None, None, False)
    assert usage_of({"usage": {"prompt_tokens": "many", "completion_tokens": -1}}).total == 0


def test_an_error_never_quotes_the_upstreams_body() -> None:
    """It may hold anything."""
    with pytest.raises(UpstreamError) as caught:
        checked_completion("up", b"<html>secret</html>")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "named",
    [
        pytest.param({"provider": "embedded"}, marks=EMBEDDED, id="embedded"),
        pytest.param(
            {"provider": "litellm", "model_prefix": "openai/", "api_base": "http://127.0.0.1:9/v1"},
            marks=LITELLM,
            id="litellm",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["off", "on"])
def test_paths_that_an_upstream_does_not_serve(serve: Any, named: Any, mode: str) -> None:
    """One sentence with what to do, in the words of the endpoint."""
    address = serve(settings={"upstreams": {"scripted": named}}, mode=mode)
    refused = {}
    for path in ("embeddings", "messages/count_tokens"):
        reply = httpx.post(f"{address}/v1/{path}", json={"model": "m"})
        assert reply.status_code == 404
        refused[path] = reply.json()
        said = refused[path]["error"].pop("message")
        assert f"serves /v1/chat/completions, /v1/completions, /v1/responses and /v1/messages, not /v1/{path};" in said
        assert "for this path use a route to an upstream of `provider: openai`" in said
    assert refused["embeddings"] == {"error": {"type": "invalid_request_error", "param": None, "code": "unknown_path"}}
    assert refused["messages/count_tokens"] == {"type": "error", "error": {"type": "not_found_error"}}
