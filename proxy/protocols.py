"""The protocols of the pipeline's parts, independent of their implementations.

Only `hedgerow.proxy.services` knows both these protocols and their implementations.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from ..calibration import Beta
from .types import ClaimSupport, Clustering, Json, Rewrite, RewriteRequest, Sample, Verdict

if TYPE_CHECKING:
    from ..lexicon.reading.reading import Reading
    from ..lexicon.text.claims import Claim


@dataclass(frozen=True, slots=True)
class Call:
    """One generation call to a model.

    Attributes:
        path: an endpoint of `DIALECTS`, e.g. "/chat/completions".
        body: the request object. One that asks for a stream is read to its end.
        headers: the client's headers that go upstream (its key, its organisation, ...), lower-case names.
        on_text: callback for the index of a choice and each piece of its text; only the embedded model calls it, from any thread.
        target: path and query as the client sent them, for a call to the same endpoint; "" for `path` alone.
        on_retry: callback for each refused call that is retried.
        on_lost: callback if the call was sent and its tokens are not known: it was cancelled, broke off, or its answer reports none.
        id: the audit id of the request that the call is made for.
        member: the group member that must answer, because it has already answered this request; else "".
        patient: whether to retry a refused call after a pause; false if another upstream can be called at once.
        has_draft: whether the client's answer is there by now: then no long pause that an upstream asks for is waited out.
    """

    path: str
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)
    on_text: Callable[[int, str], None] | None = None
    target: str = ""
    on_retry: Callable[[], None] | None = None
    on_lost: Callable[[], None] | None = None
    id: str = ""
    member: str = ""
    patient: bool = True
    has_draft: Callable[[], bool] = lambda: False


class Asker(Protocol):
    """The request for which a model is called, as seen by the parts below the pipeline."""

    @property
    def id(self) -> str:
        """The audit id."""
        ...

    @property
    def question(self) -> str:
        """The user's last message as plain text."""
        ...

    @property
    def model(self) -> str:
        """The requested model."""
        ...

    @property
    def answering_model(self) -> str:
        """The model that has answered; it differs from `model` if a group member has its own."""
        ...

    @property
    def answered_by(self) -> str:
        """The group member that has answered; "" if no group was called."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The client's headers with lower-case names, including its key."""
        ...

    @property
    def on_lost(self) -> Callable[[], None] | None:
        """See `Call`."""
        ...


class RawCall(NamedTuple):
    """One request to be relayed unchanged.

    Attributes:
        path: relative to the upstream's base address, with its query.
        request: the request object in the body if it asks for text; then any group member may answer.
        id: the request's audit id.
        is_websocket: whether a WebSocket is asked for; then the answer may be 101.
    """

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    body: bytes | AsyncIterable[bytes]
    request: Json | None = None
    id: str = ""
    is_websocket: bool = False


class Relay(NamedTuple):
    """An upstream's answer as received: status, end-to-end headers, raw body.

    Attributes:
        upstream, model: the group member that answers, and its own model if it has one; else "".
        send: sends further bytes to an upstream that has opened a WebSocket (101), whose bytes are in `chunks`; else None.
    """

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    chunks: AsyncIterator[bytes]
    upstream: str = ""
    model: str = ""
    send: Callable[[bytes], Awaitable[None]] | None = None


class Upstream(Protocol):
    """A model, or a server of models."""

    @property
    def honours_n(self) -> bool:
        """Whether one call may request several answers with `n`."""
        ...

    async def complete(self, call: Call) -> Json:
        """The upstream's answer to one call, a decoded OpenAI completion object with at least one choice.

        Raises:
            UpstreamRejected: the upstream answered with an error; its status and body are inside.
            UpstreamError: it could not be reached, took too long, or its answer is not a completion.
            Overloaded: its queue is full.
        """
        ...

    def relay(self, call: RawCall) -> AbstractAsyncContextManager[Relay]:
        """Relay a request unchanged. Cancelling inside the context stops the upstream's work.

        Raises:
            UpstreamError: it could not be reached or its answer is incomplete; also raised by the iterator.
        """
        ...

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """The available models, as OpenAI model objects, of all pages; `query` is the client's."""
        ...

    async def aclose(self) -> None:
        """Close connections and free the model."""
        ...


class Clusterer(Protocol):
    """Groups answers by meaning."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers; index i of the result is answers[i]. `answers` is not empty.

        Raises:
            StepFailed: a judge could not answer, and no fallback is configured.
        """
        ...


class ConfidenceSignal(Protocol):
    """Turns samples and their clusters into a raw Beta of confidence in the draft."""

    @property
    def name(self) -> str:
        """The name in configuration and audit."""
        ...

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Raw confidence that the draft (`samples[clustering.draft_index]`) is right.

        Raises:
            StepFailed: the samples lack what this signal needs, such as log-probabilities.
        """
        ...


class Supporter(Protocol):
    """Measures how far other answers support the claims of an answer."""

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """The support of each claim by `others`, which is not empty; `answer` is the answer from which the claims were taken, if they are not all of it.

        Raises:
            StepFailed: it cannot be measured (no other answer, or a judge that could not be asked).
        """
        ...


@runtime_checkable
class FindsClaims(Protocol):
    """A supporter that also finds the claims of an answer."""

    async def find_claims(self, question: str, answer: str) -> tuple[Sequence[Claim], Sequence[bool], Supporter] | None:
        """The claims, for each whether the question asks for it, and what measures them; None if they are to be found in another way.

        Raises:
            StepFailed: the model could not be asked, and no fallback is configured.
        """
        ...


class Guard(Protocol):
    """Checks that a rewrite changes nothing but the confidence."""

    async def check(self, request: RewriteRequest, rewrite: Rewrite, reading: Reading | None = None) -> Verdict:
        """Compare the rewrite with the draft, of which `reading` is. Bad text is refused, never raised as an exception."""
        ...
