"""Streams of Responses and Messages as the official libraries accumulate them: the same direct and through the proxy, in every mode."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from tests.contract.test_manners import ASK, MODES
from tests.support import messages as messages_support
from tests.support import responses as responses_support
from tests.support.upstream import Json, Upstream

CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Canberra"}', "status": "completed"}  # fmt: skip
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Hmm."}],
    "encrypted_content": "x==",
}
USES = [
    {"type": "thinking", "thinking": "Hmm.", "signature": "sig"},
    {"type": "text", "text": "I'll look."},
    {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Canberra"}},
    {"type": "tool_use", "id": "b", "name": "get_time", "input": {"tz": "UTC"}},
]


def _of_messages(message: Json) -> list[Json]:
    """The events of a message, all of whose blocks are open at once and grow in turn."""
    fields = {
        "text": ("text", "text_delta"),
        "thinking": ("thinking", "thinking_delta"),
    }
    begun, deltas = [], []
    for index, block in enumerate(message["content"]):
        name, kind = fields.get(block["type"], ("input", "input_json_delta"))
        whole = block[name] if isinstance(block[name], str) else json.dumps(block[name])
        field = "partial_json" if name == "input" else name
        begun.append(
            block
            | {
                name: {} if name == "input" else "",
                **({"signature": ""} if "signature" in block else {}),
            }
        )
        deltas += [(place, index, {"type": kind, field: piece}) for place, piece in enumerate((whole[:4], whole[4:]))]
        deltas += [(2, index, {"type": "signature_delta", "signature": "sig"})] if "signature" in block else []
    deltas.sort(key=lambda each: each[0])
    return [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        *({"type": "content_block_start", "index": i, "content_block": block} for i, block in enumerate(begun)),
        *({"type": "content_block_delta", "index": index, "delta": delta} for _, index, delta in deltas),
        *({"type": "content_block_stop", "index": i} for i in range(len(begun))),
        {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None, "stop_details": None, "container": None}, "usage": message["usage"]},
        {"type": "message_stop"},
    ]  # fmt: skip


def _of_responses(response: Json) -> list[Json]:
    """The events of a response whose last one has no items, as ChatGPT's own backend sends them."""
    events = [json.loads(raw.split(b"data: ")[1]) for raw in responses_support.events(response, lambda text: [text])]
    events[-1]["response"] = {**response, "output": []}
    return events


def _only_streams(upstream: Upstream, events: list[Json]) -> None:
    stream = b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)

    def reply(_request: Any, body: Json) -> Response:
        if body.get("stream"):
            return Response(stream, media_type="text/event-stream")
        return JSONResponse({"error": {"message": "stream must be set to true", "type": "invalid_request_error"}}, 400)

    upstream.default = reply


def _plain(answer: Any) -> Json:
    said: Json = answer.to_dict()
    said.pop("hedgerow", None)
    return said


@pytest.mark.parametrize("mode", MODES)
def test_a_message_is_accumulated_as_direct(serve: Any, claude_of: Any, upstream: Upstream, mode: str) -> None:
    """Calls beside each other, and thoughts with their signature."""
    message = messages_support.message(*USES) | {"stop_reason": "tool_use", "container": None, "stop_details": None}
    _only_streams(upstream, _of_messages(message))
    answers = []
    for address in (upstream.url.removesuffix("/v1"), serve(**MODES[mode])):
        tools: Any = [{"name": "get_weather", "input_schema": {"type": "object"}}]
        with claude_of(address).messages.stream(model="m", max_tokens=99, messages=ASK, tools=tools) as stream:
            answers.append(_plain(stream.get_final_message()))
    direct, through = answers
    assert through == direct


@pytest.mark.parametrize("mode", MODES)
def test_a_response_is_accumulated_as_its_items_say(serve: Any, client_of: Any, upstream: Upstream, mode: str) -> None:
    """Every item reaches the client, also where the last event has none."""
    _only_streams(upstream, _of_responses(responses_support.response(REASONING, CALL)))
    client = client_of(serve(**MODES[mode]))
    tools: Any = [{"type": "function", "name": "get_weather", "parameters": {}}]
    with client.responses.stream(model="m", input="What is the weather?", tools=tools, store=False) as stream:
        items = [event.item.to_dict() for event in stream if event.type == "response.output_item.done"]
    for item in items:
        item.pop("parsed_arguments", None)
    assert items == [REASONING, CALL]
