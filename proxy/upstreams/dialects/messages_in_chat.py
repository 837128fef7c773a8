"""Converts `/v1/messages` to chat and back, for upstreams that only support chat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import UpstreamRejected
from ...types import Json, Usage
from ..answers import error_of
from . import messages
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
    ["messages", "system", "stop_sequences", "tools", "tool_choice", "metadata", "output_config", "output_format", "stream", "service_tier", "container", "mcp_servers"]
)  # fmt: skip
"""Fields that are converted or dropped; all others are passed on."""
REFUSED: Mapping[str, str] = {
    "container": "ask without `container`",
    "mcp_servers": "offer what they do as functions in `tools`",
}
"""Fields that need support by the provider, with advice on what to do instead."""
STOPPED = {"length": "max_tokens", "content_filter": "refusal"}
"""Stop reasons by the finish reason of chat."""
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
IMAGES = "send a picture as `base64` or `url`, a document as `base64` or `text`"
DELTAS = {"thought": ("thinking_delta", "thinking"), "call": ("input_json_delta", "partial_json")}
"""The type of a delta for each kind of part; a text otherwise."""


UNCOUNTED: Json = {"cache_creation": None, "inference_geo": None, "server_tool_use": None, "service_tier": "standard"}
"""Fields of a usage that chat does not tell."""
CALLER: Json = {"caller": {"type": "direct"}}
"""Who calls a tool: the model itself."""


def request(body: Json) -> Json:
    """The request converted to chat.

    Raises:
        BadRequest: it uses a feature that chat does not have, or a field has the wrong type.
    """
    refuse_kept(body, REFUSED)
    chat: Json = {name: value for name, value in body.items() if name not in CONVERTED and value is not None}
    system = _text(body.get("system"), "system")
    given = listed(body.get("messages"), "messages")
    turns = [turn for i, message in enumerate(given) for turn in _turns(message, f"messages[{i}]")]
    if not turns:
        raise wrong("messages", "a list of at least one message")
    chat["messages"] = [*([{"role": "system", "content": system}] if system else []), *turns]
    if body.get("stop_sequences"):
        chat["stop"] = body["stop_sequences"]
    metadata = body.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("user_id"), str):
        chat["user"] = metadata["user_id"]
    chat |= _tools(body) | _output(body)
    if body.get("stream"):
        chat |= {"stream": True, "stream_options": {"include_usage": True}}
    return chat


def _text(content: object, place: str) -> str:
    """The text of a string or of a list of text blocks."""
    if isinstance(content, list):
        blocks = [block if isinstance(block, dict) else {} for block in content]
        return "\n".join(text_of(block.get("text"), f"{place}[{i}].text") for i, block in enumerate(blocks))
    return text_of(content, place)


def _turns(message: object, place: str) -> list[Json]:
    """The chat messages for one message: tool results come before the user's text."""
    if not isinstance(message, dict):
        raise wrong(place, "an object")
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant", "system"):
        raise wrong(f"{place}.role", "user or assistant")
    if content is None or isinstance(content, str):
        return [{"role": role, "content": content or ""}]
    results: list[Json] = []
    parts: list[Json] = []
    calls: list[Json] = []
    for index, block in enumerate(listed(content, f"{place}.content")):
        where = f"{place}.content[{index}]"
        if not isinstance(block, dict):
            raise wrong(where, "an object")
        kind = block.get("type")
        if kind == "tool_use":
            calls.append(called(block.get("id"), block.get("name"), block.get("input"), where))
        elif kind == "tool_result":
            results.append(_result(block, where))
        elif kind not in ("thinking", "redacted_thinking"):
            parts.append(_part(block, where))
    return [*results, *_as_message(role, parts, calls)]


def _as_message(role: str, parts: list[Json], calls: list[Json]) -> list[Json]:
    """The text and calls of a message as one chat message; none if it has neither."""
    if not parts and not calls:
        return []
    return [{"role": role, "content": joined(parts, "\n") or None} | ({"tool_calls": calls} if calls else {})]


def _result(block: Json, place: str) -> Json:
    content = block.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else []
    if not isinstance(content, str):
        for i, part in enumerate(listed(content, f"{place}.content")):
            parts.append(_part(part if isinstance(part, dict) else {}, f"{place}.content[{i}]"))
    return {"role": "tool", "tool_call_id": str(block.get("tool_use_id") or ""), "content": joined(parts, "\n")}


