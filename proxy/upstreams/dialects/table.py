"""The table of endpoints that generate text. To add one, write a module of pure functions and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from ...errors import ProxyError
from ...outcomes import Reason
from ...types import Json, Usage
from .. import answers, sse
from . import chat, messages, responses
from .chat_stream import ServedChat
from .messages_stream import ServedMessage
from .responses_stream import ServedResponse
from .served import ServedStream


class MakesAnswer(Protocol):
    """Makes the answer for the client from a completion object and one of its choices; `text` is None if unchanged."""

    def __call__(self, completion: Json, choice: Json, text: str | None, /, *, logprobs: bool) -> Json:
        """Make the answer."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to read and write requests and answers of an endpoint; the pipeline uses the format of chat completions.

    Attributes:
        as_chat: converts the parts of a request that we read to a chat request.
        sample: the request for one more answer besides the client's own.
        shortened: the request with an instruction to answer briefly.
        with_logprobs: the request with log-probabilities requested.
        with_effort: the request with a reasoning effort.
        completion: converts an upstream's answer to a completion object with one choice and the answer as `original`;
            raises ValueError if it is not an answer. None for chat completions.
        answer: makes the answer for the client.
        without_calls: the choice without its tool calls, which a text replaces.
        own_usage: the token usage that the upstream reported for one choice.
        spent_in_all: total token usage in the format of the endpoint.
        events: an answer as the events of a stream; the second argument splits texts, the third says whether the client
            requested token usage (where streams report it only on request).
        served: reads a stream on its way to the client.
        prompt: the field that a request must have; None if there is none.
        several: whether one call may request several answers (`n`), and reports the token usage of a stream only on request (`stream_options`).
        error: an error object for one of our errors.
        error_event: an error object as an event inside a stream.
        reason: why answers to a request are never calibrated; None if they may be.
        keeps: whether the upstream stores the answer, so that the client must get exactly that answer.
    """

    as_chat: Callable[[Json], Json]
    sample: Callable[[Json], Json]
    shortened: Callable[[Json, str], Json]
    with_logprobs: Callable[[Json], Json]
    with_effort: Callable[[Json, str], Json]
    completion: Callable[[Json], Json] | None
    answer: MakesAnswer
    without_calls: Callable[[Json], Json]
    own_usage: Callable[[Json, Json], Json | None]
    spent_in_all: Callable[[Usage], Json]
    events: Callable[[Json, Callable[[str], Iterable[str]], bool], Iterator[bytes]]
    served: Callable[[], ServedStream]
    prompt: str | None = None
    several: bool = False
    reason: Callable[[Json], Reason | None] = lambda _body: None
    keeps: Callable[[Json], bool] = lambda _body: False
    error: Callable[[ProxyError], Json] = ProxyError.body
    error_event: Callable[[Json], bytes] = sse.event


_EACH = ("as_chat", "sample", "shortened", "with_logprobs", "with_effort", "completion", "answer", "without_calls", "own_usage", "spent_in_all", "events")  # fmt: skip


def _of(words: ModuleType, served: Callable[[], ServedStream], **own: Any) -> Dialect:
    """The dialect of a module: its functions of these names, and what is its own."""
    functions: Json = {name: getattr(words, name, None) for name in _EACH} | {"own_usage": answers.original_usage}
    return Dialect(**(functions | {"served": served} | own))


_OPENAI: Json = {"own_usage": answers.own_usage, "several": True}
DIALECTS: Mapping[str, Dialect] = {
    "/chat/completions": _of(chat, ServedChat, prompt="messages", **_OPENAI),
    "/completions": _of(chat, ServedChat, prompt="prompt", as_chat=chat.prompt_as_chat, **_OPENAI),
    "/responses": _of(
        responses,
        ServedResponse,
        reason=responses.skip_reason,
        keeps=responses.stores,
        error_event=responses.error_event,
    ),
    "/messages": _of(
        messages,
        ServedMessage,
        sample=messages.without_effect,
        with_logprobs=messages.without_effect,
        prompt="messages",
        reason=messages.skip_reason,
        error=messages.error,
        error_event=messages.error_event,
    ),
}
"""By path relative to `/v1`."""


def dialect_of(path: str) -> Dialect:
    """The dialect of any path: that of the endpoint it is below, or chat's."""
    return DIALECTS.get("/" + path.split("/", 2)[1]) or DIALECTS["/chat/completions"]
