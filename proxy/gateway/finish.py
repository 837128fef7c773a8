"""Telling what became of a request: one audit row, one log line, the counters."""

from __future__ import annotations

import asyncio

import anyio.to_thread
import structlog

from hedgerow.calibration import Beta
from hedgerow.proxy.audit.entry import Entry
from hedgerow.proxy.errors import StoreError, StoreUnavailable
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.pipeline import result as record
from hedgerow.proxy.pipeline.job import Flow
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.services.verdicts import consider

log = structlog.get_logger(__name__)

AUDIT_TIMEOUT_S = 10.0
"""Longest wait for a row to be durable; past it the row counts as lost."""

LONG = 1000
"""Characters from which on a text is listened to on a worker thread."""

headers = record.headers


async def tell(
    services: Services, flow: Flow, *, mode: str, exchange: Exchange | None = None, response_id: str | None = None
) -> StoreUnavailable | None:
    """Row, line and counters of a calibrated request; returns when the row is durable, even if the request is being cancelled.

    Returns:
        What the client gets in place of its answer, where there is no row and the route wants no answer without one.
    """
    if exchange is not None:
        exchange.told = True
    refusal = None
    may_spool = flow.job.route.on_failure == "pass" or flow.status in ("failed", "cancelled")
    heard = await _perceived(flow)
    if not await _durable(services, _entry(services, flow, mode, heard, response_id), may_spool) and not may_spool:
        refusal = StoreUnavailable("the answer could not be written to the audit, which this route insists on")
        flow.status, flow.reason, flow.http_status = "failed", refusal.code, refusal.status
        await _durable(services, _entry(services, flow, mode, heard, response_id), may_spool=True)
    _count(services, flow, mode)
    if services.tracing is not None:
        services.tracing.tell(flow, mode=mode)
    if refusal is None:
        consider(services, flow)
    log.info("request", **record.log_line(flow, mode=mode))
    return refusal


def _entry(services: Services, flow: Flow, mode: str, perceived: Beta | None, response_id: str | None) -> Entry:
    store_text = flow.job.route.store_text or services.settings.audit.store_text
    entry = record.entry(flow, mode=mode, store_text=store_text, perceived=perceived)
    if response_id is not None:
        entry.row["response_id"] = response_id
    return entry


async def _perceived(flow: Flow) -> Beta | None:
    """The confidence heard in the final words; None where the confidence is not of them, or where they cannot be read."""
    if flow.rewording is not None:
        return flow.rewording.perceived
    if flow.calibrated is None or flow.status in ("abstained", "escalated"):
        return None
    from hedgerow.lexicon.text.language import language_of
    from hedgerow.proxy.rewriting import read_aloud

    language = language_of(flow.draft, flow.job.question)
    if len(flow.draft) < LONG:
        return read_aloud(flow.draft, language)
    return await anyio.to_thread.run_sync(read_aloud, flow.draft, language)


async def _durable(services: Services, entry: Entry, may_spool: bool) -> bool:
    try:
        async with asyncio.timeout(AUDIT_TIMEOUT_S):
            await asyncio.shield(services.audit.write(entry, may_spool=may_spool))
    except (StoreError, TimeoutError) as error:
        log.error("audit_row_lost" if may_spool else "audit_refused", id=entry.row["id"], error=type(error).__name__)
        return False
    return True


def tell_passed(exchange: Exchange, services: Services, flow: Flow, *, mode: str) -> None:
    """Row, line and counters of a request that was passed on; the row is written soon, and nothing waits for it."""
    exchange.told = True
    route = flow.job.route
    if route.audit or mode != "off":
        row = record.plain_row(flow.job, mode=mode, status=flow.status, reason=flow.reason)
        row |= {"http_status": flow.http_status, "duration_ms": flow.duration_ms}
        services.audit.enqueue(Entry(row, user=record.user_of(flow.job)))
    services.metrics.requests.labels(route.name, mode, flow.status, flow.reason or "").inc()
    services.metrics.request_seconds.labels(route.name, mode).observe(flow.duration_ms / 1e3)
    if services.tracing is not None:
        services.tracing.tell(flow, mode=mode)
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


def _count(services: Services, flow: Flow, mode: str) -> None:
    metrics, route = services.metrics, flow.job.route.name
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
