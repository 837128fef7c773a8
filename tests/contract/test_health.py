"""What orchestrators and Prometheus ask."""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from prometheus_client import Counter

from hedgerow.proxy.audit.writer import Writer
from hedgerow.proxy.gateway.finish import AUDIT_TIMEOUT_S
from hedgerow.proxy.monitoring.metrics import Metrics, page
from tests.contract.test_routes import ASK, CHAT, UNSURE
from tests.support.upstream import Upstream, says


def test_ready_when_open(serve: Any) -> None:
    """A proxy that has started gets requests."""
    reply = httpx.get(serve() + "/health/ready")
    assert (reply.status_code, reply.json()) == (200, {"status": "ready", "store": "ok"})


@pytest.mark.parametrize(("on_failure", "status"), [("pass", 200), ("error", 503)])
def test_a_store_that_is_down_counts_only_where_it_stops_answers(
    serve: Any, monkeypatch: pytest.MonkeyPatch, on_failure: str, status: int
) -> None:
    """Replicas share the store; those that answer without it stay in service."""
    address = serve(on_failure=on_failure)

    def down(*_: Any, **__: Any) -> Any:
        raise sa.exc.OperationalError("SELECT 1", {}, Exception("the server is gone"))

    monkeypatch.setattr(sa.Engine, "connect", down)
    reply = httpx.get(address + "/health/ready")
    assert (reply.status_code, reply.json()["store"]) == (status, "down")


def test_a_request_is_counted(serve: Any, upstream: Upstream) -> None:
    """Requests, seconds, steps and tokens of one calibrated answer; nothing is in flight after it."""
    upstream.default = says(*UNSURE)
    address = serve()
    httpx.post(address + CHAT, json={"model": "m", "messages": ASK})
    metrics = httpx.get(address + "/metrics").text
    assert 'hedgerow_requests_total{mode="on",reason="' in metrics
    assert 'hedgerow_request_seconds_count{mode="on",route="test"} 1.0' in metrics
    assert 'hedgerow_step_seconds_count{route="test",step="sample"} 1.0' in metrics
    assert 'hedgerow_tokens_total{purpose="samples",route="test"}' in metrics
    assert "hedgerow_requests_in_flight 0.0" in metrics


def test_a_verdict_is_counted_with_its_divergence(serve: Any, upstream: Upstream) -> None:
    """One observation each for the raw and the calibrated confidence."""
    upstream.default = says(*UNSURE)
    address = serve()
    answer = httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).json()
    httpx.post(address + "/v1/feedback", json={"id": answer["hedgerow"]["id"], "correct": True})
    metrics = httpx.get(address + "/metrics").text
    for confidence in ("raw", "calibrated"):
        assert f'hedgerow_settled_divergence_nats_count{{confidence="{confidence}",route="test"}} 1.0' in metrics


def test_a_picked_answers_verdict_is_counted_without_its_divergence(serve: Any, upstream: Upstream) -> None:
    """The review queue picks half of the answers by their confidence, and they say nothing of the route as a whole."""
    upstream.default = says(*UNSURE)
    admin = {"authorization": "Bearer " + "k" * 20}
    address, by_lot, asked = serve(settings={"server": {"admin_key": "k" * 20}}), 0, 0
    while asked < 60 and by_lot in (0, asked):
        answer = httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).json()
        name = answer["hedgerow"]["id"]
        review = httpx.post(f"{address}/v1/admin/review/{name}", json={"correct": True}, headers=admin)
        review.raise_for_status()
        asked, by_lot = asked + 1, by_lot + (name[-16] < "8")
    metrics = httpx.get(address + "/metrics").text
    assert f'hedgerow_verdicts_total{{kind="human",route="test"}} {asked}.0' in metrics
    count = 'hedgerow_settled_divergence_nats_count{confidence="calibrated",route="test"}'
    assert f"{count} {by_lot}.0" in metrics


def test_documented_metrics_are_the_metrics() -> None:
    """docs/metrics.md is what `python -m hedgerow.proxy.monitoring.metrics` prints."""
    assert (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8") == page()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(("on_failure", "status"), [("pass", 200), ("error", 503)])
def test_a_thread_that_has_ended_turns_health_red(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, on_failure: str, status: int
) -> None:
    """With its name, so that an orchestrator starts the process again; answers do not wait for it, and their rows are counted as lost."""

    def killed(*_: Any) -> None:
        raise SystemExit

    monkeypatch.setattr(Writer, "_settle", killed)
    upstream.default = says(*UNSURE)
    address = serve(on_failure=on_failure)
    began = time.monotonic()
    replies = [httpx.post(address + CHAT, json={"model": "m", "messages": ASK}) for _ in range(3)]
    assert time.monotonic() - began < 3 * AUDIT_TIMEOUT_S
    assert [reply.status_code for reply in replies] == [status] * 3
    for path in ("/health", "/health/ready"):
        reply = httpx.get(address + path)
        assert (reply.status_code, reply.json()["dead"]) == (503, ["audit-writer"])
    assert "hedgerow_audit_rows_lost_total 3.0" in httpx.get(address + "/metrics").text


@pytest.mark.parametrize("error", ["ENOSPC", "EIO", "EROFS", "EPIPE", "EACCES", "ENOENT"])
def test_metrics_that_fail_cost_no_answer(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch, error: str, lines: Any
) -> None:
    """Of several workers they are files: while those fail a scrape is told so, requests are answered and have their rows, and later all is well."""
    number, ill = getattr(errno, error), True
    upstream.default = says(*UNSURE)
    routes: list[dict[str, Any]] = [{"name": name, "upstream": "scripted", "mode": "on"} for name in ("tight", "wide")]
    routes[0]["match"] = {"model": "tight"}
    address = serve(settings={"routes": routes, "budgets": [{"route": "tight", "hard": 1}]})
    for of, name in ((Metrics, "ended"), (Metrics, "set_gauges"), (Counter, "labels")):
        real = getattr(of, name)

        def failing(*rest: Any, real: Any = real) -> Any:
            if ill and getattr(rest[0], "_name", "") != "hedgerow_background_failures":
                raise OSError(number, os.strerror(number))
            return real(*rest)

        monkeypatch.setattr(of, name, failing)
    reply = httpx.post(address + CHAT, json={"model": "m", "messages": ASK})
    assert (reply.status_code, reply.json()["hedgerow"]["status"]) == (200, "hedged")
    over = httpx.post(address + CHAT, json={"model": "tight", "messages": ASK})
    assert (over.status_code, over.headers["x-hedgerow-reason"]) == (200, "over_budget")
    for path in ("/v1/files/a%5Cb", "/v1/audit/unknown"):  # refused before and behind the own endpoints
        assert "error" in httpx.get(address + path).json()
    scrape = httpx.get(address + "/metrics")
    assert (scrape.status_code, os.strerror(number) in scrape.text) == (503, True)
    ill = False
    assert httpx.post(address + CHAT, json={"model": "m", "messages": ASK}).status_code == 200
    text = httpx.get(address + "/metrics").text
    (failures,) = re.findall(r'hedgerow_background_failures_total{task="metrics"} (\d+)', text)
    assert int(failures) == len(lines.of("background_failed")) >= 8
    assert "hedgerow_audit_rows_lost_total 0.0" in text
