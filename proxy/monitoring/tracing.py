"""OpenTelemetry traces: one span a request, one a step, one a call to an upstream. Off unless configured, and never with text.

Names follow the GenAI semantic conventions. Trace context comes in with `traceparent` and goes on to the upstream. The libraries are
imported only when tracing is on (extra `tracing`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow.proxy.errors import ConfigError, ProxyError
from hedgerow.proxy.protocols import Call, RawCall, Relay, Tunnels, Upstream
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.answers import usage_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

    from hedgerow.proxy.config import Tracing as Settings

OPERATIONS = dict.fromkeys(("/chat/completions", "/responses", "/messages"), "chat") | {
    "/completions": "text_completion"
}
"""`gen_ai.operation.name` by path."""
_CONTEXT = frozenset(["traceparent", "tracestate"])


class Tracing:
    """Spans of one process, handed to a provider of OpenTelemetry's SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("hedgerow")

    @contextmanager
    def request(self, method: str, path: str, headers: Mapping[str, str]) -> Iterator[Span]:
        """The span of a request, below the caller's where `traceparent` names one."""
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract(headers)
        attributes = {"http.request.method": method, "url.path": f"/v1{path}"}
        with (
            self._tracer.start_as_current_span(
                f"{method} /v1{path if path in OPERATIONS else ''}",
                context=parent,
                kind=SpanKind.SERVER,
                attributes=attributes,
                record_exception=False,  # its message may quote what was said
                set_status_on_exception=False,
            ) as span,
            _failures_marked(span),
        ):
            yield span

    def record(
        self, attributes: Mapping[str, str | int | float], begun_ns: Mapping[str, int], timings_ms: Mapping[str, float]
    ) -> None:
        """Put what became of a request on its span, and its steps, by their beginnings and lengths, as spans below it."""
        from opentelemetry import trace

        span = trace.get_current_span()
        late = not span.is_recording()  # shadow works on after its request has ended
        if late:
            span = self._tracer.start_span("shadow", start_time=min(begun_ns.values(), default=None))
        span.set_attributes(attributes)
        context = trace.set_span_in_context(span)
        for name, start_ns in begun_ns.items():
            step = self._tracer.start_span(name, context, start_time=start_ns, attributes={"hedgerow.step": name})
            step.end(start_ns + int(timings_ms.get(name, 0.0) * 1e6))
        if late:
            span.end()

    def around(self, name: str, upstream: Upstream) -> Upstream:
        """The upstream with a span for each of its calls."""
        return _TracedUpstream(name, upstream, self._tracer)

    def close(self) -> None:
        """Send what waits; bounded by the exporter's own timeout."""
        self._provider.shutdown()


class _TracedUpstream:
    """An upstream whose calls are spans, and to which the trace goes on."""

    def __init__(self, name: str, inner: Upstream, tracer: Any) -> None:
        self._name, self._inner, self._tracer = name, inner, tracer
        self.honours_n = inner.honours_n
        if isinstance(inner, Tunnels):
            self.tunnel = inner.tunnel

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        with self._span(call.path, call.body) as span:
            answer = await self._inner.complete(replace(call, headers=_with_context(call.headers)))
            usage = usage_of(answer)
            span.set_attribute("gen_ai.usage.input_tokens", usage.prompt)
            span.set_attribute("gen_ai.usage.output_tokens", usage.completion)
            reasons = [str(choice.get("finish_reason")) for choice in answer["choices"]]
            span.set_attribute("gen_ai.response.finish_reasons", reasons)
            for key in ("id", "model"):
                if isinstance(answer.get(key), str):
                    span.set_attribute(f"gen_ai.response.{key}", answer[key])
            return answer

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`."""
        with self._span(call.path.partition("?")[0], {}) as span:
            kept = [(name, value) for name, value in call.headers if name not in _CONTEXT]
            traced = replace(call, headers=[*kept, *_with_context({}).items()])
            async with self._inner.relay(traced) as answer:
                span.set_attribute("http.response.status_code", answer.status)
                yield answer

    async def models(self, headers: Mapping[str, str]) -> list[Json]:
        """See `Upstream`."""
        return await self._inner.models(_with_context(headers))

    async def aclose(self) -> None:
        """See `Upstream`."""
        await self._inner.aclose()

    @contextmanager
    def _span(self, path: str, body: Json) -> Iterator[Span]:
        from opentelemetry.trace import SpanKind

        operation = OPERATIONS.get(path, "forward")
        model = body.get("model")
        known = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": self._name,
            "gen_ai.request.model": model,
            "gen_ai.request.choice.count": body.get("n"),
            "gen_ai.request.temperature": body.get("temperature"),
            "gen_ai.request.top_p": body.get("top_p"),
        }
        attributes = {name: value for name, value in known.items() if isinstance(value, str | int | float)}
        with (
            self._tracer.start_as_current_span(
                f"{operation} {model}" if isinstance(model, str) and model else operation,
                kind=SpanKind.CLIENT,
                attributes=attributes,
                record_exception=False,  # its message may quote what was said
                set_status_on_exception=False,
            ) as span,
            _failures_marked(span),
        ):
            yield span


@contextmanager
def _failures_marked(span: Span) -> Iterator[None]:
    """An error that passes marks the span: our own by its code, a foreign one by its class."""
    from opentelemetry.trace import Status, StatusCode

    try:
        yield
    except Exception as error:  # seen on its way, not held up
        span.set_attribute("error.type", error.code if isinstance(error, ProxyError) else type(error).__name__)
        span.set_status(Status(StatusCode.ERROR))
        raise


def _with_context(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with the current span in place of the caller's."""
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
