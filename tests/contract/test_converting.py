"""`/v1/responses` and `/v1/messages` on an upstream that speaks chat alone, read by the real clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse

from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream, completion, fails, says, sse_response, stream_chunks

QUESTION = "What is the capital of Australia?"
CLAUDE: Any = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": QUESTION}]}
UNSURE = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.")
TOOL: Any = {
    "type": "function",
    "name": "find",
    "description": "Finds.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}
CLAUDES_TOOL: Any = {"name": "find", "description": "Finds.", "input_schema": TOOL["parameters"]}
MODES = [("off", "buffer"), ("shadow", "buffer"), ("on", "buffer"), ("on", "append")]


@pytest.fixture
def chat_alone(serve: Any) -> Callable[..., str]:
    """The proxy before an upstream that knows no other endpoint."""

    def start(**route: Any) -> str:
        address: str = serve(upstream_settings={"converts": ["responses", "messages"]}, **route)
        return address

    return start


def calls(arguments: str = '{"city": "Canberra"}', thought: str = "") -> Any:
    """A thought, some words and two calls, whole or piece by piece with the calls interleaved."""
    made = [
        {"id": f"call_{i}", "type": "function", "function": {"name": "find", "arguments": arguments}} for i in (1, 2)
    ]

    def reply(_request: Any, body: Any) -> Any:
        message: Any = {"role": "assistant", "content": "Let me look.", "tool_calls": made}
        if thought:
            message["reasoning_content"] = thought
        if not body.get("stream"):
            whole = completion("")
            whole["choices"] = [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}]
            return JSONResponse(whole)
        deltas: list[Any] = [{"reasoning_content": piece} for piece in (thought[:4], thought[4:]) if piece]
        deltas += [{"content": "Let me "}, {"content": "look."}]
        begun = [{"index": i, "id": call["id"], "type": "function"} for i, call in enumerate(made)]
        deltas += [{"tool_calls": [call | {"function": {"name": "find", "arguments": ""}}]} for call in begun]
        cut = len(arguments) // 2
        for piece in (arguments[:cut], arguments[cut:]):
            deltas += [{"tool_calls": [{"index": i, "function": {"arguments": piece}}]} for i in (0, 1)]
        head = stream_chunks("")[0]
        chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        end = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
        counts = head | {"choices": [], "usage": completion("")["usage"]}
        return sse_response([*chunks, end, counts, "[DONE]"])

    return reply


@pytest.mark.parametrize(("mode", "stream"), MODES)
def test_a_response_whole_and_streamed(
    chat_alone: Any, client_of: Any, upstream: Upstream, tmp_path: Any, mode: str, stream: str
) -> None:
    """The upstream sees chats alone; the client reads responses, hedged where the route is on."""
    upstream.default = says(*UNSURE)
    address = chat_alone(mode=mode, stream=stream)
    client = client_of(address)
    asked = {"model": "m", "input": QUESTION, "instructions": "Be brief.", "max_output_tokens": 64}
    answer = client.responses.create(**asked)
    with client.responses.stream(**asked) as events:
        seen = list(events)
        final = events.get_final_response()
    deltas = "".join(event.delta for event in seen if event.type == "response.output_text.delta")
    assert deltas == final.output_text
    assert [event.sequence_number for event in seen] == list(range(len(seen)))
    assert [seen[0].type, seen[1].type, seen[-1].type] == [
        "response.created",
        "response.in_progress",
        "response.completed",
    ]
    hedged = [text not in UNSURE for text in (answer.output_text, final.output_text)]
    assert hedged == [mode == "on"] * 2
    assert all("Canberra" in text or mode != "on" for text in (answer.output_text, final.output_text))
    assert answer.id.startswith("resp_")
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (7, 3, 10)
    assert (answer.instructions, answer.store, answer.max_output_tokens) == ("Be brief.", False, 64)
    assert set(upstream.targets) == {"/v1/chat/completions"}
    assert upstream.calls[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": QUESTION},
    ]
    assert {call["max_tokens"] for call in upstream.calls} == {64}
    assert not {"input", "instructions", "store"} & {name for call in upstream.calls for name in call}
    rows = rows_of(tmp_path, 2)
    assert {row["path"] for row in rows} == {"/v1/responses"}


@pytest.mark.parametrize(("mode", "stream"), MODES)
def test_a_message_whole_and_streamed(
    chat_alone: Any, claude_of: Any, upstream: Upstream, tmp_path: Any, mode: str, stream: str
) -> None:
    """The same in Anthropic's words; its key goes on as a bearer token, and its own headers stay here."""
    upstream.default = says(*UNSURE)
    client = claude_of(chat_alone(mode=mode, stream=stream))
    asked = CLAUDE | {"system": [{"type": "text", "text": "Be brief."}], "stop_sequences": ["\n\n"]}
    answer = client.messages.create(**asked)
    with client.messages.stream(**asked) as events:
        text = "".join(events.text_stream)
        final = events.get_final_message()
    assert final.content[0].text == text
    assert [said.content[0].text not in UNSURE for said in (answer, final)] == [mode == "on"] * 2
    assert answer.id.startswith("msg_")
    assert (answer.stop_reason, answer.usage.input_tokens, answer.usage.output_tokens) == ("end_turn", 7, 3)
    assert (final.stop_reason, final.role) == ("end_turn", "assistant")
    assert set(upstream.targets) == {"/v1/chat/completions"}
    assert upstream.calls[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert {tuple(call["stop"]) for call in upstream.calls} == {("\n\n",)}
    assert {headers["authorization"] for headers in upstream.headers} == {"Bearer sk-test-client"}
    assert not [name for headers in upstream.headers for name in headers if "anthropic" in name or name == "x-api-key"]
    assert {row["path"] for row in rows_of(tmp_path, 2)} == {"/v1/messages"}


def test_samples_come_in_one_call(chat_alone: Any, client_of: Any, claude_of: Any, upstream: Upstream) -> None:
    """Chat has `n`, and nothing is kept: the representative of the largest group is the draft, whatever `store` says. Feedback takes the answer's own id."""
    address = chat_alone()
    upstream.default = says("Sydney.", *["Canberra."] * 9)
    answer = client_of(address).responses.create(model="m", input=QUESTION, store=True)
    assert [call["n"] for call in upstream.calls] == [10]
    assert "Canberra" in answer.output_text
    field = answer.model_extra["hedgerow"]
    settled = httpx.post(f"{address}/v1/feedback", json={"id": answer.id, "correct": True})
    assert settled.json()["id"] == field["id"]
    assert (field["clusters"], field["usage"]["samples"]["completion_tokens"]) == ([9, 1], 27)
    assert "Canberra" in claude_of(address).messages.create(**CLAUDE).content[0].text
    assert [call["n"] for call in upstream.calls] == [10, 10]


def answered(upstream: Upstream) -> Any:
    """The messages of a request that holds results; in shadow the samples of the one before may still come."""
    return next(call["messages"] for call in upstream.calls if any(m["role"] == "tool" for m in call["messages"]))


@pytest.mark.parametrize(("mode", "stream"), MODES)
@pytest.mark.parametrize("streamed", [True, False])
def test_tools_go_there_and_back_as_responses(
    chat_alone: Any, client_of: Any, upstream: Upstream, mode: str, stream: str, streamed: bool
) -> None:
    """Offered, called, and answered: what chat has of it reaches the upstream, and both calls reach the client whole."""
    upstream.default = calls(thought="Maps come to mind.")
    client = client_of(chat_alone(mode=mode, stream=stream))
    given: list[Any] = [{"role": "user", "content": [{"type": "input_text", "text": QUESTION}]}]
    asked: Any = {"model": "m", "tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": True}
    if streamed:
        with client.responses.stream(**asked, input=given) as events:
            list(events)
            answer = events.get_final_response()
    else:
        answer = client.responses.create(**asked, input=given)
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call", "function_call"]
    assert answer.output[0].summary[0].text == "Maps come to mind."
    assert answer.output_text == "Let me look."
    assert [item.call_id for item in answer.output[2:]] == ["call_1", "call_2"]
    assert {item.arguments for item in answer.output[2:]} == {'{"city": "Canberra"}'}
    assert answer.usage.total_tokens == 10
    offered = upstream.calls[0]["tools"][0]
    assert offered["function"]["parameters"] == TOOL["parameters"]
    upstream.default = says("Canberra.")
    given += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in answer.output]
    given += [{"type": "function_call_output", "call_id": f"call_{i}", "output": "It is."} for i in (1, 2)]
    assert "Canberra" in client.responses.create(**asked, input=given).output_text
    said = answered(upstream)
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "tool"]
    assert [call["id"] for call in said[1]["tool_calls"]] == ["call_1", "call_2"]
    assert said[2] == {"role": "tool", "tool_call_id": "call_1", "content": "It is."}


