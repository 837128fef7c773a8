"""`/v1/responses`: an answer is a list of items (reasoning, tool calls, messages); the last message is the answer.

Everything here is a pure function of JSON objects. Unknown data from client or upstream is ignored here and kept in the
object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any

from ...outcomes import Reason
from ...types import Json, Usage
from ..answers import completion_of
from ..sse import named_event
from .chat_parts import kinds_of_tools

LOGPROBS = "message.output_text.logprobs"
"""Value of `include` that requests log-probabilities."""
CLIENT_ACTS = frozenset(
    ["function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request"]
)  # fmt: skip
"""Items that ask the client to act; not calls of tools that the upstream runs itself."""
ACTING = frozenset(["mcp", "image_generation", "code_interpreter"])
"""Tools that the upstream runs itself and that may act or cost on their own."""
FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Finish reasons of chat completions, by the reason why an answer is incomplete."""

BEGUN: dict[str, Json] = {"message": {"content": []}, "reasoning": {"summary": []}, "function_call": {"arguments": ""}}
"""The initial fields of an item in its stream, by type."""


def as_chat(body: Json) -> Json:
    """The parts of a request that we read, as a chat request."""
    chat: Json = {"messages": [*_instructions(body.get("instructions")), *_messages(body.get("input"))]}
    for name, theirs in (("max_tokens", "max_output_tokens"), ("tools", "tools"), ("tool_choice", "tool_choice")):
        if body.get(theirs) is not None:
            chat[name] = body[theirs]
    text, include = body.get("text"), body.get("include")
    if isinstance(text, dict) and text.get("format") is not None:
        chat["response_format"] = text["format"]
    if body.get("top_logprobs") or (isinstance(include, list) and LOGPROBS in include):
        chat["logprobs"] = True
    return chat


def _instructions(text: object) -> list[Json]:
    return [{"role": "system", "content": text}] if isinstance(text, str) and text else []


def _messages(given: object) -> list[Json]:
    """The messages and results of tools among the items of an input; a string is a user message."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    messages = []
    for item in given if isinstance(given, list) else ():
        if isinstance(item, dict) and isinstance(item.get("role"), str):
            messages.append({"role": item["role"], "content": _text_parts(item.get("content"))})
        elif isinstance(item, dict) and str(item.get("type")).endswith("_output"):
            messages.append({"role": "tool", "content": _text_parts(item.get("output"))})
    return messages


def _text_parts(content: object) -> str | list[Json]:
    """The content of a message in chat format: a string, or its parts; those with a text keep it."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    return [part for part in content if isinstance(part, dict)]


def with_logprobs(body: Json) -> Json:
    """The request with log-probabilities requested."""
    include = body.get("include")
    return body | {"include": [*(include if isinstance(include, list) else []), LOGPROBS]}


def with_effort(body: Json, effort: str) -> Json:
    """The request with this reasoning effort; its other reasoning settings stay."""
    reasoning = body.get("reasoning")
    return body | {"reasoning": (reasoning if isinstance(reasoning, dict) else {}) | {"effort": effort}}


def sample(body: Json) -> Json:
    """The request for one more answer, not stored by the upstream."""
    return body | {"store": False}


def skip_reason(body: Json) -> Reason | None:
    """Why answers to a request are not calibrated.

    Every sample would be added to the conversation or have side effects; or the client fetches its answer later.
    """
    if body.get("conversation") is not None:
        return Reason.CONVERSATION
    if body.get("background"):
        return Reason.BACKGROUND
    acts = body.get("tool_choice") != "none" and not ACTING.isdisjoint(kinds_of_tools(body))
    return Reason.ACTING_TOOLS if acts else None


def stores(body: Json) -> bool:
    """Whether the upstream stores the answer, so that the client may refer to it and must get the first answer."""
    return body.get("store") is not False


def shortened(body: Json, wish: str) -> Json:
    """The request with an instruction at its end."""
    given = body.get("input")
    if isinstance(given, str):
        return body | {"input": f"{given}\n\n{wish}".lstrip()}
    items = given if isinstance(given, list) else []
    return body | {"input": [*items, {"role": "user", "content": wish}]}


