"""`sampling.probe: short` with the real client: the draft is what the client asked for, the answers beside it are as short as can be."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from pydantic import ValidationError
from starlette.responses import JSONResponse

from hedgerow.proxy.config import Settings
from hedgerow.proxy.pipeline.sampling.forms import SHORT
from hedgerow.proxy.upstreams.dialects.chat import shortened
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, fails, spent

QUESTION = "What is the capital of Australia?"
ASK: list[Any] = [{"role": "user", "content": QUESTION}]
DRAFT = "The capital of Australia is Canberra."


def is_short(body: Any) -> bool:
    """Whether a call asks for a short answer."""
    return SHORT in str(body["messages"])


def answers(draft: Any, *short: str) -> Any:
    """The client's own request is answered with one text, calls for short answers with others."""
    turn = 0

    def reply(request: Any, body: Any) -> Any:
        nonlocal turn
        if not is_short(body):
            return JSONResponse(completion(draft)) if isinstance(draft, str) else draft(request, body)
        n = body.get("n") or 1
        turn += n
        return JSONResponse(completion(*short[turn - n : turn], usage=(9, 1)))

    return reply


def test_the_draft_is_the_client_s_own_and_the_others_are_short(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """Two calls: the request as it came, at the client's temperature, and nine short answers at the route's; six of ten agree."""
    upstream.default = answers(DRAFT, *["Canberra"] * 5, *["Sydney"] * 4)
    answer = client_of(serve(sampling={"probe": "short"})).chat.completions.create(
        model="m", messages=ASK, temperature=0.2, seed=7
    )
    field = answer.model_extra["hedgerow"]
    assert "capital of Australia" in answer.choices[0].message.content
    assert (field["status"], field["samples"], field["clusters"]) == ("hedged", 10, [6, 4])
    (own,) = [call for call in upstream.calls if not is_short(call)]
    (others,) = [call for call in upstream.calls if is_short(call)]
    assert (own["messages"], own["temperature"], own["seed"], own.get("n")) == (ASK, 0.2, 7, None)
    assert (others["n"], others["temperature"]) == (9, 1.0)
    assert "seed" not in others
    assert others["messages"][-1]["content"].startswith(QUESTION)
    assert field["usage"]["answer"] == spent(7, 3)
    assert field["usage"]["samples"] == spent(9, 9)
    (row,) = rows_of(tmp_path, 1)
    assert row["draft"] == DRAFT


def test_a_draft_that_the_short_answers_contradict_stands_unsure(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """The confidence is in the draft, not in what most short answers say."""
    upstream.default = answers(DRAFT, "Canberra", *["Sydney"] * 8)
    answer = client_of(serve(sampling={"probe": "short"})).chat.completions.create(model="m", messages=ASK)
    assert "Canberra" in answer.choices[0].message.content
    assert answer.model_extra["hedgerow"]["clusters"] == [2, 8]


def test_a_long_draft_is_worded_as_one(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Short answers support no single sentence, so none gets a confidence of its own."""
    long = f"{DRAFT} It lies inland. It was founded in 1913. Its lake is artificial."
    upstream.default = answers(long, *["Canberra"] * 9)
    answer = client_of(serve(sampling={"probe": "short"})).chat.completions.create(model="m", messages=ASK)
    field = answer.model_extra["hedgerow"]
    assert field["signal"] == "semantic"
    assert "sentences" not in field


def test_a_draft_that_cannot_be_drawn_is_the_upstream_s_error(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Short answers are never sent in its place."""
    upstream.default = answers(fails(429, {"error": {"message": "slow down"}}), *["Canberra"] * 9)
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client_of(serve(sampling={"probe": "short"})).chat.completions.create(model="m", messages=ASK)


def test_a_draft_without_short_answers_goes_out_plain(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Nothing to compare it with: the plain draft, marked."""
    failing = fails(500, {"error": {"message": "broken"}})
    upstream.default = lambda request, body: (
        failing(request, body) if is_short(body) else JSONResponse(completion(DRAFT))
    )
    answer = client_of(serve(sampling={"probe": "short"})).chat.completions.create(model="m", messages=ASK)
    assert answer.choices[0].message.content == DRAFT
    assert answer.model_extra["hedgerow"]["status"] == "degraded"


def test_drawing_ends_early_beside_the_draft_s_own_cluster(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """All agree from the start: after the draft and two or three short answers the rest is saved."""
    upstream.default = answers(DRAFT, *["Canberra"] * 30)
    address = serve(sampling={"probe": "short", "stop_early": True, "n": 20})
    field = client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]
    assert not is_short(upstream.calls[0])
    assert 3 <= field["samples"] < 20
    assert field["clusters"] == [field["samples"]]


def test_shadow_tells_whether_the_served_answer_agrees_with_the_draft(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The draft's cluster comes first there as well, however small."""
    upstream.default = answers(DRAFT, *["Sydney"] * 9)
    client_of(serve(mode="shadow", sampling={"probe": "short"})).chat.completions.create(model="m", messages=ASK)
    (row,) = rows_of(tmp_path, 1)
    assert (row["draft"], row["served_agrees"]) == (DRAFT, 1)


def test_append_draws_short_answers_beside_the_stream(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The streamed answer is the draft; nothing is drawn twice."""
    from tests.support.upstream import sse_response, stream_chunks

    short = answers("never asked for", *["Canberra"] * 5, *["Sydney"] * 4)
    upstream.default = lambda request, body: (
        sse_response([*stream_chunks(DRAFT), "[DONE]"]) if body.get("stream") else short(request, body)
    )
    client = client_of(serve(stream="append", sampling={"probe": "short"}))
    chunks = list(client.chat.completions.create(model="m", messages=ASK, stream=True))
    assert chunks[-1].model_extra["hedgerow"]["clusters"] == [6, 4]
    assert sorted(map(is_short, upstream.calls)) == [False, True]


def test_the_wish_is_put_into_the_last_message_of_the_user() -> None:
    """Text or parts, nothing of the client's is changed; a plain completion stays as it is."""
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    body = {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": parts, "name": "a"}]}
    made = shortened(body, SHORT)["messages"]
    assert made[0] == body["messages"][0]
    assert made[1] == {"role": "user", "content": [*parts, {"type": "text", "text": SHORT}], "name": "a"}
    assert len(parts) == 2
    followed = {"messages": [*ASK, {"role": "assistant", "content": "Let me"}]}
    assert shortened(followed, SHORT)["messages"][0]["content"] == f"{QUESTION}\n\n{SHORT}"
    alone = {"messages": [{"role": "system", "content": "Say something."}]}
    assert shortened(alone, SHORT) == alone
    assert shortened({"prompt": "Q: 1+1? A:"}, SHORT) == {"prompt": "Q: 1+1? A:"}


def test_short_answers_do_not_go_with_consistency() -> None:
    """Refused when the configuration is read, in a sentence that names both keys."""
    route = {"name": "r", "upstream": "u", "signal": "consistency", "sampling": {"probe": "short"}}
    with pytest.raises(ValidationError, match=r"sampling\.probe is 'short'.*`signal: consistency`"):
        Settings(upstreams={"u": {"provider": "openai", "base_url": "http://localhost"}}, routes=[route])  # type: ignore[arg-type]


def test_a_route_with_short_answers_is_not_collected() -> None:
    """A map fitted on full samples alone would be wrong for it."""
    from hedgerow.proxy.config import Route, Sampling
    from hedgerow.proxy.errors import ConfigError
    from hedgerow.proxy.lab.collecting import Plan

    with pytest.raises(ConfigError, match="--from-audit"):
        Plan(Route(name="r", upstream="u", sampling=Sampling(probe="short")))
