"""`/v1/chat/completions` and `/v1/completions`: the format that the pipeline itself uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...types import Json, Usage
from .. import sse

THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""Fields of a message with the model's reasoning, as named by different servers."""
OF_THE_TEXT = ("index", "message", "text", "finish_reason")
"""Fields of a choice that do not describe it as a whole."""


def as_chat(body: Json) -> Json:
    """The request as a chat request, which it already is."""
    return body


def prompt_as_chat(body: Json) -> Json:
    """A plain completion's request as a chat request: its prompt is the user's message; a list of one prompt counts as that prompt."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else []
    return body | {"prompt": prompt, "messages": messages}


def with_logprobs(body: Json) -> Json:
    """The request with log-probabilities requested."""
    return body | {"logprobs": True if "prompt" not in body else 0}


def with_effort(body: Json, effort: str) -> Json:
    """The request with a reasoning effort."""
    return body | {"reasoning_effort": effort}


def sample(body: Json) -> Json:
    """The request for one more answer, not stored by the upstream and without a seed, which would make all answers equal."""
    one_more = {key: value for key, value in body.items() if key != "seed" or not isinstance(value, int)}
    return one_more | {"store": False} if body.get("store") else one_more


def shortened(body: Json, wish: str) -> Json:
    """The request with an instruction added to the user's last message.

    Not in a system message, since some models have none. A plain completion continues a text, so nothing is added.
    """
    messages = list(body.get("messages") or ())
    last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=None)
    if last is None:
        return body
    messages[last] = with_wish(messages[last], wish)
    return body | {"messages": messages}


def with_wish(message: Json, wish: str) -> Json:
    """A user's message with an instruction at its end."""
    content = message.get("content")
    if isinstance(content, list):
        return message | {"content": [*content, {"type": "text", "text": wish}]}
    return message | {"content": f"{content or ''}\n\n{wish}".lstrip()}


def answer(completion: Json, choice: Json, text: str | None, *, logprobs: bool) -> Json:
    """The answer for the client: a completion object with one choice, and with `text` if given.

    Args:
        logprobs: whether the client requested log-probabilities; they are removed otherwise, and if the text changed.
    """
    choice = choice | {"index": 0} | ({"logprobs": None} if "logprobs" in choice and not logprobs else {})
    if text is not None:
        said = choice.get("message")
        words = (
            {"text": text} if said is None else {"message": said | {"content": _with_text(said.get("content"), text)}}
        )
        choice |= words | {"logprobs": None}
    return completion | {"choices": [choice]}


def _with_text(content: object, text: str) -> str | list[Any]:
    """A message's content with another text; among parts it stands where the first one stood."""
    if not isinstance(content, list):
        return text
    places = [i for i, part in enumerate(content) if isinstance(part, dict) and isinstance(part.get("text"), str)]
    kept = [part for i, part in enumerate(content) if i not in places[1:]]
    return [part | {"text": text} if i == places[0] else part for i, part in enumerate(kept)] if places else text


def without_calls(choice: Json) -> Json:
    """The choice without its tool calls: the text that replaces them ends the turn."""
    message = {name: value for name, value in choice["message"].items() if name not in ("tool_calls", "function_call")}
    return choice | {"message": message, "finish_reason": "stop"}


def spent_in_all(spent: Usage) -> Json:
    """Total token usage in the format of these endpoints."""
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "total_tokens": spent.total,
        "prompt_tokens_details": {"cached_tokens": spent.cached},
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning},
    }


def events(answer: Json, pieces: Callable[[str], Iterable[str]], with_usage: bool = False) -> Iterator[bytes]:
    """A completion object as the events of a stream; `pieces` splits a text. Token usage is a separate event if requested."""
    choice = answer["choices"][0]
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = message.get("content") or choice.get("text")
    rest = _rest(message)
    thought = {name: rest.pop(name) for name in THOUGHTS if name in rest}
    begun = "" if not message or isinstance(message.get("content"), str) else None  # null: there will be no text
    yield sse.message(answer, {"role": message.get("role") or "assistant", "content": begun})
    if isinstance(text, list):
        thought["content"] = text
    if thought:
        yield sse.message(answer, thought)
    for piece in pieces(text) if isinstance(text, str) else ():
        yield sse.message(answer, {"content": piece})
    if rest:
        yield sse.message(answer, rest)
    described = {name: value for name, value in choice.items() if name not in OF_THE_TEXT}
    yield sse.finish(answer, choice.get("finish_reason"), described, answer.get("hedgerow"))
    if with_usage and "usage" in answer:
        yield sse.usage(answer, answer["usage"])
    yield sse.DONE


def _rest(message: Json) -> Json:
    """The fields of a message other than role and text; tool calls get the index that streams require."""
    rest = {key: value for key, value in message.items() if key not in ("role", "content") and value not in (None, [])}
    calls = rest.get("tool_calls")
    if isinstance(calls, list):
        rest["tool_calls"] = [call | {"index": i} for i, call in enumerate(calls) if isinstance(call, dict)]
    return rest
