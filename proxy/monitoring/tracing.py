"""OpenTelemetry traces: one span a request, one a step, one a call to an upstream. Off unless configured, and never with text.

Calls follow the semantic conventions for generative AI clients: operation, model, sampling and usage. Trace context is read from
`traceparent` and passed to the upstream. The libraries are imported only when tracing is on (extra `tracing`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..errors import ConfigError, ProxyError, UpstreamRejected
from ..protocols import Call, RawCall, Relay, Upstream
from ..types import Json
from ..upstreams.answers import usage_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, SpanKind

    from ..config import TracingSettings as Settings

OPERATIONS = dict.fromkeys(("/chat/completions", "/responses", "/messages"), "chat") | {
    "/completions": "text_completion",
    "/embeddings": "embeddings",
}
"""`gen_ai.operation.name` by path."""
API_TYPES = {"/chat/completions": "chat_completions", "/responses": "responses"}
"""`openai.api.type` by path."""
SAMPLING = ("model", "seed", "temperature", "top_p", "top_k", "frequency_penalty", "presence_penalty")
"""Request fields that have the same name in the conventions."""
LIMITS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
"""The endpoints' names for the maximum number of tokens of an answer."""
ANSWER = {
    "id": "gen_ai.response.id",
    "model": "gen_ai.response.model",
    "service_tier": "openai.response.service_tier",
    "system_fingerprint": "openai.response.system_fingerprint",
}
"""Fields of a completion object, and their names in the conventions."""
PROVIDERS = {
    ".openai.azure.com": "azure.ai.openai",
    "api.anthropic.com": "anthropic",
    "api.cohere.com": "cohere",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
}
"""`gen_ai.provider.name` by the end of a host's name, for those that the conventions list."""
_CONTEXT = frozenset(["traceparent", "tracestate"])


class Tracing:
    """Makes the spans of one process with a provider of OpenTelemetry's SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("hedgerow")

    def request(self, method: str, path: str, headers: Mapping[str, str]) -> AbstractContextManager[Span]:
        """The span of a request, a child of the caller's span if `traceparent` names one."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(headers)
        attributes = {"http.request.method": method, "url.path": f"/v1{path}"}
        name = f"{method} /v1{path if path in OPERATIONS else ''}"
        return _current(self._tracer, name, SpanKind.SERVER, attributes, parent)

    def record(
        self, attributes: Mapping[str, str | int | float], begun_ns: Mapping[str, int], timings_ms: Mapping[str, float]
    ) -> None:
        """Set the outcome of a request on its span, and add its steps as child spans with their start and duration."""
        from opentelemetry import trace

        span = trace.get_current_span()
        late = not span.is_recording()  # shadow work continues after its request has ended
        if late:
            span = self._tracer.start_span("shadow", start_time=min(begun_ns.values(), default=None))
        span.set_attributes(attributes)
        context = trace.set_span_in_context(span)
        for name, start_ns in begun_ns.items():
            step = self._tracer.start_span(name, context, start_time=start_ns, attributes={"hedgerow.step": name})
            step.end(start_ns + int(timings_ms.get(name, 0.0) * 1e6))
        if late:
            span.end()

    def around(self, name: str, upstream: Upstream, settings: object) -> Upstream:
        """The upstream with a span for each of its calls."""
        return _TracedUpstream(upstream, {"hedgerow.upstream": name, **server(settings)}, self._tracer)

    def close(self) -> None:
        """Send queued spans; limited by the exporter's own timeout."""
        self._provider.shutdown()


