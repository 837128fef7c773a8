"""What is written here, from answers of chat, is what the official libraries and the specifications ask for: every object and every event."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter
from starlette.responses import JSONResponse

from tests.contract.test_converting import MODES, QUESTION, calls
from tests.support.upstream import Json, Upstream, completion, says, sse_response, stream_chunks

OF_A_RESPONSE = {"id", "object", "created_at", "completed_at", "status", "incomplete_details", "model", "previous_response_id", "instructions", "output", "error", "tools", "tool_choice", "truncation", "parallel_tool_calls", "text", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs", "temperature", "reasoning", "usage", "max_output_tokens", "max_tool_calls", "store", "background", "service_tier", "metadata", "safety_identifier", "prompt_cache_key"}  # fmt: skip
"""What Open Responses requires of every response."""
OF_A_MESSAGE = {"id", "type", "role", "content", "model", "stop_reason", "stop_sequence", "stop_details", "usage", "container"}  # fmt: skip
OF_ITS_USAGE = {"input_tokens", "output_tokens", "cache_creation", "cache_creation_input_tokens", "cache_read_input_tokens", "inference_geo", "output_tokens_details", "server_tool_use", "service_tier"}  # fmt: skip
"""What Anthropic's description requires of every message."""
TOKEN = {"token": "Canberra", "logprob": -0.1, "bytes": None, "top_logprobs": []}


def _says(text: str, finish: str, **message: Any) -> Any:
    def reply(_request: Any, body: Json) -> Any:
        said = {"role": "assistant", "content": text} | message
        ending = {"finish_reason": finish, "logprobs": {"content": [TOKEN]}}
        if not body.get("stream"):
            return JSONResponse(completion() | {"choices": [{"index": 0, "message": said} | ending]})
        head = stream_chunks("")[0]
        chunks = [{"delta": {name: value}, "finish_reason": None} for name, value in said.items()]
        chunks.append({"delta": {}, "finish_reason": finish})
        return sse_response([*(head | {"choices": [{"index": 0} | chunk]} for chunk in chunks), "[DONE]"])

    return reply


ANSWERS = {
    "a text": says("Canberra.", "Sydney.", "Canberra."),
    "calls": calls(thought="Hmm, let me see."),
    "a refusal": _says("", "stop", refusal="I will not."),
    "cut off": _says("The capital", "length"),
    "filtered": _says("The capital", "content_filter"),
    "thoughts": _says("Canberra", "stop", reasoning="Hmm."),
    "nothing": _says("", "stop"),
}


class _Strict:
    """The real clients, which refuse what their types do not allow."""

    def __init__(self, address: str) -> None:
        options: Any = {"api_key": "sk-test-client", "max_retries": 0, "_strict_response_validation": True}
        self.openai = openai.OpenAI(base_url=f"{address}/v1", **options)
        self.anthropic = anthropic.Anthropic(base_url=address, **options)


@pytest.fixture
def strict(serve: Any) -> Any:
    """The proxy before an upstream of chat alone, and its clients."""
    made: list[Any] = []

    def start(**route: Any) -> _Strict:
        address = serve(upstream_settings={"converts": ["responses", "messages"]}, sampling={"n": 3}, **route)
        made.append(_Strict(address))
        return made[-1]

    yield start
    for clients in made:
        clients.openai.close()
        clients.anthropic.close()


@pytest.mark.parametrize(("mode", "stream"), [mode for mode in MODES if mode[0] != "shadow"])
def test_a_response_is_what_its_specification_asks_for(strict: Any, upstream: Upstream, mode: str, stream: str) -> None:
    client = strict(mode=mode, stream=stream).openai.responses
    tool: Any = {"type": "function", "name": "find", "parameters": {"type": "object"}}
    sent: Any = {"model": "m", "input": QUESTION, "temperature": 0.2, "tools": [tool], "text": {"verbosity": "low"}, "reasoning": {"effort": "low"}}  # fmt: skip
    check = TypeAdapter(ResponseStreamEvent)
    for name, reply in ANSWERS.items():
        upstream.default = reply
        whole = client.create(**sent)
        events = list(client.create(**sent, stream=True))
        for event in events:
            check.validate_json(event.to_json(), strict=True)
        told = [event.response for event in events if hasattr(event, "response")]
        for answer in (whole, *told):
            Response.model_validate_json(answer.to_json(), strict=True)
            said = answer.to_dict()
            assert said.keys() >= OF_A_RESPONSE, name
            assert (said["temperature"], said["top_p"]) == (0.2, 1.0)
            assert said["tools"] == [tool | {"description": None, "strict": False}]
            assert said["text"] == {"verbosity": "low", "format": {"type": "text"}}
            assert (said["completed_at"] is not None) == (said["status"] == "completed")
        for item in whole.output:
            assert item.id
            assert getattr(item, "status", "completed") in ("completed", "incomplete", None)


@pytest.mark.parametrize(("mode", "stream"), [mode for mode in MODES if mode[0] != "shadow"])
def test_a_message_is_what_its_specification_asks_for(strict: Any, upstream: Upstream, mode: str, stream: str) -> None:
    client = strict(mode=mode, stream=stream).anthropic.messages
    tool: Any = {"name": "find", "input_schema": {"type": "object"}}
    sent: Any = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": QUESTION}], "tools": [tool]}
    check: Any = TypeAdapter(RawMessageStreamEvent)
    for name, reply in ANSWERS.items():
        upstream.default = reply
        whole = client.create(**sent)
        events = list(client.create(**sent, stream=True))
        for event in events:
            check.validate_json(event.to_json(), strict=True)
        assert events[1].to_dict()["content_block"].keys() >= {"type"}
        for answer in (whole, events[0].message):
            Message.model_validate_json(answer.to_json(), strict=True)
            said = answer.to_dict()
            assert said.keys() >= OF_A_MESSAGE, name
            assert said["usage"].keys() >= OF_ITS_USAGE, name
        blocks = [*whole.content, *(event.content_block for event in events if event.type == "content_block_start")]
        for block in map(anthropic.BaseModel.to_dict, blocks):
            assert block["type"] != "text" or "citations" in block, name
            assert block["type"] != "tool_use" or block["caller"] == {"type": "direct"}, name