def _part(block: Json, place: str) -> Json:
    """A block of a user's message as a part of a chat message."""
    kind, source = block.get("type"), block.get("source")
    source = source if isinstance(source, dict) else {}
    if kind == "text":
        return {"type": "text", "text": text_of(block.get("text"), f"{place}.text")}
    data = f"data:{source.get('media_type')};base64,{source.get('data')}"
    if kind == "image" and source.get("type") in ("base64", "url"):
        return {"type": "image_url", "image_url": {"url": data if source["type"] == "base64" else source.get("url")}}
    if kind == "document" and source.get("type") == "text":
        return {"type": "text", "text": text_of(source.get("data"), f"{place}.source.data")}
    if kind == "document" and source.get("type") == "base64":
        return {"type": "file", "file": {"filename": str(block.get("title") or "document"), "file_data": data}}
    raise lacking(place, f"blocks of type {kind!r} with these fields", IMAGES)


def _tools(body: Json) -> Json:
    """The offered tools and the tool choice."""
    offered = [_tool(tool, f"tools[{i}]") for i, tool in enumerate(listed(body.get("tools"), "tools"))]
    if not offered:
        return {}
    asked: Json = {"tools": offered}
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        kind = choice.get("type")
        if kind != "tool" and kind not in CHOICES:
            raise wrong("tool_choice.type", "auto, any, tool or none")
        named = {"type": "function", "function": {"name": choice.get("name")}}
        asked["tool_choice"] = named if kind == "tool" else CHOICES[kind]
        if choice.get("disable_parallel_tool_use"):
            asked["parallel_tool_calls"] = False
    return asked


def _tool(tool: object, place: str) -> Json:
    if not isinstance(tool, dict):
        raise wrong(place, "an object")
    if tool.get("type") not in (None, "custom"):
        raise lacking(
            place, f"tools of the type {tool['type']!r}", "leave it out, or describe it with an `input_schema`"
        )
    return function(tool, tool.get("input_schema"))


def _output(body: Json) -> Json:
    """The reasoning effort and the output format."""
    output = body.get("output_config")
    output = output if isinstance(output, dict) else {}
    asked: Json = {"reasoning_effort": output["effort"]} if output.get("effort") else {}
    form = body.get("output_format") or output.get("format")
    if isinstance(form, dict):
        schema = {"name": "output", "schema": form.get("schema")}
        asked["response_format"] = {"type": "json_schema", "json_schema": schema}
    return asked


def begun(_body: Json, head: Said) -> Json:
    """The message for a request, without content yet."""
    return {
        "id": f"msg_{tail_of(head.id)}",
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "container": None,
        "usage": _counts(head.usage),
    }


def _counts(usage: Usage | None) -> Json:
    spent = usage or Usage()
    counted = {
        "cache_creation_input_tokens": spent.written,
        "output_tokens_details": {"thinking_tokens": spent.reasoning},
    }
    return UNCOUNTED | messages.spent_in_all(spent) | counted


def ended(begun: Json, head: Said, parts: Sequence[Part]) -> Json:
    """The complete message."""
    kinds, content = {part.kind for part in parts}, [item(begun, part) for part in parts]
    otherwise = "refusal" if "refusal" in kinds else "tool_use" if "call" in kinds else "end_turn"
    why = STOPPED.get(head.finish, otherwise)
    return begun | {"content": content, "stop_reason": why, "usage": _counts(head.usage)}


def item(begun: Json, part: Part) -> Json:
    """One part of the answer as a content block."""
    if part.kind == "thought":
        return {"type": "thinking", "thinking": part.text, "signature": ""}
    if part.kind == "call":
        name = part.call_id or f"toolu_{begun['id'].removeprefix('msg_')}_{part.number}"
        return {
            "type": "tool_use",
            "id": name,
            "name": part.name,
            "input": messages.decoded(part.text or "{}"),
        } | CALLER
    return {"type": "text", "text": part.text, "citations": None}


def goes_on(event: Json, part: Part, piece: str) -> Json:
    """An event with one more piece of a part."""
    kind, name = DELTAS.get(part.kind, ("text_delta", "text"))
    return event | {"delta": {"type": kind, name: piece}}


def error(status: int, body: Any) -> Any:
    """An upstream's error object in Anthropic's format; one without a message is unchanged."""
    inner = error_of(body)
    message = inner.get("message") or inner.get("detail")
    if not isinstance(message, str) or not message:
        return body
    rejected = UpstreamRejected(status, b"", "application/json")
    rejected.message = message
    return messages.error(rejected)
