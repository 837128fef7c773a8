"""The seams: what the pipeline needs of its parts, and nothing of how they do it.

`hedgerow.proxy.services` is the only place that knows both these protocols and their implementations.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from hedgerow.calibration import Beta
from hedgerow.proxy.types import ClaimSupport, Clustering, Json, Rewrite, RewriteRequest, Sample, Verdict

if TYPE_CHECKING:
    from hedgerow.lexicon.text.claims import Claim


@dataclass(frozen=True, slots=True)
class Call:
    """One generation call: what the pipeline asks of a model.

    Attributes:
        path: of one of the endpoints in `DIALECTS`, e.g. "/chat/completions".
        body: the request object. One that asks for a stream is read to its end.
        headers: the client's headers that go upstream (its key, its organisation, ...), lower-case names.
        on_text: callback that receives the index of a choice and each piece of it as it is written, where the upstream can say; from any thread.
        target: path and query as the client sent them, where the call goes to the same place; "" for `path` alone.
        on_retry: callback for each refusal after which the call is made again.
        id: the audit id of the request that the call is made for.
        member: the member of a group that has to answer, where one has answered this request already.
        patient: whether a refusal is waited for and the call made again; not where another upstream can be asked at once.
    """

    path: str
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict)
    on_text: Callable[[int, str], None] | None = None
    target: str = ""
    on_retry: Callable[[], None] | None = None
    id: str = ""
    member: str = ""
    patient: bool = True


class Asker(Protocol):
    """The request on whose behalf a model is asked something, as the parts below the pipeline see it."""

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
        """The model that is asked for."""
        ...

    @property
    def answering_model(self) -> str:
        """The model that has answered, where a member of a group is asked for another one; else the same."""
        ...

    @property
    def answered_by(self) -> str:
        """The member of a group that has answered; "" where no group was asked."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The client's headers, lower-case names: they hold its key."""
        ...


class RawCall(NamedTuple):
    """One request to be relayed as it came.

    Attributes:
        path: relative to the upstream's base address, with its query.
        request: the request object in the body where it asks for text, which any member of a group may answer.
        id: the request's audit id.
    """

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    body: bytes | AsyncIterable[bytes]
    request: Json | None = None
    id: str = ""


class Relay(NamedTuple):
    """An upstream's answer as it comes: status, end-to-end headers, raw body.

    Attributes:
        upstream, model: the member of a group that answers, and the model that it was asked for where that is another one; else "".
    """

    status: int
    headers: Sequence[tuple[bytes, bytes]]
    chunks: AsyncIterator[bytes]
    upstream: str = ""
    model: str = ""


class Upstream(Protocol):
    """A model, or a server of models."""

    @property
    def honours_n(self) -> bool:
        """Whether one call may ask for several answers."""
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
        """Pass a request on as it is. Cancelling inside the context ends the upstream's work.

        Raises:
            UpstreamError: it could not be reached or broke off; also from the iterator.
        """
        ...

    async def models(self, headers: Mapping[str, str]) -> list[Json]:
        """The models on offer, as OpenAI model objects."""
        ...

    async def aclose(self) -> None:
        """Close connections and free the model."""
        ...


@runtime_checkable
class Tunnels(Protocol):
    """An upstream that has WebSockets."""

    async def tunnel(
        self, target: str, headers: Sequence[tuple[str, str]]
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Ask for a WebSocket: a connection on which the request was sent, and nothing read yet.

        Raises:
            UpstreamError: it could not be reached.
        """
        ...


class Clusterer(Protocol):
    """Groups answers by meaning."""

    async def cluster(self, question: str, answers: Sequence[str]) -> Clustering:
        """Partition the answers; index i of the result is answers[i]. `answers` is not empty.

        Raises:
            StepFailed: where a judge was asked and could not answer, and no fallback is configured.
        """
        ...


class ConfidenceSignal(Protocol):
    """Turns samples and their clusters into a raw Beta of confidence in the draft."""

    @property
    def name(self) -> str:
        """As in the configuration and in the audit."""
        ...

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Raw confidence that the draft (`samples[clustering.draft_index]`) is right.

        Raises:
            StepFailed: where the samples do not carry what this signal needs (no log-probabilities, say).
        """
        ...


class Supporter(Protocol):
    """Says how far other answers bear out the claims of one."""

    async def measure_claims(
        self, question: str, claims: Sequence[Claim], others: Sequence[str], answer: str | None = None
    ) -> list[ClaimSupport]:
        """The support of each claim among `others`, which are not empty; `answer` is what the claims were taken from, where they are not all of it.

        Raises:
            StepFailed: where it cannot be measured (no other answer, a judge that could not be asked).
        """
        ...


class Rewriter(Protocol):
    """Words a draft at a confidence."""

    @property
    def name(self) -> str:
        """As in the configuration and in the audit."""
        ...

    async def rewrite(self, request: RewriteRequest) -> Rewrite:
        """Reword the draft.

        Raises:
            StepFailed: where no rewrite could be made (no frame fits, the editor failed).
        """
        ...


class Guard(Protocol):
    """Says whether a rewrite changed anything but the confidence."""

    async def check(self, request: RewriteRequest, rewrite: Rewrite) -> Verdict:
        """Compare the rewrite with the draft. Never raises for bad text: bad text is a refusal."""
        ...
