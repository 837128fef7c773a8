"""Structured output: the text is never touched, and every field has a confidence that settles by feedback."""

from __future__ import annotations

import itertools
import json
import math
from datetime import UTC, datetime
from typing import Any

import httpx
import openai
import pytest
from pydantic import BaseModel
from starlette.responses import JSONResponse

from hedgerow.calibration import FittedMap, MapRegistry, PlattMap, Provenance
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, says

ASK: list[Any] = [{"role": "user", "content": "Where is the capital of Australia, and how many people live there?"}]
FORMAT: Any = {"type": "json_object"}


class City(BaseModel):
    """What the client wants to parse."""

    name: str
    population: int
    rivers: list[str]


def city(name: str, population: int, *rivers: str) -> str:
    return json.dumps({"name": name, "population": population, "rivers": list(rivers)}, separators=(",", ":"))


ANSWERS = [
    city("Canberra", 450_000, "Molonglo", "Murrumbidgee"),
    *[city("Canberra", 466_000, "Murrumbidgee", "Molonglo")] * 5,
    *[city("Canberra", 430_000, "Molonglo")] * 2,
    *[city("Sydney", 466_000, "Parramatta")] * 2,
]


def test_each_field_has_the_share_of_answers_that_agree(
    serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """The answer with most in common is served as it came; lists are compared by content."""
    upstream.default = says(*ANSWERS)
    answer = client_of(serve()).chat.completions.parse(model="m", messages=ASK, response_format=City)
    assert answer.choices[0].message.content == ANSWERS[1]
    assert answer.choices[0].message.parsed.name == "Canberra"
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"], field["signal"]) == ("plain", "structured_output", "fields")
    fields = field["fields"]
    assert fields["$.name"]["raw"] == {"alpha": 8.0, "beta": 2.0, "mean": 0.8}
    assert fields["$.population"] == {
        "confidence": 0.7,
        "raw": {"alpha": 7.0, "beta": 3.0, "mean": 0.7},
        "agree": 6,
        "differ": 3,
    }
    assert [fields[f"$.rivers[{i}]"]["raw"]["mean"] for i in (0, 1)] == [0.6, 0.8]
    (row,) = rows_of(tmp_path, 1)
    assert row["alpha"] / (row["alpha"] + row["beta"]) == pytest.approx((0.8 + 0.7 + 0.6 + 0.8) / 4)


def test_each_field_goes_through_the_routes_map(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any) -> None:
    """It is measured by how many answers agree, so the map of that signal corrects it."""
    made = Provenance(500, 0.4, "0" * 64, "semantic", "m", datetime.now(UTC))
    MapRegistry(tmp_path / "maps").add("one", FittedMap(PlattMap(1.0, -1.0), made))
    upstream.default = says(*ANSWERS)
    address = serve(settings={"server": {"admin_key": "adm-of-these-tests"}})
    to = {"url": f"{address}/v1/admin/routes/test/map", "headers": {"authorization": "Bearer adm-of-these-tests"}}
    assert httpx.post(json={"map": "one"}, **to).status_code == 200
    answer = client_of(address).chat.completions.create(model="m", messages=ASK, response_format=FORMAT)
    extra = answer.model_extra["hedgerow"]
    assert (extra["map"], extra["uncalibrated"]) == ("one", False)
    for field in extra["fields"].values():
        raw = field["raw"]["mean"]
        assert field["confidence"] == pytest.approx(1 / (1 + (1 - raw) / raw * math.e), abs=1e-6)


def test_a_field_settles_by_feedback(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """By its place; a wrong place is named, and the same verdict again changes nothing."""
    upstream.default = says(*ANSWERS)
    address = serve()
    answer = client_of(address).chat.completions.create(model="m", messages=ASK, response_format=FORMAT)
    name = answer.model_extra["hedgerow"]["id"]

    def judge(**fields: Any) -> Any:
        return httpx.post(f"{address}/v1/feedback", json={"id": name, "fields": fields})

    settled = judge(**{"$.name": True, "$.population": False, "$.country": True}).json()
    assert settled["changed"] is True
    divergence = {
        path: each["faithfulness_divergence"]["raw"] for path, each in settled["fields"].items() if "id" in each
    }
    assert divergence["$.name"] < divergence["$.population"]
    assert settled["fields"]["$.country"]["error"]["code"] == "unknown_field"
    assert judge(**{"$.name": True}).json()["changed"] is False
    assert judge(**{"$.name": 3}).status_code == 400
    assert judge(**{"$.country": True}).json()["error"]["message"].endswith("has a field $.country")


def test_json_that_nobody_asked_for_is_measured_too(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Also in a block of code, as some clients prompt for it."""
    upstream.default = says(*(f"```json\n{text}\n```" for text in ANSWERS))
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK)
    assert answer.choices[0].message.content == f"```json\n{ANSWERS[1]}\n```"
    assert answer.model_extra["hedgerow"]["fields"]["$.name"]["confidence"] == 0.8


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_stream_keeps_its_text(serve: Any, client_of: Any, upstream: Upstream, stream: str) -> None:
    """Piece by piece the same JSON; the fields stand in the last chunk."""
    upstream.default = says(*ANSWERS[1:])
    chunks = list(
        client_of(serve(stream=stream)).chat.completions.create(
            model="m", messages=ASK, response_format=FORMAT, stream=True
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == ANSWERS[1]
    assert chunks[-1].model_extra["hedgerow"]["fields"]["$.name"]["confidence"] > 0.7


def test_a_route_may_pass_json_on_with_one_call(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """As it came, and it says so."""
    upstream.default = says(*ANSWERS)
    client: openai.OpenAI = client_of(serve(structured_output="pass"))
    reply = client.chat.completions.with_raw_response.create(model="m", messages=ASK, response_format=FORMAT)
    assert (reply.headers["x-hedgerow-status"], reply.headers["x-hedgerow-reason"]) == ("passed", "structured_output")
    assert len(upstream.calls) == 1


def test_an_answer_that_is_not_json_goes_on_as_it_is(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The client asked for JSON and will see what is wrong; nothing is measured, nothing reworded."""
    upstream.default = says("I cannot say that in JSON.")
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, response_format=FORMAT)
    assert answer.choices[0].message.content == "I cannot say that in JSON."
    assert answer.model_extra["hedgerow"]["status"] == "passed"


def test_too_few_answers_in_json_leave_the_answer_unmeasured(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """No confidence is made up from one answer."""
    upstream.default = says(ANSWERS[0], *["{broken"] * 9)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, response_format=FORMAT)
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("degraded", "too_few_samples")
    assert answer.choices[0].message.content == ANSWERS[0]
    assert "confidence" not in field


@pytest.mark.parametrize("odd", ["[]", "{}", '{"a": null}', "[" * 150 + "]" * 150, '{"a": ' + "9" * 400 + "}"])
def test_odd_json_is_served_as_it_came(serve: Any, client_of: Any, upstream: Upstream, odd: str) -> None:
    """Whatever its shape."""
    upstream.default = says(odd)
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, response_format=FORMAT)
    assert answer.choices[0].message.content == odd


TOOL: Any = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}


