"""What decides "the same", when drawing ends, and what measures the confidence: each as a route's setting, against a scripted upstream."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import JSONResponse

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, fails, ignores_n, says

ASK: list[Any] = [{"role": "user", "content": "What did he die of?"}]
TWO_WORDINGS = ("A heart attack.", "Myocardial infarction.")


def _field(address: str, client_of: Any) -> Any:
    return client_of(address).chat.completions.create(model="m", messages=ASK).model_extra["hedgerow"]


def test_a_language_model_judges_what_rules_leave_open(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Rules keep two wordings apart; the judge joins them with one further call, whose tokens are reported."""
    upstream.enqueue(says(*TWO_WORDINGS), says("[[0, 1]]"))
    field = _field(serve(equivalence="llm", judge={"model": "judge-1"}), client_of)
    assert field["clusters"] == [10]
    assert [call["model"] for call in upstream.calls] == ["m", "judge-1"]
    upstream.default = says(*TWO_WORDINGS)
    assert _field(serve(), client_of)["clusters"] == [5, 5]


@pytest.mark.parametrize(
    ("reply", "strict", "status", "reason"),
    [
        (says("They agree."), False, "hedged", None),
        (says("They agree."), True, "degraded", "judge_nonsense"),
        (fails(500, {"error": {"message": "no"}}), True, "degraded", "model_unreachable"),
    ],
)
def test_a_judge_that_fails(
    serve: Any, client_of: Any, upstream: Upstream, reply: Any, strict: bool, status: str, reason: str | None
) -> None:
    """Its pairs stay apart, or the step fails, as the route says."""
    upstream.enqueue(says(*TWO_WORDINGS), reply)
    field = _field(serve(equivalence="llm", judge={"strict": strict}), client_of)
    assert (field["status"], field.get("reason")) == (status, reason)


def test_drawing_stops_where_answers_agree(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Ten calls for one answer each become fewer where the first say the same."""
    early = {"n": 10, "stop_early": True}
    one_a_call = {"honours_n": False}
    upstream.default = ignores_n("Canberra.")
    field = _field(serve(sampling=early, upstream_settings=one_a_call), client_of)
    assert field["clusters"] == [len(upstream.calls)]
    assert 3 <= len(upstream.calls) < 10


def test_a_later_batch_that_fails_ends_the_drawing(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """What came before it is calibrated."""
    upstream.enqueue(says("Canberra.", "Sydney.", "Perth."))
    upstream.default = fails(500, {"error": {"message": "no"}})
    field = _field(serve(sampling={"n": 10, "stop_early": True}), client_of)
    assert field["samples"] == 3
    assert field["status"] == "hedged"


def test_the_model_is_asked_whether_it_is_right(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """P(True) is .6 of the .8 that True and False have together."""
    top = [{"token": "True", "logprob": -0.5108256}, {"token": " false", "logprob": -1.6094379}]
    verdict = completion("True")
    verdict["choices"][0]["logprobs"] = {"content": [top[0] | {"top_logprobs": top}]}
    upstream.enqueue(says("Canberra."), lambda _request, _body: JSONResponse(verdict))
    field = _field(serve(signal="p_true"), client_of)
    assert field["raw"]["mean"] == pytest.approx(0.75, abs=1e-6)


def test_an_unsure_wording_is_an_unsure_answer(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The linguistic signal reads the draft, whatever the other answers say."""
    upstream.default = says("It was possibly Canberra.")
    unsure = _field(serve(signal="linguistic"), client_of)["raw"]["mean"]
    upstream.default = says("It was Canberra.")
    assert unsure < _field(serve(signal="linguistic"), client_of)["raw"]["mean"]


def test_models_may_say_how_sure_an_answer_sounds(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Two scores, and one sentence that holds none and is left out."""
    upstream.enqueue(says("It was Canberra."), says("80"), says("It sounds sure."), says("Score: 90"))
    field = _field(serve(signal="linguistic", linguistic={"reader": "models"}), client_of)
    assert field["raw"]["mean"] == pytest.approx(0.85, abs=0.01)
    prompts = [call["messages"][0]["content"] for call in upstream.calls[1:4]]
    assert all("It was Canberra." in prompt for prompt in prompts)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([says("It sounds sure.")] * 3, "unreadable"),
        ([fails(500, {"error": {"message": "no"}})] * 3, "model_unreachable"),
    ],
)
def test_readers_that_say_nothing_leave_the_draft_as_it_is(
    serve: Any, client_of: Any, upstream: Upstream, answers: list[Any], reason: str
) -> None:
    """No confidence is made up."""
    upstream.enqueue(says("It was Canberra."), *answers)
    field = _field(serve(signal="linguistic", linguistic={"reader": "models"}), client_of)
    assert (field["status"], field["reason"]) == ("degraded", reason)


def test_a_german_answer_is_heard_in_german(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The linguistic signal knows the languages of the lexicons."""
    upstream.default = says("Das ist vielleicht Canberra.")
    unsure = _field(serve(signal="linguistic"), client_of)["raw"]["mean"]
    upstream.default = says("Das ist die Stadt Canberra und nicht Sydney.")
    assert unsure < 0.5 < _field(serve(signal="linguistic"), client_of)["raw"]["mean"]


def test_sentences_that_other_answers_bear_out(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Agreement throughout is near 1; a number that half of the answers do not hold pulls it down."""
    upstream.default = says("It fell in 1989.")
    sure = _field(serve(signal="consistency"), client_of)["raw"]["mean"]
    upstream.default = says("It fell in 1989.", "It fell in 1991.")
    assert _field(serve(signal="consistency"), client_of)["raw"]["mean"] < sure - 0.1


@pytest.mark.parametrize("mode", ["on", "shadow"])
def test_a_request_without_a_claim_is_passed_on(serve: Any, client_of: Any, upstream: Upstream, mode: str) -> None:
    """One call, the client's own, with the reason in the header where the mode shows one; a route may say otherwise."""
    upstream.default = says("Roses are red.")
    poem: list[Any] = [{"role": "user", "content": "Write a poem about roses."}]
    answer = client_of(serve(mode=mode)).chat.completions.with_raw_response.create(model="m", messages=poem)
    assert answer.headers.get("x-hedgerow-reason") == ("not_a_claim" if mode == "on" else None)
    assert [call.get("n") for call in upstream.calls] == [None]
    upstream.calls.clear()
    client_of(serve(mode="on", claims_only=False)).chat.completions.create(model="m", messages=poem)
    assert upstream.calls[0]["n"] == 10


def test_answers_that_ask_back_are_passed_on(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The prompt looked like a question of fact; the answers show that it was none."""
    upstream.default = says("Which one do you mean?")
    field = _field(serve(), client_of)
    assert (field["status"], field["reason"]) == ("passed", "not_a_claim")


def test_a_short_answer_and_a_long_one_are_grouped(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """By words, where the rules leave pairs open; the audit says who decided."""
    upstream.default = says(
        "Dmitri Mendeleev",
        "The first table is credited to the Russian chemist Dmitry Ivanovich Mendeleyev.",
        "Lothar Meyer",
        "Dmitri Mendeleev",
    )
    address = serve(equivalence="local", sampling={"n": 4})
    ask = [{"role": "user", "content": "Who made the first table?"}]
    client_of(address).chat.completions.create(model="m", messages=ask)
    (row,) = rows_of(tmp_path, 1)
    story = json.loads(row["story"])
    assert story["decided_by"]["likely"] > 0
    assert sorted(map(len, story["clusters"])) == [1, 3]
