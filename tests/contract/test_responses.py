"""The real openai client on `/v1/responses`: calibrated like a chat, and every item that is not the answer's text stays as it was."""

from __future__ import annotations

import json
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects.responses import events
from tests.contract.test_failures import rows_of
from tests.support.responses import message, responds, response
from tests.support.upstream import Upstream, completion

ASK = "What is the capital of Australia?"
UNSURE = ["Canberra."] * 6 + ["Sydney."] * 2 + ["Melbourne.", "Perth."]
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "I recall maps."}]}
CALL = {"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "c", "name": "find", "arguments": "{}"}
TOOL: Any = {"type": "function", "name": "find", "parameters": {"type": "object", "properties": {}}, "strict": False}

MCP: Any = {"type": "mcp", "server_label": "mail", "server_url": "http://x", "require_approval": "never"}


def test_an_unsure_response_is_hedged(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The text is reworded; reasoning, id and tokens are the upstream's, whose kept answer is the one that is worded."""
    upstream.default = responds(*UNSURE, before=(REASONING,))
    answer = client_of(serve()).responses.create(model="m", input=ASK, instructions="Be brief.")
    assert "Canberra" in answer.output_text
    assert answer.output_text != "Canberra."
    assert answer.output[0].summary[0].text == "I recall maps."
    assert answer.id == "resp_0"
    assert answer.usage.output_tokens_details.reasoning_tokens == 2
    assert answer.usage.total_tokens == 10
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["clusters"]) == ("hedged", [6, 2, 1, 1])
    assert field["usage"]["samples"]["completion_tokens"] == 27
    assert {call.get("instructions") for call in upstream.calls} == {"Be brief."}
    assert rows_of(tmp_path, 1)[0]["response_id"] == "resp_0"


def test_a_response_settles_by_its_own_id(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Feedback and the audit take the id that the client has."""
    upstream.default = responds(*UNSURE)
    address = serve()
    answer = client_of(address).responses.create(model="m", input=ASK)
    settled = httpx.post(f"{address}/v1/feedback", json={"id": answer.id, "correct": True}).json()
    assert settled["id"] == answer.model_extra["hedgerow"]["id"]
    assert settled["faithfulness_divergence"]["calibrated"] > 0
    assert httpx.get(f"{address}/v1/audit/{answer.id}").json()["response_id"] == answer.id


def test_samples_leave_no_trace_and_the_conversation_goes_on(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Only the client's own answer is kept by the upstream, so that the next request can refer to it."""
    upstream.default = responds(*UNSURE)
    client = client_of(serve())
    first = client.responses.create(model="m", input=ASK)
    client.responses.create(model="m", input="And of Austria?", previous_response_id=first.id)
    calls = upstream.calls[10:]
    assert [call.get("previous_response_id") for call in calls] == ["resp_0"] * 10
    assert sorted(str(call.get("store")) for call in calls) == ["False"] * 9 + ["None"]


def test_what_the_client_does_not_want_kept_is_not_kept(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """With `store: false` all answers are equal, and the largest group's is worded."""
    upstream.default = responds("Perth.", "Sydney.", *["Canberra."] * 9)
    answer = client_of(serve()).responses.create(model="m", input=ASK, store=False)
    assert "Canberra" in answer.output_text
    assert {call["store"] for call in upstream.calls} == {False}


@pytest.mark.parametrize("stream", ["buffer", "append"])
def test_a_stream_is_what_its_client_accumulates(
    serve: Any, client_of: Any, upstream: Upstream, stream: str, tmp_path: Any
) -> None:
    """Deltas, done events and the final response agree with each other, and hold the hedged text."""
    upstream.default = responds(*UNSURE, before=(REASONING,))
    with client_of(serve(stream=stream)).responses.stream(model="m", input=ASK) as events_:
        seen = list(events_)
        final = events_.get_final_response()
    deltas = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
    done = [event.text for event in seen if event.type == "response.output_text.done"]
    assert deltas == done[0] == final.output_text
    assert "Canberra" in deltas
    assert deltas != "Canberra."
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    assert final.output[0].type == "reasoning"
    assert final.model_extra["hedgerow"]["status"] == "hedged"
    assert rows_of(tmp_path, 1)[0]["status"] == "hedged"


def test_calls_of_functions_stay_as_they_are(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """One answer is drawn, to see; it is a call, and goes on."""
    upstream.default = lambda *_: JSONResponse(response(message("Let me look."), CALL))
    answer = client_of(serve()).responses.create(model="m", input=ASK, tools=[TOOL])
    assert answer.output[1].name == "find"
    assert answer.output_text == "Let me look."
    assert answer.model_extra["hedgerow"]["reason"] == "tool_calls"
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"conversation": "conv_1"}, "conversation"),
        ({"background": True}, "background"),
        ({"tools": [MCP]}, "acting_tools"),
        ({"tools": [{"type": "web_search"}, {"type": "image_generation"}]}, "acting_tools"),
        ({"tools": [TOOL], "tool_choice": "required"}, "tool_calls"),
    ],
)
def test_what_is_passed_on_says_why(
    serve: Any, client_of: Any, upstream: Upstream, more: dict[str, Any], reason: str
) -> None:
    """One call, untouched."""
    upstream.default = responds("Canberra.")
    reply = client_of(serve()).responses.with_raw_response.create(model="m", input=ASK, **more)
    assert reply.headers["x-hedgerow-status"] == "passed"
    assert reply.headers["x-hedgerow-reason"] == reason
    assert reply.parse().output_text == "Canberra."
    assert len(upstream.calls) == 1


