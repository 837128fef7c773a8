"""`/v1/messages`, Anthropic's: an answer is one message of blocks (thinking, text, calls of tools); its last text is what answers. A text with
citations is cut into neighbouring blocks, where each of them begins and ends.

Everything here is a pure function of JSON objects. What a client or an upstream sends in a form that we do not know is ignored here and
kept in the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import orjson

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import Json, Usage
from hedgerow.proxy.upstreams.dialects.as_completion import completion_of
from hedgerow.proxy.upstreams.dialects.chat import with_wish
from hedgerow.proxy.upstreams.dialects.chat_parts import kinds_of_tools
from hedgerow.proxy.upstreams.sse import named_event

ACTING = ("mcp_toolset", "code_execution")
"""How kinds of tools begin that the upstream runs itself and that may act or cost by themselves."""
FINISH_REASONS = {"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "tool_calls"}
"""Why an answer ended, in the words of chat completions; "stop" for all others."""
PAUSED = "pause_turn"
"""Why a message ended that is not an answer yet: the client sends it back, and the tools of the upstream go on."""
ENDING = ("stop_reason", "stop_sequence", "stop_details", "container")
"""Fields of a message that stand at the end of its stream."""


def as_chat(body: Json) -> Json:
    """What is read of a request, in the words of a chat request."""
    messages = [
        {"role": message["role"], "content": message.get("content")}
        for message in body.get("messages") or ()
        if isinstance(message, dict) and isinstance(message.get("role"), str)
    ]
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


def skip_reason(body: Json) -> Reason | None:
    """Why answers to a request are not calibrated: every sample would act."""
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "none":
        return None
    acts = bool(body.get("mcp_servers")) or any(kind.startswith(ACTING) for kind in kinds_of_tools(body))
    return Reason.ACTING_TOOLS if acts else None


def without_effect(body: Json) -> Json:
    """The request as it is: one more answer leaves no trace, and log-probabilities are not to be had."""
    return body


def with_effort(body: Json, effort: str) -> Json:
    """The request with the wish for so much effort; what else it says of its output stays."""
    output = body.get("output_config")
    return body | {"output_config": (output if isinstance(output, dict) else {}) | {"effort": effort}}


def shortened(body: Json, wish: str) -> Json:
    """The request with a wish at the end of the user's last message."""
    messages = list(body.get("messages") or ())
    if not messages or not isinstance(messages[-1], dict) or messages[-1].get("role") != "user":
        return body
    return body | {"messages": [*messages[:-1], with_wish(messages[-1], wish)]}


def completion(answer: Json) -> Json:
    """An answer as a completion object of one choice, under whose `original` stands the answer itself.

    Raises:
        ValueError: it has no list of content blocks.
    """
    if not isinstance(answer.get("content"), list):
        raise ValueError("without a list of content blocks")
    blocks = [block for block in answer["content"] if isinstance(block, dict)]
    said = [answer["content"][i] for i in _places(answer)]
    text = "".join(block["text"] for block in said)
    message: Json = {"role": "assistant", "content": text}
    if calls := [block for block in blocks if block.get("type") in _calls(answer)]:
        message["tool_calls"] = calls
    if citations := [citation for block in said for citation in block.get("citations") or ()]:
        message["annotations"] = citations
    if answer.get("stop_reason") == "refusal":
        message["refusal"] = text or "refused"
    finish = FINISH_REASONS.get(str(answer.get("stop_reason")), "stop")
    return completion_of(answer, message, finish, _usage(answer))


def _calls(answer: Json) -> tuple[str, ...]:
    """Kinds of blocks that the turn is not over with."""
    return ("tool_use", "server_tool_use") if answer.get("stop_reason") == PAUSED else ("tool_use",)


def _usage(answer: Json) -> Json | None:
    """The tokens spent, in the words of chat completions: what was read from and written to the cache are tokens of the prompt."""
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
    """Tokens spent, in the words of this endpoint: those that came from the cache are not among the others."""
    return {
        "input_tokens": max(0, spent.prompt - spent.cached),
        "cache_read_input_tokens": spent.cached,
        "output_tokens": spent.completion,
    }


