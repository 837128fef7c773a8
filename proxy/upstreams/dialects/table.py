"""The endpoints that generate text. A new one is a module of pure functions beside this file, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.dialects.served import ServedStream


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an endpoint words a request for text and its answer. The pipeline thinks in the words of chat completions.

    Attributes:
        prompt: the field that must be there; None where a request may do without.
        as_chat: what is read of a request, in the words of a chat request.
        sample: the request for one more answer beside the client's own.
        shortened: the request with a wish for a short answer.
        with_logprobs: the request with the wish for log-probabilities.
        completion: an upstream's answer as a completion object with choices; raises ValueError where it is not an answer.
        reworded: an answer with another text.
        events: an answer as the events of a stream; the second argument cuts texts up.
        served: reads a stream on its way to the client; None where streams are always buffered.
        several: whether one call may ask for several answers (`n`).
        keeps: whether the upstream keeps the answer to a request, so that the client gets that very answer.
        ends_with_done: whether streams end with `[DONE]`.
        error: an error object from its message, code, HTTP status and parameter; None: OpenAI's.
    """

    prompt: str | None
    as_chat: Callable[[Json], Json]
    sample: Callable[[Json], Json]
    shortened: Callable[[Json, str], Json]
    with_logprobs: Callable[[Json], Json]
    completion: Callable[[Json], Json]
    reworded: Callable[[Json, str], Json]
    events: Callable[[Json, Callable[[str], Iterable[str]]], Iterator[bytes]]
    served: Callable[[], ServedStream] | None
    several: bool = False
    keeps: Callable[[Json], bool] = lambda _body: False
    ends_with_done: bool = False
