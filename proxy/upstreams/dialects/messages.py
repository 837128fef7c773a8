"""`/v1/messages`, Anthropic's format: an answer is a message of blocks (thinking, text, tool calls).

Its last text is the answer. A text with citations consists of adjacent blocks, split where a citation begins or ends.
Everything here is a pure function of JSON objects. Unknown data from client or upstream is ignored here and kept in the
object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import orjson

from ...errors import ProxyError
from ...outcomes import Reason
from ...strict_json import loads
from ...types import Json, Usage
from ..answers import ERROR_KINDS, completion_of
from ..sse import named_event
from .chat import with_wish
from .chat_parts import kinds_of_tools

ACTING = ("mcp_toolset", "code_execution")
"""Prefixes of types of tools that the upstream runs itself and that may act or cost on their own."""
FINISH_REASONS = {"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "tool_calls"}
"""Finish reasons of chat completions by stop reason; "stop" for all others."""
_TAGGED = re.compile(r"\s*<([\w-]+)>.*</\1>\s*", re.DOTALL)
PAUSED = "pause_turn"
"""Stop reason of an incomplete answer: the client sends it back, and the upstream's tools continue."""
ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")
"""Fields of a message that are sent at the end of its stream."""


def as_chat(body: Json) -> Json:
    """The parts of a request that we read, as a chat request."""
    given = (message for message in body.get("messages") or () if isinstance(message, dict))
    messages = [turn for message in given if isinstance(message.get("role"), str) for turn in _turns(message)]
    if body.get("system"):
        messages.insert(0, {"role": "system", "content": body["system"]})
    chat: Json = {"messages": messages}
    for name in ("max_tokens", "tools"):
        if body.get(name) is not None:
            chat[name] = body[name]
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        chat["tool_choice"] = {"any": "required", "auto": "auto", "none": "none"}.get(str(choice.get("type")), choice)
    output = body.get("output_config")
    form = body.get("output_format") or (output.get("format") if isinstance(output, dict) else None)
    if form is not None:
        chat["response_format"] = form
    return chat


def _turns(message: Json) -> Iterator[Json]:
    """A message as chat has it: results of tools are turns of their own. What a program wrote beside them, in tags, is not the user's."""
    content, role = message.get("content"), message["role"]
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    results = [block for block in blocks if block.get("type") == "tool_result"] if role == "user" else []
    yield from ({"role": "tool", "content": result.get("content")} for result in results)
    if results:
        blocks = [block for block in blocks if block.get("type") != "tool_result"]
        content = [block for block in blocks if not _TAGGED.fullmatch(str(block.get("text")))]
    if content or not results:
        yield {"role": role, "content": content}


def skip_reason(body: Json) -> Reason | None:
    """Why answers to a request are not calibrated: every sample would have side effects."""
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "none":
        return None
    acts = bool(body.get("mcp_servers")) or any(kind.startswith(ACTING) for kind in kinds_of_tools(body))
    return Reason.ACTING_TOOLS if acts else None


def without_effect(body: Json) -> Json:
    """The request unchanged: samples are not stored, and log-probabilities are not available."""
    return body


def with_effort(body: Json, effort: str) -> Json:
    """The request with this reasoning effort; its other output settings stay."""
    output = body.get("output_config")
    return body | {"output_config": (output if isinstance(output, dict) else {}) | {"effort": effort}}


def shortened(body: Json, wish: str) -> Json:
    """The request with an instruction at the end of the user's last message."""
    messages = list(body.get("messages") or ())
    if not messages or not isinstance(messages[-1], dict) or messages[-1].get("role") != "user":
        return body
    return body | {"messages": [*messages[:-1], with_wish(messages[-1], wish)]}


def completion(answer: Json) -> Json:
    """An answer as a completion object with one choice, with the original answer as `original`.

    Raises:
        ValueError: it has no list of content blocks.
    """
    if not isinstance(answer.get("content"), list):
        raise ValueError("without a list of content blocks")
    blocks = [block for block in answer["content"] if isinstance(block, dict)]
    texts = [answer["content"][i] for i in _places(answer)]
    text = "".join(block["text"] for block in texts)
    message: Json = {"role": "assistant", "content": text}
    if calls := [block for block in blocks if block.get("type") in _calls(answer)]:
        message["tool_calls"] = calls
    if citations := [citation for block in texts for citation in block.get("citations") or ()]:
        message["annotations"] = citations
    if answer.get("stop_reason") == "refusal":
        message["refusal"] = text or "refused"
    finish = FINISH_REASONS.get(str(answer.get("stop_reason")), "stop")
    return completion_of(answer, message, finish, _usage(answer))


def _calls(answer: Json) -> tuple[str, ...]:
    """Types of blocks that do not end the turn."""
    return ("tool_use", "server_tool_use") if answer.get("stop_reason") == PAUSED else ("tool_use",)


