"""`/v1/chat/completions` and `/v1/completions`: the words that the pipeline itself thinks in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from hedgerow.proxy.types import Json, Usage
from hedgerow.proxy.upstreams import sse

THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""Fields of a message that hold what was thought before it was said, by the servers that send them."""


def as_chat(body: Json) -> Json:
    """What is read of a request: the request itself."""
    return body


def prompt_as_chat(body: Json) -> Json:
    """What is read of a plain completion's request: its prompt is what the user says; a list of one prompt is that prompt."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else []
    return body | {"prompt": prompt, "messages": messages}


def with_logprobs(body: Json) -> Json:
    """The request with the wish for log-probabilities."""
    return body | {"logprobs": True if "prompt" not in body else 0}


def with_effort(body: Json, effort: str) -> Json:
    """The request with the wish for so much reasoning."""
    return body | {"reasoning_effort": effort}


def sample(body: Json) -> Json:
    """The request for one more answer, of which the upstream keeps nothing; one seed for all answers would make them one answer."""
    one_more = {key: value for key, value in body.items() if key != "seed" or not isinstance(value, int)}
    return one_more | {"store": False} if body.get("store") else one_more


def shortened(body: Json, wish: str) -> Json:
    """The request with a wish at the end of the user's last message: a system message there is not understood by every model. A plain
    completion is a text to be continued, so nothing is added to it.
    """
    messages = list(body.get("messages") or ())
    last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=None)
    if last is None:
        return body
    messages[last] = with_wish(messages[last], wish)
    return body | {"messages": messages}


def with_wish(message: Json, wish: str) -> Json:
    """A user's message with a wish at its end."""
    content = message.get("content")
    if isinstance(content, list):
        return message | {"content": [*content, {"type": "text", "text": wish}]}
    return message | {"content": f"{content or ''}\n\n{wish}".lstrip()}


def answer(completion: Json, choice: Json, text: str | None, *, logprobs: bool) -> Json:
    """What the client gets: a completion object with one choice, and with another text where one is given.

    Args:
        logprobs: whether the client asked for log-probabilities; those of other words, or that nobody asked for, stay out.
    """
    choice = choice | {"index": 0} | ({"logprobs": None} if "logprobs" in choice and not logprobs else {})
    if text is not None:
        words = {"message": choice["message"] | {"content": text}} if "message" in choice else {"text": text}
        choice |= words | {"logprobs": None}
    return completion | {"choices": [choice]}


def without_calls(choice: Json) -> Json:
    """The choice as one that calls nothing: what is said in place of the calls is the end of the turn."""
    message = {name: value for name, value in choice["message"].items() if name not in ("tool_calls", "function_call")}
    return choice | {"message": message, "finish_reason": "stop"}


def spent_in_all(spent: Usage) -> Json:
    """Tokens spent, in the words of these endpoints."""
    return {
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "total_tokens": spent.total,
        "prompt_tokens_details": {"cached_tokens": spent.cached},
        "completion_tokens_details": {"reasoning_tokens": spent.reasoning},
    }


def events(answer: Json, pieces: Callable[[str], Iterable[str]], with_usage: bool = False) -> Iterator[bytes]:
    """A completion object as the events of a stream; `pieces` cuts a text up. The tokens are an event of their own, where it is asked for."""
    choice = answer["choices"][0]
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text = message.get("content") or choice.get("text")
    rest = _rest(message)
    thought = {name: rest.pop(name) for name in THOUGHTS if name in rest}
    yield sse.opening(answer, has_text=not message or message.get("content") is not None)
    if thought:
        yield sse.message(answer, thought)
    for piece in pieces(text) if isinstance(text, str) else ():
        yield sse.content(answer, piece)
    if rest:
        yield sse.message(answer, rest)
    yield sse.finish(answer, choice.get("finish_reason"), extra=answer.get("hedgerow"))
    if with_usage and "usage" in answer:
        yield sse.usage(answer, answer["usage"])
    yield sse.DONE


def _rest(message: Json) -> Json:
    """What a message holds beside role and text: tool calls get the index that streams want."""
    rest = {key: value for key, value in message.items() if key not in ("role", "content") and value not in (None, [])}
    calls = rest.get("tool_calls")
    if isinstance(calls, list):
        rest["tool_calls"] = [{"index": i} | call for i, call in enumerate(calls) if isinstance(call, dict)]
    return rest
