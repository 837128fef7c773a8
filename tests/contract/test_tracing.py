"""Traces as a collector receives them: a real OTLP/HTTP receiver, a real proxy, a scripted upstream."""

from __future__ import annotations

import gzip
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.contract.test_routes import ASK, CHAT, UNSURE
from tests.support.editing import worded_locally
from tests.support.servers import serving
from tests.support.tables import cases
from tests.support.upstream import Upstream, says

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra `tracing`")
gen_ai_attributes = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{CALLER}-01"


class Collector:
    """An OTLP/HTTP receiver that keeps what it gets."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.address = ""
        self.app = Starlette(routes=[Route("/v1/traces", self._receive, methods=["POST"])])

    async def _receive(self, request: Request) -> Response:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        sent = ExportTraceServiceRequest.FromString(body)
        for resource in sent.resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
        return Response(b"", media_type="application/x-protobuf")

    def named(self, name: str) -> list[Any]:
        """Spans of one name."""
        return [span for span in self.spans if span.name == name]


def attributes(span: Any) -> dict[str, Any]:
    """A span's attributes as plain values."""
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector on a real server, up until the proxy has shut down."""
    kept = Collector()
    with serving(kept.app) as address:
        kept.address = address + "/v1/traces"
        yield kept


@pytest.fixture
def traced(collector: Collector, request: pytest.FixtureRequest) -> Any:
    """Sends one request through a proxy that traces, shuts the proxy down, and gives the answer."""

    def send(headers: dict[str, str] | None = None, fields: Any = None, **route: Any) -> httpx.Response:
        from hedgerow.proxy.app import application
        from hedgerow.proxy.config import Settings

        upstream: Upstream = request.getfixturevalue("upstream")
        folder = request.getfixturevalue("tmp_path")
        settings = Settings(
            upstreams={"scripted": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
            routes=[worded_locally({"name": "test", "upstream": "scripted", "mode": "on"} | route)],
            audit={"url": f"sqlite:///{folder}/audit.db", "synchronous": "normal"},
            maps={"folder": str(folder / "maps")},
            tracing={"endpoint": collector.address, "headers": {"x-key": "collector-key"}},
        )
        with serving(application(settings, address="test"), lifespan="on") as address:
            body = {"model": "m", "messages": ASK} | (fields or {})
            return httpx.post(address + CHAT, json=body, headers=headers or {})

    return send


def test_a_request_is_one_trace_from_caller_to_upstream(traced: Any, collector: Collector, upstream: Upstream) -> None:
    """The caller's trace goes on: request span, a span per step, a client span for the upstream's call, and `traceparent` sent along."""
    upstream.default = says(*UNSURE)
    answer = traced({"traceparent": PARENT, "authorization": "Bearer sk-client-secret"})
    assert answer.status_code == 200
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    (request,) = collector.named("POST /v1/chat/completions")
    assert request.parent_span_id.hex() == CALLER
    of_request = attributes(request)
    assert of_request["hedgerow.status"] == "hedged"
    assert of_request["http.response.status_code"] == 200
    assert of_request["hedgerow.confidence"] == pytest.approx(float(answer.headers["x-hedgerow-confidence"]), abs=1e-3)
    steps = {attributes(span).get("hedgerow.step") for span in collector.spans} - {None}
    assert steps == {"sample", "cluster", "confidence", "calibrate", "decide", "retrieve", "rewrite"}
    (call,) = collector.named("chat m")
    assert call.kind == call.SPAN_KIND_CLIENT
    assert attributes(call)["gen_ai.operation.name"] == "chat"
    assert attributes(call)["gen_ai.usage.output_tokens"] == 30
    assert upstream.headers[-1]["traceparent"] == f"00-{TRACE}-{call.span_id.hex()}-01"


def test_spans_hold_no_text_and_no_key(traced: Any, collector: Collector, upstream: Upstream) -> None:
    """Neither the question, nor an answer, nor the client's key is sent to the collector; its own key is a header."""
    upstream.default = says(*UNSURE)
    traced({"authorization": "Bearer sk-client-secret"})
    sent = b"".join(collector.bodies)
    assert sent
    for secret in (b"Canberra", b"capital", b"sk-client-secret", b"collector-key"):
        assert secret not in sent
    assert collector.headers[0]["x-key"] == "collector-key"


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_passed_requests_are_traced_too(traced: Any, collector: Collector, upstream: Upstream, mode: str) -> None:
    """Off: the relayed call is a client span. Shadow: the work after the answer hangs below the request as well."""
    upstream.default = says(*UNSURE)
    traced({"traceparent": PARENT}, mode=mode)
    (request,) = collector.named("POST /v1/chat/completions")
    below = {span.name for span in collector.spans if span.parent_span_id == request.span_id}
    assert below == ({"chat m"} if mode == "off" else {"chat m", "shadow"})
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}