def _usage(answer: Json) -> Json | None:
    """Token usage in the format of chat completions: tokens read from and written to the cache count as prompt tokens."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    cached, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    prompt = sum(count for count in (usage.get("input_tokens"), cached, written) if isinstance(count, int))
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": cached},
        "cache_creation_input_tokens": written,
    }


def spent_in_all(spent: Usage) -> Json:
    """Token usage in the format of this endpoint: tokens from the cache are counted separately."""
    return {
        "input_tokens": max(0, spent.prompt - spent.cached),
        "cache_read_input_tokens": spent.cached,
        "output_tokens": spent.completion,
    }


def _places(answer: Json) -> list[int]:
    """Indices of the adjacent text blocks that come last and are not empty; the last ones if all are empty."""
    texts: list[list[int]] = [[]]
    for i, block in enumerate(answer["content"]):
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            texts[-1].append(i)
        elif texts[-1]:
            texts.append([])
    speaking = [places for places in texts if any(answer["content"][i]["text"].strip() for i in places)]
    return (speaking or [places for places in texts if places] or [[]])[-1]


def answer(_completion: Json, choice: Json, text: str | None, *, logprobs: bool) -> Json:
    """The answer for the client: the original of a choice, with another text if given."""
    del logprobs  # this endpoint has none
    original: Json = choice["original"]
    return original if text is None else reworded(original, text)


def without_calls(choice: Json) -> Json:
    """The choice without its tool calls: the text that replaces them ends the turn."""
    original = choice["original"]
    calls = _calls(original)
    content = [block for block in original["content"] if not isinstance(block, dict) or block.get("type") not in calls]
    if not _places({"content": content}):
        content.append({"type": "text", "text": ""})
    return choice | {"original": original | {"content": content, "stop_reason": "end_turn"}}


def reworded(answer: Json, text: str) -> Json:
    """The answer with its last text replaced, in one block."""
    places = _places(answer)
    if not places:
        return answer
    content = answer["content"]
    block = content[places[0]] | {"text": text}
    return answer | {"content": [*content[: places[0]], block, *content[places[-1] + 1 :]]}


def events(answer: Json, pieces: Callable[[str], Iterable[str]], _asked: bool = False) -> Iterator[bytes]:
    """An answer as the events of a stream; `pieces` splits a text.

    Our field is in the message and in the last event.
    """
    blocks = (item_events(block, index, pieces) for index, block in enumerate(answer["content"]))
    return map(encoded, chain(opening(answer), *blocks, ending(answer)))


def encoded(event: Json, _number: int = 0) -> bytes:
    """An encoded event; events of this endpoint are not numbered."""
    return named_event(event["type"], event)


def opening(answer: Json) -> Iterator[Json]:
    """The first event of an answer's stream, without content."""
    begun = answer | {"content": []} | dict.fromkeys((name for name in ENDING if name in answer), None)
    if usage := _own_usage(answer):
        begun["usage"] = usage | {"output_tokens": 0}
    yield {"type": "message_start", "message": begun}


def ending(answer: Json) -> Iterator[Json]:
    """The last events of an answer's stream."""
    delta = {name: answer[name] for name in ENDING if name in answer}
    extra = {"hedgerow": answer["hedgerow"]} if "hedgerow" in answer else {}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0} | _own_usage(answer)} | extra
    yield {"type": "message_stop"}


def _own_usage(answer: Json) -> Json:
    usage = answer.get("usage")
    return usage if isinstance(usage, dict) else {}


def item_events(block: Any, index: int, pieces: Callable[[str], Iterable[str]]) -> Iterator[Json]:
    """The events of one block; a block of an unknown type is sent whole in its first event."""
    if not isinstance(block, dict):
        return
    kind = block.get("type")
    deltas: list[Json] = []
    begun = block
    if kind == "text" and isinstance(block.get("text"), str):
        begun = {"type": "text", "text": ""} | (
            {"citations": block["citations"] and []} if "citations" in block else {}
        )
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        deltas += [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or ()]
    elif kind == "thinking":
        begun = block | {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": block.get("thinking") or ""}]
        deltas.append({"type": "signature_delta", "signature": block.get("signature") or ""})
    elif kind in ("tool_use", "server_tool_use"):
        begun = block | {"input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": _json(block.get("input"))}]
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def decoded(text: str) -> Any:
    """The input of a call; incomplete JSON stays a string."""
    try:
        return loads(text)
    except ValueError:
        return text


def _json(value: object) -> str:
    return orjson.dumps(value if value is not None else {}).decode()


def error(error: ProxyError) -> Json:
    """An error object in Anthropic's format."""
    kind = ERROR_KINDS.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def error_event(body: Json) -> bytes:
    """An error object encoded as the event that ends a stream."""
    return named_event("error", body)
