"""Converts `/v1/responses` to chat and back, for upstreams that only support chat."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...types import Json
from . import responses
from .chat_parts import Part
from .in_chat import (
    Said,
    called,
    function,
    joined,
    lacking,
    listed,
    refuse_kept,
    tail_of,
    text_of,
    wrong,
)

CONVERTED = frozenset(
    ["input", "instructions", "max_output_tokens", "text", "tools", "tool_choice", "reasoning", "include", "store", "stream", "stream_options", "truncation", "max_tool_calls", "previous_response_id", "conversation", "background", "prompt", "top_logprobs"]
)  # fmt: skip
"""Fields that are converted or dropped; all others are passed on."""
NOT_KEPT = "send the whole conversation as `input`"
REFUSED: Mapping[str, str] = {
    "previous_response_id": NOT_KEPT,
    "conversation": NOT_KEPT,
    "background": "ask without `background`",
    "prompt": "send the prompt's text as `instructions` and `input`",
}
"""Fields that need an upstream that stores data, with advice on what to do instead."""
STATUS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Reason why a response is incomplete, by the finish reason of chat."""
ECHOED: Json = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None},
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "top_logprobs": 0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "max_tool_calls": None,
    "background": False,
    "service_tier": "default",
    "prompt_cache_key": None,
    "safety_identifier": None,
    "truncation": "disabled",
    "user": None,
}
"""Fields of a request that are repeated in its response, with their default values."""


TOOL: Json = {"description": None, "parameters": None, "strict": False}
"""Fields of a tool that is repeated, with their default values."""


def request(body: Json) -> Json:
    """The request converted to chat.

    Raises:
        BadRequest: it uses a feature that chat does not have, or a field has the wrong type.
    """
    refuse_kept(body, REFUSED)
    chat: Json = {name: value for name, value in body.items() if name not in CONVERTED and value is not None}
    instructions = body.get("instructions")
    begun = [] if not instructions else [{"role": "system", "content": text_of(instructions, "instructions")}]
    chat["messages"] = [*begun, *_messages(body.get("input"))]
    if body.get("max_output_tokens") is not None:
        chat["max_tokens"] = body["max_output_tokens"]
    chat |= _tools(body) | _form(body.get("text")) | _probabilities(body)
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and reasoning.get("effort"):
        chat["reasoning_effort"] = reasoning["effort"]
    if body.get("stream"):
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    return chat


def _messages(items: object) -> list[Json]:
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    if not isinstance(items, list) or not items:
        raise wrong("input", "a string or a list of items")
    messages: list[Json] = []
    for index, item in enumerate(items):
        for message in _message(item, f"input[{index}]"):
            calls = message.get("tool_calls")
            if (
                calls and messages and messages[-1]["role"] == "assistant"
            ):  # chat has all calls of one answer in one message
                messages[-1]["tool_calls"] = [*messages[-1].get("tool_calls", ()), *calls]
            else:
                messages.append(message)
    return messages


def _message(item: object, place: str) -> Iterator[Json]:
    """The chat message of one item as a list; empty for the model's own notes."""
    if not isinstance(item, dict):
        raise wrong(place, "an object")
    kind = item.get("type") or "message"
    if kind == "message":
        role = item.get("role")
        if role not in ("user", "assistant", "system", "developer"):
            raise wrong(f"{place}.role", "user, assistant, system or developer")
        content = _content(item.get("content"), f"{place}.content")
        yield {"role": "system" if role == "developer" else role, "content": content}
    elif kind == "function_call":
        yield {
            "role": "assistant",
            "content": None,
            "tool_calls": [called(item.get("call_id"), item.get("name"), item.get("arguments"), place)],
        }
    elif kind == "function_call_output":
        output = _content(item.get("output"), f"{place}.output")
        yield {"role": "tool", "tool_call_id": str(item.get("call_id") or ""), "content": output}
    elif kind != "reasoning":
        raise lacking(place, f"items of the type {kind!r}", "leave it out")


def _content(content: object, place: str) -> str | list[Json]:
    if isinstance(content, str):
        return content
    return joined([_part(part, f"{place}[{i}]") for i, part in enumerate(listed(content, place))])


def _part(part: object, place: str) -> Json:
    if not isinstance(part, dict):
        raise wrong(place, "an object")
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text", "refusal"):
        name = "refusal" if kind == "refusal" else "text"
        return {"type": "text", "text": text_of(part.get(name), f"{place}.{name}")}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        detail = {"detail": part["detail"]} if part.get("detail") else {}
        return {"type": "image_url", "image_url": {"url": part["image_url"]} | detail}
    if kind == "input_file" and isinstance(part.get("file_data"), str):
        return {"type": "file", "file": {name: part[name] for name in ("filename", "file_data") if part.get(name)}}
    if kind == "input_audio" and isinstance(part.get("input_audio"), dict):
        return {"type": "input_audio", "input_audio": part["input_audio"]}
    raise lacking(place, f"parts of type {kind!r} with these fields", "send text, an `image_url` or `file_data`")


