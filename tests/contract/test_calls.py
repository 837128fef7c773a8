"""Calls of tools on which the answers disagree: the policy asks the user back, or a stronger model, in every endpoint's words."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from hedgerow.proxy.upstreams.dialects import messages, responses
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, fails, sse_response, stream_chunks

ASK: Any = [{"role": "user", "content": "Book me a hotel in the capital of Australia."}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOL: Any = {"type": "function", "function": {"name": "book", "parameters": PARAMETERS}}
RESPONSES_TOOL: Any = {"type": "function", "name": "book", "parameters": PARAMETERS, "strict": False}
CLAUDES_TOOL: Any = {"name": "book", "input_schema": PARAMETERS}
UNSURE = tuple({"city": city, "days": 3} for city in ("Sydney", "Canberra", "Perth", "Canberra", "Hobart"))
SURE = ({"city": "Canberra", "days": 3},)
QUESTION = 'I am not sure how to go on. Please check this first: book: city "Sydney"'


def calls(*arguments: dict[str, Any]) -> Any:
    """One call an answer, in turn, in the words of the path that is asked; as a stream where one is asked for."""
    turn = itertools.cycle(arguments)

    def reply(request: Any, body: Any) -> Any:
        path = request.url.path
        if path.endswith("/responses"):
            made = {
                "id": "resp_1",
                "object": "response",
                "status": "completed",
                "output": [
                    {"type": "reasoning", "id": "rs_1", "summary": []},
                    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "book", "status": "completed"}
                    | {"arguments": json.dumps(next(turn))},
                ],
            }
            return _sent(made, responses.events, body)
        if path.endswith("/messages"):
            block = {"type": "tool_use", "id": "c", "name": "book", "input": next(turn)}
            made = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [block]}
            made |= {"stop_reason": "tool_use", "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 3}}
            return _sent(made, messages.events, body)
        choices = [_choice(i, json.dumps(next(turn))) for i in range(body.get("n") or 1)]
        if not body.get("stream"):
            return JSONResponse(completion() | {"choices": choices})
        delta = choices[0]["message"] | {"tool_calls": [{"index": 0} | choices[0]["message"]["tool_calls"][0]]}
        chunk = {"index": 0, "delta": delta, "finish_reason": "tool_calls"}
        return sse_response([stream_chunks("")[0] | {"choices": [chunk]}, "[DONE]"])

    return reply


def _choice(index: int, arguments: str) -> Any:
    called = [{"id": "c", "type": "function", "function": {"name": "book", "arguments": arguments}}]
    message = {"role": "assistant", "content": None, "tool_calls": called}
    return {"index": index, "finish_reason": "tool_calls", "message": message}


def _sent(answer: Any, events: Any, body: Any) -> Any:
    if not body.get("stream"):
        return JSONResponse(answer)
    return Response(b"".join(events(answer, lambda text: [text])), media_type="text/event-stream")


@pytest.fixture
def asking(serve: Any, upstream: Upstream) -> Any:
    """A proxy that measures calls and does something about those in doubt; a second name for the upstream is the stronger model."""
    named = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    upstreams = {"upstreams": {"scripted": named, "strong": named}}

    def start(policy: dict[str, Any], **route: Any) -> str:
        address: str = serve(tool_calls="measure", policy=policy, settings=upstreams, **route)
        return address

    return start


def _chat(client: Any, stream: bool) -> tuple[str, list[Any], str, Any]:
    """What is said, the arguments of what is called, why it ended, and our field."""
    answer = client.chat.completions.create(model="m", messages=ASK, tools=[TOOL], stream=stream)
    if not stream:
        (choice,) = answer.choices
        made = [json.loads(call.function.arguments) for call in choice.message.tool_calls or ()]
        return choice.message.content or "", made, choice.finish_reason, answer.model_extra["hedgerow"]
    chunks = [chunk for chunk in answer if chunk.choices]
    deltas = [chunk.choices[0].delta for chunk in chunks]
    text = "".join(delta.content or "" for delta in deltas)
    arguments = "".join(call.function.arguments or "" for delta in deltas for call in delta.tool_calls or ())
    return (
        text,
        [json.loads(arguments)] if arguments else [],
        chunks[-1].choices[0].finish_reason,
        chunks[-1].model_extra["hedgerow"],
    )


@pytest.mark.parametrize(("stream", "way"), [(False, "buffer"), (True, "buffer"), (True, "append")])
def test_the_user_is_asked_where_the_answers_disagree(
    asking: Any, client_of: Any, upstream: Upstream, tmp_path: Any, stream: bool, way: str
) -> None:
    """In place of the call: nothing is called, the parts in doubt are named, and the fields stand beside it."""
    upstream.default = calls(*UNSURE)
    text, made, finish, field = _chat(client_of(asking({"calls": "ask"}, stream=way)), stream)
    assert (text, made, finish) == (QUESTION, [], "stop")
    assert (field["status"], field["reason"]) == ("abstained", "calls_disagree")
    assert field["fields"]["$[0].arguments.city"]["raw"]["mean"] == 0.2
    assert field["fields"]["$[0].arguments.days"]["raw"]["mean"] == 1.0
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["http_status"]) == ("abstained", "calls_disagree", 200)


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_the_answers_agree_on_goes_on(
    asking: Any, client_of: Any, upstream: Upstream, stream: bool
) -> None:
    """As it came."""
    upstream.default = calls(*SURE)
    text, made, finish, field = _chat(client_of(asking({"calls": "ask"})), stream)
    assert (text, made, finish) == ("", [SURE[0]], "tool_calls")
    assert (field["status"], field["reason"]) == ("plain", "tool_calls")


def test_without_the_key_a_policy_lets_calls_go_on(asking: Any, client_of: Any, upstream: Upstream) -> None:
    """The others are only measured."""
    upstream.default = calls(*UNSURE)
    _, made, _, field = _chat(client_of(asking({"low_confidence": "abstain"})), False)
    assert (made, field["status"]) == ([UNSURE[0]], "plain")


def test_what_is_asked_and_from_where_on_is_the_routes_to_say(asking: Any, client_of: Any, upstream: Upstream) -> None:
    """The least sure part decides."""
    upstream.default = calls(*UNSURE)
    assert _chat(client_of(asking({"calls": "ask", "calls_below": 0.1})), False)[1] == [UNSURE[0]]
    policy = {"calls": "ask", "calls_below": 0.9, "question": "Richtig? {doubts} {x}"}
    assert _chat(client_of(asking(policy)), False)[0] == 'Richtig? book: city "Sydney" {x}'


@pytest.mark.parametrize(("stream", "way"), [(False, "buffer"), (True, "buffer"), (True, "append")])
def test_a_stronger_model_is_asked_where_the_answers_disagree(
    asking: Any, client_of: Any, upstream: Upstream, stream: bool, way: str
) -> None:
    """Its call is the client's."""
    weak, strong = calls(*UNSURE), calls(*SURE)
    upstream.default = lambda request, body: (strong if body["model"] == "big" else weak)(request, body)
    policy = {"calls": "escalate", "escalate_to": "strong", "escalate_model": "big"}
    text, made, finish, field = _chat(client_of(asking(policy, stream=way)), stream)
    assert (text, made, finish) == ("", [SURE[0]], "tool_calls")
    assert (field["status"], field["reason"]) == ("escalated", "calls_disagree")
    assert field["usage"]["escalation"]["completion_tokens"] == 0
    assert upstream.calls[-1]["tools"] == [TOOL]


