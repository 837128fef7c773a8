"""The endpoints that generate text. A new one is a module of pure functions beside this file, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import Json, Usage
from hedgerow.proxy.upstreams import answers, sse
from hedgerow.proxy.upstreams.dialects import as_completion, chat, messages, responses
from hedgerow.proxy.upstreams.dialects.chat_stream import ServedChat
from hedgerow.proxy.upstreams.dialects.messages_stream import ServedMessage
from hedgerow.proxy.upstreams.dialects.responses_stream import ServedResponse
from hedgerow.proxy.upstreams.dialects.served import OnText, ServedStream


class MakesAnswer(Protocol):
    """What the client gets of a completion object and one of its choices; `text` is None where the words stay."""

    def __call__(self, completion: Json, choice: Json, text: str | None, /, *, logprobs: bool) -> Json:
        """Make it."""
        ...


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an endpoint words a request for text and its answer. The pipeline thinks in the words of chat completions.

    Attributes:
        as_chat: what is read of a request, in the words of a chat request.
        sample: the request for one more answer beside the client's own.
        shortened: the request with a wish for a short answer.
        with_logprobs: the request with the wish for log-probabilities.
        with_effort: the request with the wish for so much reasoning.
        completion: an upstream's answer as a completion object with one choice, under whose `original` stands the answer itself; raises
            ValueError where it is not an answer. None for the words of chat completions.
        answer: what the client gets.
        without_calls: a choice as one that calls no tool, in whose place something is said.
        own_usage: what the upstream said of the tokens of one choice of a completion object.
        spent_in_all: tokens spent in all calls, as `usage`.
        events: an answer as the events of a stream; the second argument cuts texts up, the third says whether the client asked for the tokens
            where a stream tells them only on request.
        served: reads a stream on its way to the client, and shows its text as it is written where `several`.
        prompt: the field that a request must have; None where it may do without.
        several: whether one call may ask for several answers (`n`), shows its text as it is written, and tells the tokens of a stream only on
            request (`stream_options`).
        error: the object of an error of ours.
        error_event: an error object as an event inside a stream.
        reason: why answers to a request are not calibrated, whatever they say.
        keeps: whether the upstream keeps the answer to a request, so that the client gets that very answer.
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
    served: Callable[[OnText | None], ServedStream]
    prompt: str | None = None
    several: bool = False
    reason: Callable[[Json], Reason | None] = lambda _body: None
    keeps: Callable[[Json], bool] = lambda _body: False
    error: Callable[[ProxyError], Json] = ProxyError.body
    error_event: Callable[[Json], bytes] = sse.event


def _openai(prompt: str, as_chat: Callable[[Json], Json]) -> Dialect:
    """Chat and plain completions."""
    return Dialect(
        as_chat=as_chat,
        sample=chat.sample,
        shortened=chat.shortened,
        with_logprobs=chat.with_logprobs,
        with_effort=chat.with_effort,
        completion=None,
        answer=chat.answer,
        without_calls=chat.without_calls,
        own_usage=answers.own_usage,
        spent_in_all=chat.spent_in_all,
        events=chat.events,
        served=ServedChat,
        prompt=prompt,
        several=True,
    )


DIALECTS: Mapping[str, Dialect] = {
    "/chat/completions": _openai("messages", chat.as_chat),
    "/completions": _openai("prompt", chat.prompt_as_chat),
    "/responses": Dialect(
        as_chat=responses.as_chat,
        sample=responses.sample,
        shortened=responses.shortened,
        with_logprobs=responses.with_logprobs,
        with_effort=responses.with_effort,
        completion=responses.completion,
        answer=responses.answer,
        without_calls=responses.without_calls,
        own_usage=as_completion.own_usage,
        spent_in_all=responses.spent_in_all,
        events=responses.events,
        served=ServedResponse,
        reason=responses.skip_reason,
        keeps=responses.stores,
        error_event=responses.error_event,
    ),
    "/messages": Dialect(
        as_chat=messages.as_chat,
        sample=messages.without_effect,
        shortened=messages.shortened,
        with_logprobs=messages.without_effect,
        with_effort=messages.with_effort,
        completion=messages.completion,
        answer=messages.answer,
        without_calls=messages.without_calls,
        own_usage=as_completion.own_usage,
        spent_in_all=messages.spent_in_all,
        events=messages.events,
        served=ServedMessage,
        prompt="messages",
        reason=messages.skip_reason,
        error=messages.error,
        error_event=messages.error_event,
    ),
}
"""By path relative to `/v1`."""


def dialect_of(path: str) -> Dialect:
    """The words of any path: those of the endpoint that it lies below, or chat's."""
    return DIALECTS.get("/" + path.split("/", 2)[1]) or DIALECTS["/chat/completions"]