def completion(answer: Json) -> Json:
    """An answer as a completion object with one choice, with the original answer as `original`.

    Raises:
        ValueError: it has no list of output items.
    """
    output = answer.get("output")
    if not isinstance(output, list):
        raise ValueError("without a list of output items")
    items = [item for item in output if isinstance(item, dict)]
    parts = _said(answer)
    text = "".join(_texts(answer))
    message: Json = {"role": "assistant", "content": text, "refusal": _refusal(items)}
    if calls := [item for item in items if item.get("type") in CLIENT_ACTS]:
        message["tool_calls"] = calls
    if annotations := _all_of(parts, "annotations"):
        message["annotations"] = annotations
    details = answer.get("incomplete_details")
    why = details.get("reason") if isinstance(details, dict) else None
    finish = FINISH_REASONS.get(str(why), "stop")
    return completion_of(answer, message, finish, _usage(answer), _all_of(parts, "logprobs"))


def _usage(answer: Json) -> Json | None:
    """Token usage in the format of chat completions."""
    usage = answer.get("usage")
    if not isinstance(usage, dict):
        return None
    return {
        "prompt_tokens": usage.get("input_tokens"),
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": usage.get("input_tokens_details"),
        "completion_tokens_details": usage.get("output_tokens_details"),
    }


def spent_in_all(spent: Usage) -> Json:
    """Token usage in the format of this endpoint."""
    return {
        "input_tokens": spent.prompt,
        "input_tokens_details": {"cached_tokens": spent.cached, "cache_write_tokens": spent.written},
        "output_tokens": spent.completion,
        "output_tokens_details": {"reasoning_tokens": spent.reasoning},
        "total_tokens": spent.total,
    }


def _parts(item: object) -> list[Json]:
    content = item.get("content") if isinstance(item, dict) and item.get("type") == "message" else None
    return [part if isinstance(part, dict) else {} for part in content] if isinstance(content, list) else []


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") == "output_text" and isinstance(part.get("text"), str)


def _place(answer: Json) -> int | None:
    """The index of the last message with a text."""
    output = answer["output"]
    return next((i for i in reversed(range(len(output))) if any(map(_is_text, _parts(output[i])))), None)


def _said(answer: Json) -> list[Json]:
    """The text parts of the last message."""
    place = _place(answer)
    return [] if place is None else [part for part in answer["output"][place]["content"] if _is_text(part)]


def _texts(answer: Json) -> list[str]:
    return [part["text"] for part in _said(answer)]


def _all_of(parts: Iterable[Json], name: str) -> list[Any]:
    """The lists under this name in all parts, joined."""
    lists = (part.get(name) for part in parts)
    return [entry for items in lists if isinstance(items, list) for entry in items]


def _refusal(items: Iterable[Json]) -> str | None:
    refusals = (part.get("refusal") for item in items for part in _parts(item) if part.get("type") == "refusal")
    return next((text for text in refusals if isinstance(text, str) and text), None)


def answer(_completion: Json, choice: Json, text: str | None, *, logprobs: bool) -> Json:
    """The answer for the client: the original of a choice, with another text if given.

    Args:
        logprobs: whether the client requested log-probabilities; they are removed otherwise, and if the text changed.
    """
    original: Json = choice["original"]
    if text is not None:
        return reworded(original, text)
    return original if logprobs else _with_texts(original, _texts(original))