def calls(*arguments: str) -> Any:
    """One call an answer, its arguments in turn; "" answers in words."""
    turn = itertools.cycle(arguments)

    def choice(index: int) -> Any:
        given = next(turn)
        called = [{"id": "c", "type": "function", "function": {"name": "find", "arguments": given}}]
        message = {"role": "assistant", "content": None if given else "Canberra."} | (
            {"tool_calls": called} if given else {}
        )
        return {"index": index, "finish_reason": "tool_calls" if given else "stop", "message": message}

    def reply(_request: Any, body: Any) -> Any:
        return JSONResponse(completion() | {"choices": [choice(i) for i in range(body.get("n") or 1)]})

    return reply


def test_calls_of_tools_are_measured_where_a_route_wants_it(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Name and arguments each have a confidence; the first call goes on as it came, also where a command asks for nothing true or false."""
    upstream.default = calls(*['{"city": "Canberra", "days": 3}'] * 4, '{"days": 5, "city": "canberra"}', "")
    ask: Any = [{"role": "user", "content": "Book me a hotel in the capital of Australia."}]
    answer = client_of(serve(tool_calls="measure")).chat.completions.create(model="m", messages=ask, tools=[TOOL])
    assert answer.choices[0].message.tool_calls[0].function.arguments == '{"city": "Canberra", "days": 3}'
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"]) == ("plain", "tool_calls")
    means = {path: each["raw"]["mean"] for path, each in field["fields"].items()}
    assert means == {"$[0].name": 0.9, "$[0].arguments.city": 0.9, "$[0].arguments.days": 0.8}


def test_calls_of_tools_cost_one_call_unless_a_route_wants_more(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Passed on."""
    upstream.default = calls('{"city": "Canberra"}')
    answer = client_of(serve()).chat.completions.create(model="m", messages=ASK, tools=[TOOL])
    assert answer.model_extra["hedgerow"]["status"] == "passed"
    assert len(upstream.calls) == 1


def test_a_command_answered_in_words_is_not_a_claim(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Where tools are measured, what is asked is looked at once it is known that none is called."""
    upstream.default = says("Done.")
    ask: Any = [{"role": "user", "content": "Write me a poem about hotels."}]
    answer = client_of(serve(tool_calls="measure")).chat.completions.create(model="m", messages=ask, tools=[TOOL])
    assert answer.model_extra["hedgerow"]["reason"] == "not_a_claim"