@pytest.mark.parametrize(("mode", "stream"), MODES)
@pytest.mark.parametrize("streamed", [True, False])
def test_tools_go_there_and_back_as_messages(
    chat_alone: Any, claude_of: Any, upstream: Upstream, mode: str, stream: str, streamed: bool
) -> None:
    """The same in Anthropic's words."""
    upstream.default = calls(thought="Maps come to mind.")
    client = claude_of(chat_alone(mode=mode, stream=stream))
    asked: Any = CLAUDE | {"tools": [CLAUDES_TOOL], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    if streamed:
        with client.messages.stream(**asked) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(**asked)
    assert [block.type for block in answer.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert answer.content[0].thinking == "Maps come to mind."
    assert [block.input for block in answer.content[2:]] == [{"city": "Canberra"}] * 2
    assert [block.id for block in answer.content[2:]] == ["call_1", "call_2"]
    assert (answer.stop_reason, answer.usage.output_tokens) == ("tool_use", 3)
    assert (upstream.calls[0]["tool_choice"], upstream.calls[0]["parallel_tool_calls"]) == ("auto", False)
    upstream.default = says("Canberra.")
    results = [{"type": "tool_result", "tool_use_id": f"call_{i}", "content": "It is."} for i in (1, 2)]
    said_then = [block.model_dump(exclude_none=True) for block in answer.content]
    turns = [
        *CLAUDE["messages"],
        {"role": "assistant", "content": said_then},
        {"role": "user", "content": [*results, {"type": "text", "text": "Well?"}]},
    ]
    assert "Canberra" in client.messages.create(**asked | {"messages": turns}).content[0].text
    said = answered(upstream)
    assert [message["role"] for message in said] == ["user", "assistant", "tool", "tool", "user"]
    assert json.loads(said[1]["tool_calls"][0]["function"]["arguments"]) == {"city": "Canberra"}


def test_the_form_of_an_answer_is_asked_for_in_chats_words(
    chat_alone: Any, client_of: Any, claude_of: Any, upstream: Upstream
) -> None:
    """And its fields are measured."""
    upstream.default = says('{"capital": "Canberra"}', '{"capital": "Sydney"}')
    address, schema = chat_alone(), {"type": "object", "properties": {"capital": {"type": "string"}}}
    form: Any = {"format": {"type": "json_schema", "name": "city", "schema": schema, "strict": True}}
    answer = client_of(address).responses.create(model="m", input=QUESTION, text=form, reasoning={"effort": "low"})
    assert answer.model_extra["hedgerow"]["fields"]["$.capital"]["raw"]["alpha"] == 5.0
    assert upstream.calls[0]["response_format"]["json_schema"] == {"name": "city", "schema": schema, "strict": True}
    assert upstream.calls[0]["reasoning_effort"] == "low"
    output: Any = {"format": {"type": "json_schema", "schema": schema}, "effort": "low"}
    message = claude_of(address).messages.create(**CLAUDE, output_config=output)
    assert message.hedgerow["reason"] == "structured_output"
    assert upstream.calls[-1]["response_format"]["json_schema"]["schema"] == schema
    assert upstream.calls[-1]["reasoning_effort"] == "low"


def test_probabilities_are_those_of_chat(chat_alone: Any, client_of: Any, upstream: Upstream) -> None:
    """A signal that needs them has them."""
    token = {"token": "Canberra", "logprob": -0.25, "bytes": [67], "top_logprobs": []}

    def reply(_request: Any, body: Any) -> Any:
        made = completion(*["Canberra."] * (body.get("n") or 1))
        for choice in made["choices"]:
            choice["logprobs"] = {"content": [token]} if body.get("logprobs") else None
        return JSONResponse(made)

    upstream.default = reply
    answer = client_of(chat_alone(signal="token")).responses.create(model="m", input=QUESTION)
    assert answer.model_extra["hedgerow"]["signal"] == "token"
    assert upstream.calls[0]["logprobs"] is True


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("more", "param", "words"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "send the whole conversation"),
        ({"conversation": "conv_1"}, "conversation", "send the whole conversation"),
        ({"background": True}, "background", "ask without"),
        ({"prompt": {"id": "p"}}, "prompt", "send the prompt's text"),
        ({"tools": [{"type": "web_search"}]}, "tools[0]", "web_search"),
        ({"input": [{"type": "new_kind"}]}, "input[0]", "new_kind"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]", "item_reference"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0]", "x"),
        ({"input": []}, "input", "a string or a list of items"),
        ({"input": 5}, "input", "a string or a list of items"),
        ({"tools": 5}, "tools", "a list"),
        ({"instructions": ["x"]}, "instructions", "a string"),
    ],
)  # fmt: skip
def test_what_chat_does_not_have_is_refused_with_what_to_do(
    chat_alone: Any, upstream: Upstream, mode: str, stream: bool, more: Any, param: str, words: str
) -> None:
    """One clear sentence; the upstream is not asked."""
    upstream.default = says("Canberra.")
    reply = httpx.post(
        f"{chat_alone(mode=mode)}/v1/responses", json={"model": "m", "input": QUESTION, "stream": stream} | more
    )
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert (error["param"], error["type"]) == (param, "invalid_request_error")
    assert error["code"] in ("not_in_chat", "invalid_type")
    assert words in error["message"]
    assert upstream.calls == []


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mcp_servers": [{"type": "url", "url": "http://x", "name": "x"}]}, "`mcp_servers`"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
        ({"messages": [{"role": "user", "content": [{"type": "new_kind"}]}]}, "new_kind"),
        ({"messages": [{"role": "user", "content": [5]}]}, "`messages[0].content[0]` must be an object"),
        ({"tools": [CLAUDES_TOOL], "tool_choice": {"type": "odd"}}, "tool_choice.type"),
    ],
)
def test_what_chat_does_not_have_is_refused_in_anthropics_words(
    chat_alone: Any, claude_of: Any, upstream: Upstream, mode: str, more: Any, words: str
) -> None:
    """As its error object."""
    import anthropic

    upstream.default = says("Canberra.")
    with pytest.raises(anthropic.BadRequestError) as refusal:
        claude_of(chat_alone(mode=mode)).post("/v1/messages", body=CLAUDE | more, cast_to=object)
    body: Any = refusal.value.body
    assert body["type"] == "error"
    assert body["error"]["type"] == "invalid_request_error"
    assert words in body["error"]["message"]
    assert upstream.calls == []


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("stream", [True, False])
def test_an_upstreams_error_is_in_the_words_of_the_endpoint(
    chat_alone: Any, client_of: Any, claude_of: Any, upstream: Upstream, mode: str, stream: bool
) -> None:
    """Status and sentence are the upstream's."""
    import anthropic

    upstream.default = fails(429, {"error": {"message": "slow down", "type": "rate_limit", "code": "too_many"}})
    address = chat_alone(mode=mode)
    with pytest.raises(openai.RateLimitError, match="slow down"):
        client_of(address).responses.create(model="m", input=QUESTION, stream=stream)
    with pytest.raises(anthropic.RateLimitError) as refusal:
        claude_of(address).messages.create(**CLAUDE, stream=stream)
    assert refusal.value.body == {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("odd", [{"output": []}, {"choices": []}, []])
def test_an_upstream_that_does_not_answer_with_a_chat_is_named(
    chat_alone: Any, client_of: Any, upstream: Upstream, mode: str, odd: Any
) -> None:
    """Nothing is guessed, and it has a status of its own."""
    upstream.default = lambda *_: JSONResponse(odd)
    with pytest.raises(openai.APIStatusError, match="scripted") as failure:
        client_of(chat_alone(mode=mode)).responses.create(model="m", input=QUESTION)
    assert failure.value.status_code == 502


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize(
    "events", [stream_chunks("Canberra.")[:-1], [*stream_chunks("Can")[:-1], {"error": {"message": "overloaded"}}], ["{"]]
)  # fmt: skip
def test_a_stream_that_breaks_off_ends_with_an_error(
    chat_alone: Any, client_of: Any, claude_of: Any, upstream: Upstream, mode: str, events: Any
) -> None:
    """Of the endpoint's own kind, which its client raises."""
    import anthropic

    upstream.default = lambda *_: sse_response(events)
    address = chat_alone(mode=mode, stream="append")
    with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
        list(client_of(address).responses.create(model="m", input=QUESTION, stream=True))
    with (
        pytest.raises((anthropic.APIError, httpx.RemoteProtocolError)),
        claude_of(address).messages.stream(**CLAUDE) as stream,
    ):
        stream.get_final_message()


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("path", ["responses", "messages"])
@pytest.mark.parametrize("data", [b"{", b"[]", b"", b'"x"', b'{"model": "m", "input": "\\ud800"}'])
def test_what_is_not_json_is_refused(chat_alone: Any, upstream: Upstream, mode: str, path: str, data: bytes) -> None:
    """With status 400, as everywhere."""
    upstream.default = says("Canberra.")
    reply = httpx.post(f"{chat_alone(mode=mode)}/v1/{path}", content=data, headers={"content-type": "application/json"})
    assert reply.status_code == 400
    assert reply.json()["error"]["message"]
    assert upstream.calls == []


def test_large_requests_are_converted_too(chat_alone: Any, client_of: Any, upstream: Upstream) -> None:
    """Two hundred tools, a schema of a megabyte, a thousand turns."""
    upstream.default = says("Canberra.")
    tools = [TOOL | {"name": f"find_{i}"} for i in range(200)]
    tools[0] = tools[0] | {"parameters": {"type": "object", "description": "x" * 1_000_000}}
    turns: Any = [{"role": ("user", "assistant")[i % 2], "content": f"{QUESTION} {i}"} for i in range(1001)]
    client = client_of(chat_alone(mode="on"))
    assert client.responses.create(model="m", input=turns, tools=tools).output_text == "Canberra."
    assert len(upstream.calls[0]["tools"]) == 200
    assert len(upstream.calls[0]["messages"]) == 1001


def test_odd_fields_of_a_request_cost_no_answer(chat_alone: Any, upstream: Upstream) -> None:
    """They are the upstream's to judge, and repeated as they came; only tools have defaults of their own."""
    upstream.default = says("Canberra.")
    odd: Any = {"metadata": [1], "user": [1], "text": [], "reasoning": ["x"], "service_tier": [{"a": 1}]}
    answer = httpx.post(f"{chat_alone()}/v1/responses", json=odd | {"model": "m", "input": QUESTION}).json()
    assert {name: answer[name] for name in odd} == odd


def test_the_query_and_azures_paths_are_kept(chat_alone: Any, upstream: Upstream) -> None:
    """The path alone is another one."""
    upstream.default = says("Canberra.")
    address, asked = chat_alone(mode="off"), {"input": QUESTION}
    httpx.post(f"{address}/v1/responses?api-version=1&x=a%2Fb", json=asked)
    httpx.post(f"{address}/openai/deployments/big/responses?api-version=2", json=asked)
    assert upstream.targets == [
        "/v1/chat/completions?api-version=1&x=a%2Fb",
        "/openai/deployments/big/chat/completions?api-version=2",
    ]


def test_what_lies_below_an_endpoint_is_passed_on(chat_alone: Any, upstream: Upstream) -> None:
    """A thread's messages, the count of tokens, a response by its id: not ours to say in chat."""
    upstream.default = lambda *_: JSONResponse({"input_tokens": 14})
    address = chat_alone(mode="on")
    for path in ("threads/t/messages", "messages/count_tokens", "responses/r/cancel"):
        assert httpx.post(f"{address}/v1/{path}", json={}).json() == {"input_tokens": 14}
    assert httpx.get(f"{address}/v1/responses/r").json() == {"input_tokens": 14}