def _tools(body: Json) -> Json:
    """The offered tools and the tool choice."""
    asked: Json = {}
    if body.get("tools") is not None:
        offered = listed(body["tools"], "tools")
        asked["tools"] = [_tool(tool, f"tools[{i}]") for i, tool in enumerate(offered)]
    if not asked.get("tools"):
        return {}
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        if choice.get("type") != "function":
            raise lacking("tool_choice", f"the type {choice.get('type')!r}", "name a function, or say `auto`")
        choice = {"type": "function", "function": {"name": choice.get("name")}}
    return asked | ({} if choice is None else {"tool_choice": choice})


def _tool(tool: object, place: str) -> Json:
    if not isinstance(tool, dict):
        raise wrong(place, "an object")
    if tool.get("type") != "function":
        raise lacking(place, f"tools of the type {tool.get('type')!r}", "leave it out, or offer a function")
    return function(tool, tool.get("parameters"))


def _form(text: object) -> Json:
    """The output format."""
    if not isinstance(text, dict):
        return {}
    asked: Json = {"verbosity": text["verbosity"]} if text.get("verbosity") else {}
    form = text.get("format")
    if not isinstance(form, dict) or form.get("type") == "text":
        return asked
    if form.get("type") == "json_schema":
        form = {"type": "json_schema", "json_schema": {name: form[name] for name in form if name != "type"}}
    return asked | {"response_format": form}


def _probabilities(body: Json) -> Json:
    include, top = body.get("include"), body.get("top_logprobs")
    if not top and not (isinstance(include, list) and responses.LOGPROBS in include):
        return {}
    return {"logprobs": True} | ({"top_logprobs": top} if top else {})


def begun(body: Json, head: Said) -> Json:
    """The response for a request, without content yet."""
    echoed = {name: _echoed(body.get(name), value) for name, value in ECHOED.items()}
    echoed["tools"] = [TOOL | tool for tool in echoed["tools"]]  # functions: a request with others was refused
    return {
        "id": f"resp_{tail_of(head.id)}",
        "object": "response",
        "created_at": head.created,
        "completed_at": None,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": head.model,
        "output": [],
        "previous_response_id": None,
        "store": False,
        "usage": None,
    } | echoed


def _echoed(said: Any, default: Any) -> Any:
    """A field of a request as its response repeats it, with what the client left out."""
    if isinstance(said, dict) and isinstance(default, dict):
        return default | said
    return default if said is None else said


def ended(begun: Json, head: Said, parts: Sequence[Part]) -> Json:
    """The complete response."""
    why = STATUS.get(head.finish)
    status: Json = {"status": "completed", "completed_at": max(head.created, int(time.time()))}
    if why:
        status = {"status": "incomplete", "incomplete_details": {"reason": why}}
    counts = None if head.usage is None else responses.spent_in_all(head.usage)
    return begun | status | {"output": [item(begun, part) for part in parts], "usage": counts}


def item(begun: Json, part: Part) -> Json:
    """One part of the answer as an item of the output."""
    name = f"{begun['id'].removeprefix('resp_')}_{part.number}"
    if part.kind == "thought":
        return {"id": f"rs_{name}", "type": "reasoning", "summary": [{"type": "summary_text", "text": part.text}]}
    if part.kind == "call":
        fields = {"call_id": part.call_id or f"call_{name}", "name": part.name, "arguments": part.text or "{}"}
        return {"id": f"fc_{name}", "type": "function_call", "status": "completed"} | fields
    content: Json = {
        "type": "output_text",
        "text": part.text,
        "annotations": _annotations(part),
        "logprobs": _tokens(part.logprobs, top_logprobs=[]),
    }
    if part.kind == "refusal":
        content = {"type": "refusal", "refusal": part.text}
    return {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": [content]}


def _annotations(part: Part) -> list[Json]:
    """The citations of a text, whose fields chat keeps one level deeper."""
    known = [each for each in part.annotations if isinstance(each, dict)]
    inner = [each.get(str(each.get("type"))) for each in known]
    return [
        {"type": each.get("type")} | own if isinstance(own, dict) else each
        for each, own in zip(known, inner, strict=True)
    ]


def _tokens(logprobs: Any, **lacking: Any) -> list[Json]:
    """Log-probabilities of tokens, with what chat may leave out."""
    tokens = [token for token in logprobs if isinstance(token, dict)] if isinstance(logprobs, list) else []
    bare = [{name: value for name, value in token.items() if value is not None} for token in tokens]
    return [
        lacking | {"bytes": list(str(token.get("token")).encode())} | token
        | ({"top_logprobs": _tokens(token["top_logprobs"])} if token.get("top_logprobs") else {})
        for token in bare
    ]  # fmt: skip


def goes_on(event: Json, _part: Part, piece: str) -> Json:
    """An event with one more piece of a part."""
    return event | {"delta": piece}


def error(_status: int, body: Any) -> Any:
    """An upstream's error object; its format is the same in chat."""
    return body