def test_a_stronger_model_that_fails_leaves_the_call(asking: Any, client_of: Any, upstream: Upstream) -> None:
    """Marked."""
    weak, gone = calls(*UNSURE), fails(500, {"error": {"message": "down"}})
    upstream.default = lambda request, body: (gone if body["model"] == "big" else weak)(request, body)
    policy = {"calls": "escalate", "escalate_to": "strong", "escalate_model": "big"}
    _, made, _, field = _chat(client_of(asking(policy)), False)
    assert (made, field["status"], field["reason"]) == ([UNSURE[0]], "degraded", "escalation_failed")


@pytest.mark.parametrize(("stream", "way"), [(False, "buffer"), (True, "buffer"), (True, "append")])
def test_responses_ask_back(asking: Any, client_of: Any, upstream: Upstream, stream: bool, way: str) -> None:
    """Neither the call nor the thoughts that led to it are there; their library accumulates the question."""
    upstream.default = calls(*UNSURE)
    client = client_of(asking({"calls": "ask"}, stream=way))
    asked: Any = {"model": "m", "input": ASK, "tools": [RESPONSES_TOOL], "store": False}
    if stream:
        with client.responses.stream(**asked) as events:
            list(events)
            answer = events.get_final_response()
    else:
        answer = client.responses.create(**asked)
    assert [item.type for item in answer.output] == ["message"]
    assert answer.output_text == QUESTION
    assert answer.model_extra["hedgerow"]["reason"] == "calls_disagree"


def test_a_call_that_the_upstream_keeps_goes_on(asking: Any, client_of: Any, upstream: Upstream) -> None:
    """The upstream would wait for the result of a call that the client has never seen."""
    upstream.default = calls(*UNSURE)
    answer = client_of(asking({"calls": "ask"})).responses.create(model="m", input=ASK, tools=[RESPONSES_TOOL])
    assert [item.type for item in answer.output] == ["reasoning", "function_call"]
    field = answer.model_extra["hedgerow"]
    assert (field["status"], field["fields"]["$[0].arguments.city"]["raw"]["mean"]) == ("plain", 0.2)


@pytest.mark.parametrize(("stream", "way"), [(False, "buffer"), (True, "buffer"), (True, "append")])
def test_messages_ask_back(asking: Any, claude_of: Any, upstream: Upstream, stream: bool, way: str) -> None:
    """The turn is the user's."""
    upstream.default = calls(*UNSURE)
    client = claude_of(asking({"calls": "ask"}, stream=way))
    asked: Any = {"model": "m", "max_tokens": 64, "messages": ASK, "tools": [CLAUDES_TOOL]}
    if stream:
        with client.messages.stream(**asked) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(**asked)
    assert [(block.type, block.text) for block in answer.content] == [("text", QUESTION)]
    assert answer.stop_reason == "end_turn"


def test_a_stream_with_log_probabilities_has_gone_on_already(asking: Any, client_of: Any, upstream: Upstream) -> None:
    """The client has read the call when its confidence is known."""
    upstream.default = calls(*UNSURE)
    client = client_of(asking({"calls": "ask"}))
    chunks = list(client.chat.completions.create(model="m", messages=ASK, tools=[TOOL], stream=True, logprobs=True))
    assert any(chunk.choices[0].delta.tool_calls for chunk in chunks if chunk.choices)
    assert chunks[-1].model_extra["hedgerow"]["status"] == "plain"