def without_calls(choice: Json) -> Json:
    """The choice without its tool calls: the text that replaces them ends the turn.

    The reasoning before the calls is removed too, since an upstream accepts it only together with them.
    """
    original = choice["original"]
    gone = CLIENT_ACTS | {"reasoning"}
    output = [item for item in original["output"] if not isinstance(item, dict) or item.get("type") not in gone]
    if _place({"output": output}) is None:
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        name = f"msg_{str(original.get('id')).removeprefix('resp_')}"
        message = {"id": name, "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        output.append(message)
    return choice | {"original": original | {"output": output}}


def reworded(answer: Json, text: str) -> Json:
    """The answer with its last text replaced, in one part, without log-probabilities."""
    return _with_texts(answer, [text])


def lengthened(answer: Json, ours: str) -> Json:
    """The answer with our words at the end of its last text."""
    *before, last = _texts(answer) or [""]
    return _with_texts(answer, [*before, last + ours])


def _with_texts(answer: Json, texts: Sequence[str]) -> Json:
    """The answer with these texts in the parts of its last message, without log-probabilities; other parts are removed."""
    place = _place(answer)
    if place is None:
        return answer
    item, left, content = answer["output"][place], iter(texts), []
    for part in item["content"]:
        if not _is_text(part):
            content.append(part)
        elif (text := next(left, None)) is not None:
            content.append(part | {"text": text} | ({"logprobs": []} if part.get("logprobs") else {}))
    output = list(answer["output"])
    output[place] = item | {"content": content}
    changed = answer | {"output": output}
    if answer.get("output_text") == "".join(_texts(answer)):
        changed["output_text"] = "".join(texts)
    return changed


def error_event(body: Json) -> bytes:
    """An error object encoded as the event that ends a stream; its fields are at the top level too."""
    inner = body["error"] if isinstance(body["error"], dict) else {}
    fields = {name: inner.get(name) for name in ("code", "message", "param")}
    return named_event("error", fields | body | {"type": "error"})


def events(answer: Json, pieces: Callable[[str], Iterable[str]], _asked: bool = False) -> Iterator[bytes]:
    """An answer as the events of a stream, numbered from 0; `pieces` splits a text."""
    items = (item_events(item, index, pieces) for index, item in enumerate(answer["output"]))
    return map(encoded, chain(opening(answer), *items, ending(answer)), count())


def encoded(event: Json, number: int) -> bytes:
    """An encoded event with its sequence number."""
    return named_event(event["type"], event | {"sequence_number": number})


def opening(answer: Json) -> Iterator[Json]:
    """The first events of an answer's stream, without content."""
    begun = {key: value for key, value in answer.items() if key not in ("hedgerow", "output_text")}
    begun |= {"status": "in_progress", "output": [], "usage": None, "completed_at": None, "incomplete_details": None}
    begun = {key: value for key, value in begun.items() if key in answer}
    for kind in ("response.created", "response.in_progress"):
        yield {"type": kind, "response": begun}


def ending(answer: Json) -> Iterator[Json]:
    """The last event of an answer's stream."""
    status = answer.get("status")
    yield {
        "type": f"response.{status if status in ('incomplete', 'failed') else 'completed'}",
        "response": answer,
    }


def item_events(item: Any, index: int, pieces: Callable[[str], Iterable[str]]) -> Iterator[Json]:
    """The events of one item: its beginning, its texts piece by piece, its end."""
    if not isinstance(item, dict):
        return
    kind = item.get("type")
    begun = item | ({"status": "in_progress"} if "status" in item else {})
    begun |= BEGUN.get(str(kind), {})
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    at = {"item_id": item.get("id"), "output_index": index}
    if kind == "message":
        for number, part in enumerate(_parts(item)):
            yield from _part_events(part, at | {"content_index": number}, pieces)
    elif kind == "reasoning":
        for number, part in enumerate(item.get("summary") or ()):
            if isinstance(part, dict):
                yield from _summary_events(part, at | {"summary_index": number})
    elif kind == "function_call" and isinstance(item.get("arguments"), str):
        called = "response.function_call_arguments"
        yield at | {"type": f"{called}.delta", "delta": item["arguments"]}
        named = {"name": item["name"]} if "name" in item else {}
        yield at | named | {"type": f"{called}.done", "arguments": item["arguments"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _part_events(part: Json, at: Json, pieces: Callable[[str], Iterable[str]]) -> Iterator[Json]:
    name = {"output_text": "text", "refusal": "refusal"}.get(str(part.get("type")), "")
    text = part.get(name)
    if not isinstance(text, str):
        yield at | {"type": "response.content_part.added", "part": part}
        yield at | {"type": "response.content_part.done", "part": part}
        return
    spoken = "response.output_text" if name == "text" else "response.refusal"
    probabilities: Json = {"logprobs": []} if name == "text" else {}
    begun = part | {name: ""} | ({"annotations": []} if name == "text" else {})
    yield at | {"type": "response.content_part.added", "part": begun}
    for piece in pieces(text):
        yield at | probabilities | {"type": f"{spoken}.delta", "delta": piece}
    for number, annotation in enumerate(part.get("annotations") or ()):
        added = "response.output_text.annotation.added"
        yield at | {"type": added, "annotation_index": number, "annotation": annotation}
    yield at | probabilities | {"type": f"{spoken}.done", name: text}
    yield at | {"type": "response.content_part.done", "part": part}


def _summary_events(part: Json, at: Json) -> Iterator[Json]:
    text = part.get("text") if isinstance(part.get("text"), str) else ""
    spoken = "response.reasoning_summary"
    yield at | {"type": f"{spoken}_part.added", "part": part | {"text": ""}}
    yield at | {"type": f"{spoken}_text.delta", "delta": text}
    yield at | {"type": f"{spoken}_text.done", "text": text}
    yield at | {"type": f"{spoken}_part.done", "part": part}