def _places(answer: Json) -> list[int]:
    """The indices of the neighbouring text blocks that say something last; of the last ones where none does."""
    texts: list[list[int]] = [[]]
    for i, block in enumerate(answer["content"]):
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            texts[-1].append(i)
        elif texts[-1]:
            texts.append([])
    speaking = [places for places in texts if any(answer["content"][i]["text"].strip() for i in places)]
    return (speaking or [places for places in texts if places] or [[]])[-1]


def answer(_completion: Json, choice: Json, text: str | None, *, logprobs: bool) -> Json:
    """What the client gets: the answer that a choice was made of, with another text where one is given."""
    del logprobs  # there are none here
    original: Json = choice["original"]
    return original if text is None else reworded(original, text)


def without_calls(choice: Json) -> Json:
    """The choice as one that calls nothing: what is said in place of the calls is the end of the turn."""
    original = choice["original"]
    calls = _calls(original)
    content = [block for block in original["content"] if not isinstance(block, dict) or block.get("type") not in calls]
    if not _places({"content": content}):
        content.append({"type": "text", "text": ""})
    return choice | {"original": original | {"content": content, "stop_reason": "end_turn"}}


def reworded(answer: Json, text: str) -> Json:
    """The answer with another text in place of its last one, in one block."""
    places = _places(answer)
    if not places:
        return answer
    content = answer["content"]
    said = content[places[0]] | {"text": text}
    return answer | {"content": [*content[: places[0]], said, *content[places[-1] + 1 :]]}


def events(answer: Json, pieces: Callable[[str], Iterable[str]], _asked: bool = False) -> Iterator[bytes]:
    """An answer as the events of a stream; `pieces` cuts a text up. Our field stands in the message and in the event that ends it."""
    blocks = (item_events(block, index, pieces) for index, block in enumerate(answer["content"]))
    return map(encoded, chain(opening(answer), *blocks, ending(answer)))


def encoded(event: Json, _number: int = 0) -> bytes:
    """An event; those of this endpoint are not numbered."""
    return named_event(event["type"], event)


def opening(answer: Json) -> Iterator[Json]:
    """The event that begins the stream of an answer: nothing is there yet."""
    begun = answer | {"content": []} | dict.fromkeys((name for name in ENDING if name in answer), None)
    if usage := _own_usage(answer):
        begun["usage"] = usage | {"output_tokens": 0}
    yield {"type": "message_start", "message": begun}


def ending(answer: Json) -> Iterator[Json]:
    """The events that end it."""
    delta = {name: answer[name] for name in ENDING if name in answer}
    extra = {"hedgerow": answer["hedgerow"]} if "hedgerow" in answer else {}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 0} | _own_usage(answer)} | extra
    yield {"type": "message_stop"}


def _own_usage(answer: Json) -> Json:
    usage = answer.get("usage")
    return usage if isinstance(usage, dict) else {}


def item_events(block: Any, index: int, pieces: Callable[[str], Iterable[str]]) -> Iterator[Json]:
    """The events of one block; one of a kind that we do not know comes whole with its beginning."""
    if not isinstance(block, dict):
        return
    kind = block.get("type")
    deltas: list[Json] = []
    begun = block
    if kind == "text" and isinstance(block.get("text"), str):
        begun = {"type": "text", "text": ""} | ({"citations": []} if "citations" in block else {})
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


def decoded(given: str) -> Any:
    """The input of a call; a text that was cut off stays the text that it is."""
    try:
        return orjson.loads(given)
    except orjson.JSONDecodeError:
        return given


def _json(value: object) -> str:
    return orjson.dumps(value if value is not None else {}).decode()


def error(error: ProxyError) -> Json:
    """An error object in Anthropic's form."""
    kind = ERROR_KINDS.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": error.message}}


def error_event(body: Json) -> bytes:
    """An error object as the event that ends a stream."""
    return named_event("error", body)


ERROR_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""Anthropic's names for errors, by HTTP status."""
