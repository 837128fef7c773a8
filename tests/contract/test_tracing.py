"""Traces as a collector receives them: a real OTLP/HTTP receiver, a real proxy, a scripted upstream."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.contract.test_routes import ASK, CHAT, UNSURE
from tests.support.servers import serving
from tests.support.upstream import Upstream, says

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra `tracing`")

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

    def send(headers: dict[str, str] | None = None, **route: Any) -> httpx.Response:
        from hedgerow.proxy.app import application
        from hedgerow.proxy.config import Settings

        upstream: Upstream = request.getfixturevalue("upstream")
        folder = request.getfixturevalue("tmp_path")
        settings = Settings(
            upstreams={"scripted": {"provider": "openai", "base_url": upstream.url, "retries": 0}},
            routes=[{"name": "test", "upstream": "scripted", "mode": "on"} | route],
            audit={"url": f"sqlite:///{folder}/audit.db", "synchronous": "normal"},
            maps={"folder": str(folder / "maps")},
            tracing={"endpoint": collector.address, "headers": {"x-key": "collector-key"}},
        )
        with serving(application(settings, address="test"), lifespan="on") as address:
            body = {"model": "m", "messages": ASK}
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
    told = attributes(request)
    assert told["hedgerow.status"] == "hedged"
    assert told["http.response.status_code"] == 200
    assert told["hedgerow.confidence"] == pytest.approx(float(answer.headers["x-hedgerow-confidence"]), abs=1e-3)
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
    assert below == ({"chat"} if mode == "off" else {"chat", "chat m", "shadow"})
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}


def test_an_upstreams_failure_marks_its_span(traced: Any, collector: Collector, upstream: Upstream) -> None:
    """The call's span is an error with the code; what the upstream said stays out."""
    from tests.support.upstream import raw

    upstream.default = raw(b'{"error": {"message": "secret words"}}', status=400)
    traced()
    call = collector.named("chat m")[0]
    assert call.status.code == call.status.STATUS_CODE_ERROR
    assert attributes(call)["error.type"]
    assert b"secret words" not in b"".join(collector.bodies)
