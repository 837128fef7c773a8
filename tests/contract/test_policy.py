"""The policy of a route: answer, hedge, abstain or escalate, by what outcomes cost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.upstream import Upstream, completion, fails, raw, says, spent

ASK: list[Any] = [{"role": "user", "content": "What is the capital of Australia?"}]
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")


def _ask(client: Any) -> Any:
    return client.chat.completions.create(model="m", messages=ASK)


def test_too_unsure_an_answer_is_refused_in_the_routes_words(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """At mean .6 a wrong answer costs .4 x 9 = 3.6, a refusal .6 x 1: refusing is cheaper."""
    upstream.default = says(*UNSURE)
    policy = {"wrong": 9, "needless_abstention": 1, "refusal": "Ask a librarian."}
    answer = _ask(client_of(serve(policy=policy)))
    assert answer.choices[0].message.content == "Ask a librarian."
    assert answer.model_extra["hedgerow"]["status"] == "abstained"
    assert answer.model_extra["hedgerow"]["confidence"] == pytest.approx(0.6)


def test_where_refusing_is_dear_the_answer_is_hedged(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """At mean .6 a wrong answer costs .4 x 1, a refusal .6 x 9."""
    upstream.default = says(*UNSURE)
    answer = _ask(client_of(serve(policy={"wrong": 1, "needless_abstention": 9})))
    assert answer.model_extra["hedgerow"]["status"] == "hedged"


def test_a_hedge_that_costs_more_than_it_saves_is_left_out(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """At mean .6, plain: .4 x 1 = .4; hedged: .4 x .9 + .6 x .5 = .66."""
    upstream.default = says(*UNSURE)
    policy = {"wrong": 1, "needless_abstention": 9, "hedged_wrong": 0.9, "hedged_right": 0.5}
    answer = _ask(client_of(serve(policy=policy)))
    assert answer.choices[0].message.content == "Canberra."
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("plain", "sure_enough")


SPLIT = (
    "Canberra.",
    "Sydney.",
    "Melbourne.",
    "Perth.",
    "Hobart.",
    "Darwin.",
    "Cairns.",
    "Albury.",
    "Ballarat.",
    "Bendigo.",
)


def test_next_to_no_confidence_is_said_up_front(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """By default; ten answers in ten ways are a tenth sure."""
    upstream.default = says(*SPLIT)
    answer = _ask(client_of(serve()))
    text, field = answer.choices[0].message.content, answer.model_extra["hedgerow"]
    assert text.rstrip(".").endswith("my best guess is Canberra")
    assert (field["status"], field["rewrite"]["rewriter"]) == ("hedged", "local")


def test_next_to_no_confidence_is_refused_where_the_route_says_so(
    serve: Any, client_of: Any, upstream: Upstream
) -> None:
    """Without costs: what is surer is hedged as ever."""
    client = client_of(serve(policy={"low_confidence": "abstain", "refusal": "Ask a librarian."}))
    upstream.default = says(*SPLIT)
    assert _ask(client).choices[0].message.content == "Ask a librarian."
    upstream.default = says(*UNSURE)
    assert _ask(client).model_extra["hedgerow"]["status"] == "hedged"


def test_next_to_no_confidence_goes_to_a_stronger_model_where_the_route_says_so(
    serve: Any, client_of: Any, upstream: Upstream, strong: Any
) -> None:
    upstream.enqueue(says(*SPLIT), says("Canberra, since 1913."))
    policy = {"low_confidence": "escalate", "escalate_to": "strong"}
    answer = _ask(client_of(serve(policy=policy, settings=strong)))
    assert answer.choices[0].message.content == "Canberra, since 1913."
    assert answer.model_extra["hedgerow"]["status"] == "escalated"


@pytest.fixture
def strong(upstream: Upstream) -> dict[str, Any]:
    """A configuration with a second name for the scripted upstream: the stronger model."""
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    return {"upstreams": {"scripted": named, "strong": named}}


POLICY = {"wrong": 9, "needless_abstention": 9, "escalate_to": "strong", "escalate_model": "big", "escalation": 0.5}


def test_a_stronger_model_is_asked(serve: Any, client_of: Any, upstream: Upstream, strong: Any) -> None:
    """Its answer is the client's, its tokens are in the bill, and the row says so."""
    import json

    upstream.enqueue(says(*UNSURE), raw(json.dumps(completion("Canberra, since 1913.", usage=(50, 9))).encode()))
    answer = _ask(client_of(serve(settings=strong, policy=POLICY)))
    field = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content == "Canberra, since 1913."
    assert field["status"] == "escalated"
    assert field["usage"]["escalation"] == spent(50, 9)
    assert answer.usage.total_tokens == 59
    assert upstream.calls[-1]["model"] == "big"


def test_a_stronger_model_that_fails_leaves_the_draft(
    serve: Any, client_of: Any, upstream: Upstream, strong: Any
) -> None:
    """Marked as degraded, with the reason."""
    upstream.enqueue(says(*UNSURE), fails(500, {"error": {"message": "down"}}))
    answer = _ask(client_of(serve(settings=strong, policy=POLICY)))
    field = answer.model_extra["hedgerow"]
    assert answer.choices[0].message.content == "Canberra."
    assert (field["status"], field["reason"]) == ("degraded", "escalation_failed")
