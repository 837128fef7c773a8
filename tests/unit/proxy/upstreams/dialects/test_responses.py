"""Responses objects and their streams, read back by the openai library's own accumulator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai._models import construct_type_unchecked
from openai._types import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.upstreams.dialects import responses
from hedgerow.proxy.upstreams.dialects.responses_stream import ServedResponse
from tests.support.tables import cases

Json = dict[str, Any]


def text_part(text: str, **more: Any) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []} | more


def message(*parts: Json, name: str = "msg_1") -> Json:
    return {"id": name, "type": "message", "role": "assistant", "status": "completed", "content": list(parts)}


REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "I recall maps."}]}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "look_up",
    "arguments": '{"city": "Canberra"}',
}


def response(*output: Json, **more: Any) -> Json:
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1700000000,
        "completed_at": 1700000001,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": "scripted-1",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 36,
            "input_tokens_details": {"cached_tokens": 4},
            "output_tokens": 87,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 123,
        },
    } | more


def accumulated(stream: bytes) -> Any:
    """What the openai library makes of a stream: its own final response."""
    state: Any = ResponseStreamState(input_tools=omit, text_format=omit)
    numbers, kinds = [], []
    for block in stream.decode().split("\n\n"):
        if not block.strip():
            continue
        name, data = (line.split(": ", 1)[1] for line in block.splitlines())
        event: Any = construct_type_unchecked(type_=ResponseStreamEvent, value=json.loads(data))
        assert event.type == name
        numbers.append(event.sequence_number)
        kinds.append(name)
        state.handle_event(event)
    assert numbers == list(range(len(numbers)))
    return state._completed_response, kinds


def halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def test_an_answer_becomes_the_stream_that_its_library_reads_back() -> None:
    answer = response(REASONING, message(text_part("Probably Canberra.")), CALL)
    final, kinds = accumulated(b"".join(responses.events(answer, halves)))
    assert final.output_text == "Probably Canberra."
    assert json.loads(final.output[2].arguments) == {"city": "Canberra"}
    assert final.output[0].summary[0].text == "I recall maps."
    assert final.usage.output_tokens_details.reasoning_tokens == 64
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_text.delta") == 2
    assert kinds.index("response.reasoning_summary_text.done") < kinds.index("response.output_text.delta")


def test_the_first_event_of_a_stream_says_that_nothing_is_there_yet() -> None:
    first = next(responses.events(response(message(text_part("Canberra."))), halves))
    begun = json.loads(first.split(b"data: ")[1])["response"]
    assert (begun["status"], begun["output"], begun["usage"]) == ("in_progress", [], None)
    assert Response.model_validate(begun).id == "resp_1"


def test_the_last_text_is_the_answer_and_the_rest_is_kept() -> None:
    answer = response(
        REASONING,
        message(text_part("Let me think."), name="msg_0"),
        message(text_part("Canberra.", logprobs=[{"token": "C", "logprob": -0.1, "bytes": [67], "top_logprobs": []}])),
    )
    read = responses.completion(answer)
    assert read["choices"][0]["message"]["content"] == "Canberra."
    assert read["choices"][0]["logprobs"]["content"][0]["logprob"] == -0.1
    changed = responses.reworded(answer, "Probably Canberra.")
    assert changed["output"][:2] == answer["output"][:2]
    assert changed["output"][2]["content"] == [text_part("Probably Canberra.")]
    assert answer["output"][2]["content"][0]["text"] == "Canberra."


def test_the_parts_of_a_text_are_one_answer() -> None:
    """What is compared is all that the message says; a text of ours stands in one part, and a sentence of ours at the end of the last."""
    source = {"type": "url_citation", "start_index": 0, "end_index": 3, "url": "u", "title": "t"}
    parts = (text_part("The capital ", annotations=[source]), text_part("is Canberra."))
    answer = response(message(*parts), output_text="The capital is Canberra.")
    said = responses.completion(answer)["choices"][0]["message"]
    assert (said["content"], said["annotations"]) == ("The capital is Canberra.", [source])
    changed = responses.reworded(answer, "Probably Canberra.")
    assert (
        [part["text"] for part in changed["output"][0]["content"]] == [changed["output_text"]] == ["Probably Canberra."]
    )
    stream, sent = served(message(*parts))
    final, _ = accumulated(sent + b"".join(stream.closing([" I think."], {}, None)))
    assert [part.text for part in final.output[0].content] == ["The capital ", "is Canberra. I think."]


@cases("kind", ["function_call", "custom_tool_call", "computer_call", "mcp_approval_request"])
def test_what_the_client_is_to_do_counts_as_a_call_of_a_tool(kind: str) -> None:
    read = responses.completion(response({"type": kind, "id": "x"}))
    assert read["choices"][0]["message"]["tool_calls"]


def test_a_tool_that_the_upstream_ran_itself_is_not_a_call() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    read = responses.completion(response(search, message(text_part("Canberra."))))
    assert "tool_calls" not in read["choices"][0]["message"]


def test_refusals_limits_and_tokens_are_read() -> None:
    refused = responses.completion(response(message({"type": "refusal", "refusal": "I cannot say."})))
    assert refused["choices"][0]["message"]["refusal"] == "I cannot say."
    cut = response(message(text_part("Canb")), status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert responses.completion(cut)["choices"][0]["finish_reason"] == "length"
    assert responses.completion(cut)["usage"]["completion_tokens"] == 87


@cases("odd", [{}, {"output": "text"}, {"choices": []}])
def test_what_is_not_a_response_is_refused(odd: Json) -> None:
    with pytest.raises(ValueError, match="output items"):
        responses.completion(odd)


@cases("output", [[None, 3, "x"], [{"type": "message", "content": None}], [{"type": "message", "content": [None, 4]}]])
def test_odd_items_are_ignored_and_kept(output: list[Any]) -> None:
    answer = response() | {"output": output}
    assert responses.completion(answer)["choices"][0]["message"]["content"] == ""
    assert responses.reworded(answer, "x") == answer
    assert b"response.completed" in b"".join(responses.events(answer, halves))


def test_a_request_is_read_in_the_words_of_chat() -> None:
    body = {
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Capital of Australia?"}]},
            {"type": "function_call_output", "call_id": "c", "output": "x"},
            None,
        ],
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {}}},
        "max_output_tokens": 16,
        "include": [responses.LOGPROBS],
    }
    assert responses.as_chat(body) == {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Capital of Australia?"}]},
            {"role": "tool", "content": "x"},
        ],
        "max_tokens": 16,
        "response_format": {"type": "json_schema", "name": "a", "schema": {}},
        "logprobs": True,
    }
    assert responses.as_chat({"input": "Hello?"})["messages"] == [{"role": "user", "content": "Hello?"}]
    assert responses.as_chat({"input": 4, "instructions": [], "include": "x", "text": 3}) == {"messages": []}


def served(*output: Json) -> tuple[ServedResponse, bytes]:
    """A stream on its way, event by event: what the client has before its end."""
    stream = ServedResponse()
    return stream, b"".join(map(stream.take, responses.events(response(*output), halves)))


def test_our_sentence_follows_the_text_and_every_event_agrees() -> None:
    stream, sent = served(REASONING, message(text_part("Canberra.")))
    assert b"output_text.delta" in sent
    assert b"output_text.done" not in sent
    assert stream.completion()["choices"][0]["message"]["content"] == "Canberra."
    ending = b"".join(stream.closing([" This is", " uncertain."], {"hedgerow": {"confidence": 0.5}}, None))
    final, kinds = accumulated(sent + ending)
    assert final.output_text == "Canberra. This is uncertain."
    assert final.hedgerow == {"confidence": 0.5}
    assert kinds.count("response.output_text.delta") == 4
    for event in ending.decode().split("\n\n")[2:5]:
        assert "Canberra. This is uncertain." in event


def test_nothing_said_leaves_the_stream_as_it_was_but_for_our_field() -> None:
    whole = b"".join(responses.events(response(message(text_part("Canberra."))), halves))
    stream, sent = served(message(text_part("Canberra.")))
    assert sent + b"".join(stream.closing([], {}, None)) == whole


def test_a_text_before_another_item_is_let_go() -> None:
    stream, sent = served(message(text_part("Let me look that up.")), CALL)
    assert b'"text":"Let me look that up."' in sent
    assert stream.completion()["choices"][0]["message"]["tool_calls"]
    assert accumulated(sent + b"".join(stream.closing([], {}, None)))[0].output[1].name == "look_up"


def test_a_stream_without_its_end_is_broken_off() -> None:
    stream = ServedResponse()
    for event in list(responses.events(response(message(text_part("Canberra."))), halves))[:-1]:
        stream.take(event)
    with pytest.raises(UpstreamError, match="broke off"):
        stream.completion()


@cases("kind", ["error", "response.failed"])
def test_an_error_in_a_stream_goes_on_and_is_noticed(kind: str) -> None:
    stream = ServedResponse()
    event = f'event: {kind}\ndata: {{"type": "{kind}", "message": "no"}}\n\n'.encode()
    assert stream.take(event) == event
    assert stream.failed