class _TracedUpstream:
    """An upstream whose calls are spans, and which receives the trace context."""

    def __init__(self, inner: Upstream, server: Mapping[str, str | int], tracer: Any) -> None:
        self._inner, self._server, self._tracer = inner, server, tracer
        self.honours_n = inner.honours_n

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        with self._span(call.path, call.body) as span:
            answer = await self._inner.complete(replace(call, headers=_with_context(call.headers)))
            span.set_attributes(of_answer(answer))
            return answer

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`."""
        with self._span(call.path.partition("?")[0], call.request or {}) as span:
            kept = [(name, value) for name, value in call.headers if name not in _CONTEXT]
            traced = call._replace(headers=[*kept, *_with_context({}).items()])
            async with self._inner.relay(traced) as answer:
                span.set_attribute("http.response.status_code", answer.status)
                if answer.status >= 400:
                    _mark(span, str(answer.status))
                yield answer

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self._inner.models(_with_context(headers), query)

    async def aclose(self) -> None:
        """See `Upstream`."""
        await self._inner.aclose()

    def _span(self, path: str, body: Json) -> AbstractContextManager[Span]:
        from opentelemetry.trace import SpanKind

        operation, model = OPERATIONS.get(path, "forward"), body.get("model")
        attributes = {**self._server, "gen_ai.operation.name": operation, **of_request(path, body)}
        name = f"{operation} {model}" if isinstance(model, str) and model else operation
        return _current(self._tracer, name, SpanKind.CLIENT, attributes)


@contextmanager
def _current(
    tracer: Any, name: str, kind: SpanKind, attributes: Mapping[str, str | int | float], parent: Context | None = None
) -> Iterator[Span]:
    """Context: a span around its body. An exception marks it, our own by its code, a foreign one by its class; never by its message, which may
    quote user text.
    """
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with tracer.start_as_current_span(name, context=parent, kind=kind, attributes=attributes, **quiet) as span:
        try:
            yield span
        except Exception as error:  # recorded and raised again
            code = error.code if isinstance(error, ProxyError) else type(error).__name__
            _mark(span, str(error.status) if isinstance(error, UpstreamRejected) else code)
            raise


def _mark(span: Span, kind: str) -> None:
    """Mark a span as an error of a kind."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def server(settings: object) -> dict[str, str | int]:
    """Attributes of an upstream's server: `gen_ai.provider.name`, from a well-known host, else from its protocol, and the server's address."""
    provider: str = getattr(settings, "provider", "")
    url = urlsplit(getattr(settings, "base_url", None) or getattr(settings, "api_base", None) or "")
    host = url.hostname or ""
    known = next((name for suffix, name in PROVIDERS.items() if host.endswith(suffix)), provider)
    attributes: dict[str, str | int] = {"gen_ai.provider.name": known}
    if host:
        attributes |= {"server.address": host, "server.port": url.port or (443 if url.scheme == "https" else 80)}
    return attributes


def of_request(path: str, body: Json) -> dict[str, str | int | float | bool]:
    """Attributes of a request, by the names of the conventions: model and sampling, never text."""
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    tier = body.get("service_tier")
    known = {f"gen_ai.request.{name}": body.get(name) for name in SAMPLING} | {
        "gen_ai.request.choice.count": None if body.get("n") == 1 else body.get("n"),
        "gen_ai.request.max_tokens": next((body[name] for name in LIMITS if body.get(name) is not None), None),
        "gen_ai.request.stream": body.get("stream") or None,
        "gen_ai.output.type": "json" if kind in ("json_object", "json_schema") else kind,
        "openai.api.type": API_TYPES.get(path),
        "openai.request.service_tier": None if tier == "auto" else tier,
    }
    return {name: value for name, value in known.items() if isinstance(value, str | int | float)}


def of_answer(answer: Json) -> dict[str, str | int | list[str]]:
    """Attributes of a completion object: ids, finish reasons and token usage."""
    usage = usage_of(answer)
    attributes: dict[str, str | int | list[str]] = {
        "gen_ai.usage.input_tokens": usage.prompt,
        "gen_ai.usage.output_tokens": usage.completion,
        "gen_ai.response.finish_reasons": [str(choice.get("finish_reason")) for choice in answer["choices"]],
    }
    if usage.cached:
        attributes["gen_ai.usage.cache_read.input_tokens"] = usage.cached
    if usage.reasoning:
        attributes["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning
    for key, name in ANSWER.items():
        if isinstance(answer.get(key), str):
            attributes[name] = answer[key]
    return attributes


def _with_context(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with the current span as trace context."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    sent = {name: value for name, value in headers.items() if name not in _CONTEXT}
    TraceContextTextMapPropagator().inject(sent)
    return sent


def exporting(settings: Settings) -> Tracing:
    """Tracing as configured; its `endpoint` is set.

    Raises:
        ConfigError: its libraries are not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as error:
        raise ConfigError(
            "tracing.endpoint is set; its libraries come with: pip install 'hedgerow[tracing]'"
        ) from error
    headers = {name: value.get_secret_value() for name, value in settings.headers.items()}
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(settings.share)),
        resource=Resource.create({"service.name": settings.service}),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=settings.endpoint, headers=headers, timeout=5)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return Tracing(provider)