@pytest.mark.parametrize("more", [{"tools": [{"type": "web_search"}]}, {"tools": [MCP], "tool_choice": "none"}])
def test_what_only_looks_something_up_is_calibrated(
    serve: Any, client_of: Any, upstream: Upstream, more: dict[str, Any]
) -> None:
    """Every sample may search on its own; the call of the search stays."""
    search = {
        "id": "ws_1",
        "type": "web_search_call",
        "status": "completed",
        "action": {"type": "search", "query": "q"},
    }
    upstream.default = responds(*UNSURE, before=(search,))
    answer = client_of(serve()).responses.create(model="m", input=ASK, **more)
    assert answer.output[0].action.query == "q"
    assert answer.model_extra["hedgerow"]["clusters"] == [6, 2, 1, 1]


@pytest.mark.parametrize("route", [{"stream": "buffer"}, {"stream": "append"}])
@pytest.mark.parametrize("stream", [False, True])
def test_log_probabilities_stay_with_their_words(
    serve: Any, client_of: Any, upstream: Upstream, stream: bool, route: Any
) -> None:
    """The answer is the upstream's own, and its confidence is reported."""
    inner = responds("Sydney.", *UNSURE)
    token = {"token": "x", "logprob": -0.5, "bytes": [120], "top_logprobs": []}

    def reply(request: Any, body: Any) -> Any:
        body = body | {"stream": False}
        answer = json.loads(inner(request, body).body)
        answer["output"][0]["content"][0]["logprobs"] = [token]
        if not upstream.calls[-1].get("stream"):
            return JSONResponse(answer)
        return Response(b"".join(events(answer, lambda text: [text])), media_type="text/event-stream")

    upstream.default = reply
    asked: Any = {"model": "m", "input": ASK, "include": ["message.output_text.logprobs"]}
    client = client_of(serve(**route))
    if stream:
        with client.responses.stream(**asked) as events_:
            list(events_)
            answer = events_.get_final_response()
    else:
        answer = client.responses.create(**asked)
    assert answer.output_text == "Sydney."
    assert [token.token for token in answer.output[0].content[0].logprobs] == ["x"]
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["reason"], field["clusters"][0]) == ("plain", "logprobs", 2 + 1)


def test_fields_of_structured_output_are_measured(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """As in chat; the text stays."""
    upstream.default = responds('{"capital": "Canberra"}', '{"capital": "Sydney"}', '{"capital": "Canberra"}')
    answer = client_of(serve()).responses.create(model="m", input=ASK, text={"format": {"type": "json_object"}})
    assert answer.output_text == '{"capital": "Canberra"}'
    assert answer.model_extra["hedgerow"]["fields"]["$.capital"]["raw"]["alpha"] == 5.0


def test_samples_think_as_long_as_the_route_says(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The client's own call keeps its effort; the samples have the route's, and what else the client says of reasoning."""
    upstream.default = responds(*UNSURE)
    address = serve(sampling={"reasoning_effort": "low"})
    client_of(address).responses.create(model="m", input=ASK, reasoning={"effort": "high", "summary": "auto"})
    asked = [call["reasoning"] for call in upstream.calls]
    assert asked.count({"effort": "high", "summary": "auto"}) == 1
    assert asked.count({"effort": "low", "summary": "auto"}) == 9


def test_shadow_compares_what_was_served(serve: Any, client_of: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The client sees no trace; the row holds the confidence, for a stream too."""
    upstream.default = responds("Canberra.", *UNSURE)
    with client_of(serve(mode="shadow")).responses.stream(model="m", input=ASK) as events_:
        final = events_.get_final_response()
    assert final.output_text == "Canberra."
    assert "hedgerow" not in (final.model_extra or {})
    (row,) = rows_of(tmp_path, 1)
    assert (row["mode"], row["served_agrees"], row["response_id"]) == ("shadow", True, "resp_0")


def test_an_upstream_that_answers_with_a_chat_is_named(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """The client reads what is wrong; nothing is guessed."""
    upstream.default = lambda *_: JSONResponse(completion("Canberra."))
    with pytest.raises(openai.APIStatusError, match="without a list of output items"):
        client_of(serve()).responses.create(model="m", input=ASK)


def test_an_error_after_the_stream_began_reaches_the_client(serve: Any, client_of: Any, upstream: Upstream) -> None:
    """Comment lines kept the stream open; the error is its last event, and the client raises it."""
    import time

    def slow(_request: Any, _body: Any) -> Any:
        time.sleep(0.3)
        return JSONResponse({"error": {"message": "no such model", "type": "invalid_request_error"}}, 404)

    upstream.default = slow
    address = serve(settings={"server": {"keep_alive_s": 0.1}})
    with pytest.raises(openai.APIError, match="no such model"):
        list(client_of(address).responses.create(model="m", input=ASK, stream=True))


@pytest.mark.parametrize(
    "body",
    [
        {"input": 5},
        {"input": [None, {"type": "item_reference", "id": "x"}, {"type": "new_kind"}]},
        {"input": ASK, "tools": [TOOL] * 200},
        {"input": [{"role": "user", "content": {"a": 1}}], "text": 4, "include": "x", "metadata": [1]},
    ],
)
def test_odd_requests_are_the_upstreams_to_judge(
    serve: Any, client_of: Any, upstream: Upstream, body: dict[str, Any]
) -> None:
    """Unknown items and odd types go on, and what comes back is an answer."""
    upstream.default = responds("Canberra.")
    answer = client_of(serve()).post("/responses", body={"model": "m"} | body, cast_to=object)
    assert answer["output"][0]["content"][0]["text"].startswith("Canberra")  # type: ignore[index]
    assert all(call["input"] == body["input"] for call in upstream.calls)
