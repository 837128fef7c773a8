"""Telling what became of a request: one audit row, one log line, the counters."""

from __future__ import annotations

import asyncio
from typing import Any

import structlog

from proxy.build import Parts
from proxy.errors import StoreError
from proxy.http.exchange import Exchange
from proxy.operating.verdicts import consider
from proxy.pipeline import record
from proxy.pipeline.job import Flow

log = structlog.get_logger(__name__)

AUDIT_TIMEOUT_S = 10.0
"""Longest wait for a row to be durable; past it the row counts as lost."""

headers = record.headers


async def tell(
    parts: Parts, flow: Flow, *, mode: str, exchange: Exchange | None = None, response_id: str | None = None
) -> bool:
    """Row, line and counters of a calibrated request; returns when the row is durable, even if the request is being cancelled.

    Returns:
        Whether the row was written.
    """
    row = record.row(flow, mode=mode, store_text=parts.settings.audit.store_text == "full")
    if response_id is not None:
        row["response_id"] = response_id
    if exchange is not None:
        exchange.told = True
    written = await _durable(parts, row)
    _count(parts, flow, mode)
    if parts.tracing is not None:
        parts.tracing.tell(flow, mode=mode)
    if written:
        consider(parts, flow)
    log.info("request", **record.log_line(flow, mode=mode))
    return written


async def _durable(parts: Parts, row: dict[str, Any]) -> bool:
    if parts.audit is None:
        return True
    try:
        async with asyncio.timeout(AUDIT_TIMEOUT_S):
            await asyncio.shield(parts.audit.write(row))
    except (StoreError, TimeoutError) as error:
        log.error("audit_row_lost", id=row["id"], error=type(error).__name__)
        return False
    return True


def tell_passed(exchange: Exchange, parts: Parts, flow: Flow, *, mode: str) -> None:
    """Row, line and counters of a request that was passed on; the row is written soon, and nothing waits for it."""
    exchange.told = True
    route = flow.job.route
    if parts.audit is not None and (route.audit or mode != "off"):
        row = record.plain_row(flow.job, mode=mode, status=flow.status, reason=flow.reason)
        parts.audit.enqueue(row | {"http_status": flow.http_status, "duration_ms": flow.duration_ms})
    parts.metrics.requests.labels(route.name, mode, flow.status, flow.reason or "").inc()
    parts.metrics.request_seconds.labels(route.name, mode).observe(flow.duration_ms / 1e3)
    if parts.tracing is not None:
        parts.tracing.tell(flow, mode=mode)
    log.info(
        "request",
        id=flow.job.id,
        route=route.name,
        mode=mode,
        status=flow.status,
        reason=flow.reason,
        http_status=flow.http_status,
        ms=round(flow.duration_ms, 2),
    )


def _count(parts: Parts, flow: Flow, mode: str) -> None:
    metrics, route = parts.metrics, flow.job.route.name
    metrics.requests.labels(route, mode, flow.status, flow.reason or "").inc()
    metrics.request_seconds.labels(route, mode).observe(flow.duration_ms / 1e3)
    for step, ms in flow.timings_ms.items():
        metrics.step_seconds.labels(route, step).observe(ms / 1e3)
    for purpose, usage in (
        ("answer", flow.answer_usage),
        ("samples", flow.sample_usage),
        ("rewrite", flow.rewrite_usage),
        ("escalation", flow.escalation_usage),
    ):
        metrics.tokens.labels(route, purpose).inc(usage.total)
    for attempt in flow.rewording.attempts if flow.rewording else ():
        metrics.refused_rewrites.labels(route, attempt).inc()