def test_an_upstreams_failure_marks_its_span(traced: Any, collector: Collector, upstream: Upstream) -> None:
    """The call's span is an error with the code; what the upstream said stays out."""
    from tests.support.upstream import raw

    upstream.default = raw(b'{"error": {"message": "secret words"}}', status=400)
    traced()
    call = collector.named("chat m")[0]
    assert call.status.code == call.status.STATUS_CODE_ERROR
    assert attributes(call)["error.type"] == "400"
    assert b"secret words" not in b"".join(collector.bodies)


def conventional_names() -> set[str]:
    """Every attribute that OpenTelemetry's own package of semantic conventions knows."""
    found: set[str] = set()
    for place in ("attributes", "_incubating.attributes"):
        package = importlib.import_module(f"opentelemetry.semconv.{place}")
        for module in pkgutil.iter_modules(package.__path__):
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            found |= {value for value in vars(loaded).values() if isinstance(value, str) and "." in value}
    return found


@pytest.mark.parametrize("mode", ["off", "on"])
def test_calls_follow_the_conventions(traced: Any, collector: Collector, upstream: Upstream, mode: str) -> None:
    """Model, sampling, server, tokens and finish reasons stand under the names of the conventions; names of our own begin with hedgerow."""
    upstream.default = says(*UNSURE, service_tier="default")
    fields = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 20, "seed": 7, "stop": ["secret stop"]}
    traced(fields=fields, mode=mode, sampling={"n": 4, "temperature": None, "top_p": None})
    (call,) = collector.named("chat m")
    of_call = attributes(call)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.max_tokens": 20,
        "openai.api.type": "chat_completions",
        "server.address": "127.0.0.1",
        "server.port": int(upstream.url.rpartition(":")[2].removesuffix("/v1")),
        "hedgerow.upstream": "scripted",
    }
    if mode == "on":
        expected |= {
            "gen_ai.request.choice.count": 4,
            "gen_ai.response.model": "scripted-1",
            "gen_ai.response.id": "chatcmpl-scripted",
            "gen_ai.usage.input_tokens": 7,
            "gen_ai.usage.output_tokens": 12,
            "openai.response.service_tier": "default",
            "openai.response.system_fingerprint": "fp_scripted",
        }
    assert {name: of_call.get(name) for name in expected} == expected
    names = {name for span in collector.spans for name in attributes(span)}
    assert {name for name in names if not name.startswith("hedgerow.")} <= conventional_names()
    assert b"secret stop" not in b"".join(collector.bodies)


def test_tokens_are_told_once(traced: Any, collector: Collector, upstream: Upstream) -> None:
    """Whoever adds up `gen_ai.usage` over a trace gets what was spent: the request's span has sums under names of our own."""
    upstream.default = says(*UNSURE)
    answer = traced().json()
    (request,) = collector.named("POST /v1/chat/completions")
    spent = sum(attributes(span).get("gen_ai.usage.output_tokens", 0) for span in collector.spans)
    assert spent == attributes(request)["hedgerow.usage.output_tokens"]
    assert spent == sum(each["completion_tokens"] for each in answer["hedgerow"]["usage"].values())


@cases(
    ("address", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://north.openai.azure.com/openai/v1", "azure.ai.openai"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("http://vllm:8000/v1", "openai"),
    ],
)
def test_providers_have_the_names_of_the_conventions(address: str, provider: str) -> None:
    """By the host where it is well known, else by the protocol."""
    from hedgerow.proxy.config import HttpUpstream
    from hedgerow.proxy.monitoring.tracing import PROVIDERS, server

    values = {each.value for each in gen_ai_attributes.GenAiProviderNameValues}
    assert {*PROVIDERS.values(), "openai"} <= values
    assert server(HttpUpstream(provider="openai", base_url=address))["gen_ai.provider.name"] == provider


def test_a_fallback_is_two_calls_of_one_trace(collector: Collector, upstream: Upstream, tmp_path: Any) -> None:
    """The member that failed and the one that answered are client spans below the same step."""
    from hedgerow.proxy.app import application
    from hedgerow.proxy.config import Settings
    from tests.support.upstream import fails

    upstream.default = says(*UNSURE)
    upstream.enqueue(fails(503, {}))
    one = {"provider": "openai", "base_url": upstream.url, "retries": 0}
    group = {"provider": "group", "members": {"a": 1}, "fallback": ["b"], "models": {"b": {"*": "spare"}}}
    settings = Settings(
        upstreams={"a": one, "b": one, "both": group},
        routes=[worded_locally({"name": "test", "upstream": "both", "mode": "on"})],
        audit={"url": f"sqlite:///{tmp_path}/audit.db", "synchronous": "normal"},
        tracing={"endpoint": collector.address},
    )
    with serving(application(settings, address="test"), lifespan="on") as address:
        assert httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).status_code == 200
    (failed,), (answered,) = collector.named("chat m"), collector.named("chat spare")
    assert (attributes(failed)["error.type"], attributes(failed)["hedgerow.upstream"]) == ("503", "a")
    assert attributes(answered)["hedgerow.upstream"] == "b"
    assert failed.parent_span_id == answered.parent_span_id
