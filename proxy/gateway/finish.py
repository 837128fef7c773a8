"""The end of every request, whatever its outcome: one audit row, one log line, the counters and the span."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import structlog

from ..audit.rows import Entry, Row, Texts
from ..config import StoreText
from ..errors import StoreError, StoreUnavailable
from ..monitoring.metrics import Metrics
from ..outcomes import Status
from ..pipeline.result import Result, beta_figures, claim_row, edited_outcome, sentence_figures
from ..services.services import Services
from ..services.verdicts import consider
from ..types import Json, Key
from ..upstreams.dialects.served import short_id
from .exchange import Exchange
from .splitting import conversation_of

log = structlog.get_logger(__name__)

AUDIT_TIMEOUT_S = 10.0
"""Longest wait in seconds for a row to be durable; after that the answer leaves without it, or is refused."""


async def finish(
    services: Services,
    exchange: Exchange | None,
    result: Result,
    *,
    http_status: int | None = None,
    response_id: str | None = None,
) -> StoreUnavailable | None:
    """Record a request. The row of a calibrated one is durable when this returns, even if the request is being cancelled.

    Args:
        exchange: None for work that continues after its exchange has ended (shadow).
        result: the result of the request.
        http_status: the status that the client has received or will receive; None if it left first.
        response_id: the completion's own id, if it is not the draft's.

    Returns:
        The error that replaces the answer if the row could not be written and the route requires one; else None.
    """
    if exchange is not None:
        exchange.recorded = True
    counting = _settle(services, result)  # begun before anything can be cancelled
    refusal = None
    try:
        refusal = await _recorded(services, result, http_status, response_id)
    finally:
        done = result if refusal is None else result.ended(Status.FAILED, refusal.code)
        with services.metrics.spared():
            _tell_operator(services, done, http_status if refusal is None else refusal.status)
    if counting is not None:
        await asyncio.shield(counting)
    return refusal


async def _recorded(
    services: Services, result: Result, http_status: int | None, response_id: str | None
) -> StoreUnavailable | None:
    """Write the row; returns the error that replaces the answer, as `finish` does."""
    route = result.job.route
    refusal: StoreUnavailable | None = None
    store_text = route.store_text or services.settings.audit.store_text
    if result.begun_ns:
        write = partial(entry, store_text=store_text, response_id=response_id)
        may_spool = route.on_failure == "pass" or result.status in (Status.FAILED, Status.CANCELLED)
        if not await _durable(services, write(result, http_status=http_status), may_spool) and not may_spool:
            refusal = StoreUnavailable("the answer could not be written to the audit, which this route requires")
            failed = result.ended(Status.FAILED, refusal.code)
            await _durable(services, write(failed, http_status=refusal.status), may_spool=True)
    elif route.audit or result.job.mode != "off":
        services.audit.enqueue(entry(result, store_text, http_status=http_status))
    return refusal


def refused(services: Services, place: str, status: int, code: str | None = None) -> None:
    """Record a request that was refused and never had a route: counted and logged. Nothing is known of it for a row."""
    with services.metrics.spared():
        services.metrics.refused.labels(place, str(status)).inc()
    log.info("refused", place=place, http_status=status, code=code)


def _settle(services: Services, result: Result) -> asyncio.Task[None] | None:
    """Count a request for its budgets and for the limits of its key, whose work is returned; also for a request that is being cancelled."""
    job, budgets, is_known = result.job, services.budgets, not (result.lost or result.cut)
    if budgets.awaits(job.id):
        work = budgets.settle(job.id, _paid(services, result), is_known=is_known)
        services.start(work, name=f"budget-{job.id}")
    elif result.relayed.total and job.route.name in services.steps and services.settings.budgets:
        name, spent = job.key.name if job.key is not None else "", _paid(services, result)
        work = budgets.count_passed(services.settings.budgets, job.route.name, name, spent)
        services.start(work, name=f"budget-{job.id}")
    if job.key is None:
        return None
    tokens = round((result.total_usage + result.relayed).total * _with_lost(result))
    counting = services.limits.settle(job.key, job.id, tokens, is_known=is_known)
    return services.start(counting, name=f"limits-{job.id}")


def _paid(services: Services, result: Result) -> dict[str, float]:
    """What a request has spent, by unit of budgets; dollars as far as prices are known."""
    passed = result.relayed
    tokens = passed.total + sum(usage.total for calls in result.paid.values() for usage in calls)
    prices = services.steps[result.job.route.name].prices
    costs = (*result.costs.values(), prices.cost(passed, result.job.answering_model))
    more = _with_lost(result)
    return {"tokens": tokens * more, "dollars": more * sum(cost for cost in costs if cost is not None)}


def _with_lost(result: Result) -> float:
    """What all calls cost, as a multiple of those that told it: the others are taken to cost as much on average."""
    told = sum(usage.total > 0 for calls in result.paid.values() for usage in calls) + (result.relayed.total > 0)
    return 1 + result.lost / max(1, told)


async def _durable(services: Services, entry: Entry, may_spool: bool) -> bool:
    writing = asyncio.ensure_future(services.audit.write(entry, may_spool=may_spool))
    try:
        async with asyncio.timeout(AUDIT_TIMEOUT_S):
            await asyncio.shield(writing)
    except StoreError as error:  # the writer counts the row if it is lost
        log.error("audit_row_lost" if may_spool else "audit_refused", id=entry.row["id"], error=type(error).__name__)
        return False
    except TimeoutError:
        log.error("audit_row_late" if may_spool else "audit_refused", id=entry.row["id"], error="TimeoutError")
        if not may_spool:  # the row that says that the answer was refused takes its place
            writing.cancel()
        return False
    return True


def entry(
    result: Result, store_text: StoreText, *, http_status: int | None = None, response_id: str | None = None
) -> Entry:
    """The audit row, and for a calibrated request its texts, which the audit stores as far as `store_text` allows."""
    job, duration_ms = result.job, _duration_ms(result)
    row: Row = {
        "id": job.id,
        # The time of the request: with the time of its end, answers that take long to measure would seem newer than they are.
        "created_at": time.time() - duration_ms / 1e3,
        "route": job.route.name or None,
        "path": f"/v1{job.path}"[:256],
        "mode": job.mode,
        "status": result.status.value,
        "reason": None if result.reason is None else str(result.reason),
        "model": job.answering_model or None,
        "upstream": job.answered_by or job.route.upstream or None,
        "http_status": http_status,
        "duration_ms": duration_ms,
    }
    if job.arm is not None:
        row["arm"] = job.arm
    if job.key is not None:
        row |= {"key": job.key.name, "team": job.key.team, "tokens_answer": result.relayed.total}
    if not result.begun_ns:
        known = {"story": {"cause": result.cause}} if result.cause else {}
        asker = conversation_of(job) if job.arm is not None else None  # arms are compared by askers
        return Entry(row | known, None, job.user, store_text, asker)
    samples = tuple(sample.text for sample in result.drawn.samples)
    claims = tuple(claim.statement for claim in result.claims) or None
    texts = Texts(job.question, result.draft, result.text, result.served, samples, claims)
    return Entry(row | _figures(result, response_id), texts, job.user, store_text, conversation_of(job))


def _figures(result: Result, response_id: str | None) -> Row:
    """The columns of calibrated requests only."""
    row: Row = {
        "response_id": response_id or _response_id(result),
        "signal": result.signal,
        "samples": len(result.drawn.choices) or None,
        "clusters": len(result.clustering.clusters) if result.clustering else None,
        "served_agrees": result.served_agrees,
        "story": story(result),
        "claims": [claim_row(claim) for claim in result.claims] or None,
    }
    spent = {purpose: usage.total for purpose, usage in result.usage.items()}
    spent["samples"] += spent.pop("judge")
    row |= {f"tokens_{purpose}": tokens for purpose, tokens in spent.items()}
    row["cost_answer"], row["cost_calibration"] = result.cost
    if (confidence := result.confidence) is not None:
        raw, beta = confidence.raw, confidence.calibrated
        row |= {"raw_alpha": raw.alpha, "raw_beta": raw.beta, "alpha": beta.alpha, "beta": beta.beta}
        expected = beta.mean * confidence.if_right + (1.0 - beta.mean) * confidence.if_wrong
        row |= {"fd_if_right": confidence.if_right, "fd_if_wrong": confidence.if_wrong, "fd_expected": expected}
        row["map_id"] = confidence.map_id
    if (promised := result.promised) is not None:
        row["certificate"] = promised.certificate
        row["promised"] = {
            "covered": [text for text, _ in promised.covered],
            "reason": promised.reason,
            "language": promised.language,
        }
    if (perceived := result.perceived_confidence) is not None:
        row |= {"perceived_alpha": perceived.alpha, "perceived_beta": perceived.beta}
    if (own := result.own) is not None:
        row |= {"own_alpha": own.alpha, "own_beta": own.beta}
    if result.rewording is not None:
        row |= {"hedge": result.rewording.hedge, "rewriter": result.rewording.rewriter}
    return row


def story(result: Result) -> Json:
    """The work step by step, without texts, for the dashboard's page of one request."""
    steps: Json = {"timings_ms": {name: round(ms, 3) for name, ms in result.timings_ms.items()}}
    steps |= {"detail": result.detail}
    if result.cause is not None:
        steps["cause"] = result.cause
    if result.job.over_budget:
        steps["budget"] = "soft"
    if result.clustering is not None:
        compared = result.drawn.compared
        steps["clusters"] = [[compared[i] for i in cluster] for cluster in result.clustering.clusters]
        steps["decided_by"] = dict(result.clustering.decided_by)
    if result.claims:
        steps["held_against"] = list(result.held_against)
    if result.hedges:
        steps["hedges"] = [{"id": match.hedge.id, "distance": match.distance} for match in result.hedges]
    if (rewording := result.rewording) is not None:
        steps["attempts"] = list(rewording.attempts)
        steps["perceived"] = beta_figures(rewording.perceived)
        if rewording.sentences:
            steps["sentences"] = [sentence_figures(sentence) for sentence in rewording.sentences]
    if result.confidence is not None:
        steps["map_warnings"] = list(result.confidence.warnings)
        if (place := result.confidence.place) is not None:
            steps["place"] = {"known": place.known, "mass": place.mass, "shift": place.shift, "regime": place.regime}
    return steps


def _response_id(result: Result) -> str | None:
    """The completion's own id."""
    return short_id(result.drawn.choices[result.draft_index][0].get("id")) if result.drawn.choices else None


def _tell_operator(services: Services, result: Result, http_status: int | None) -> None:
    """Write log line, counters and span, without texts or keys; a share of calibrated answers goes to the grader."""
    job, mode = result.job, result.job.mode or ""
    metrics, route, ms = services.metrics, job.route.name, _duration_ms(result)
    metrics.ended(route, mode, result.status, result.reason or "", ms / 1e3)
    line: Json = {
        "id": job.id,
        "route": route or None,
        "mode": job.mode,
        "status": result.status,
        "reason": result.reason,
        "upstream": job.answered_by or job.route.upstream or None,
        "http_status": http_status,
        "ms": round(ms, 2),
    }
    if result.cause is not None:
        line["cause"] = result.cause
    if job.key is not None:
        line |= {"key": job.key.name, "team": job.key.team}
        _count_for(job.key, metrics, result)
    if services.tracing is not None:
        services.tracing.record(_attributes(result, http_status), result.begun_ns, result.timings_ms)
    if result.begun_ns:
        for step, step_ms in result.timings_ms.items():
            metrics.step_seconds.labels(route, step).observe(step_ms / 1e3)
        for purpose, spent in result.usage.items():
            metrics.tokens.labels(route, purpose).inc(spent.total)
        metrics.spent(route, job.key.name if job.key else "", result.spent, result.costs)
        for attempt in result.rewording.attempts if result.rewording else ():
            metrics.refused_rewrites.labels(route, attempt).inc()
        if (outcome := edited_outcome(result)) is not None and services.steps[route].editor is not None:
            metrics.edited.labels(route, outcome).inc()
        if result.promised is not None:
            metrics.promised.labels(route, result.promised.reason or "covered").inc()
        line |= _line_figures(result)
        consider(services, result)
    log.info("request", **line)


def _count_for(key: Key, metrics: Metrics, result: Result) -> None:
    """Update the counters of a named key."""
    metrics.key_requests.labels(key.name, key.team or "", result.status).inc()
    for purpose, spent in {**result.usage, "relayed": result.relayed}.items():
        if spent.total:
            metrics.key_tokens.labels(key.name, key.team or "", purpose).inc(spent.total)


def _line_figures(result: Result) -> Json:
    """The figures of a calibrated request in the log line."""
    line: Json = {
        "model": result.job.answering_model,
        "n": len(result.drawn.choices),
        "steps_ms": {name: round(ms, 2) for name, ms in result.timings_ms.items()},
        "tokens": {purpose: spent.total for purpose, spent in result.usage.items()},
        "cost": dict(zip(("answer", "calibration"), result.cost, strict=True)),
    }
    if result.job.over_budget:
        line["budget"] = "soft"
    if result.clustering is not None:
        line["clusters"] = len(result.clustering.clusters)
    if (confidence := result.confidence) is not None:
        line |= {
            "raw_mean": round(confidence.raw.mean, 4),
            "raw_concentration": round(confidence.raw.concentration, 4),
            "mean": round(confidence.calibrated.mean, 4),
            "concentration": round(confidence.calibrated.concentration, 4),
            "map": confidence.map_id or "uncalibrated",
            "fd_if_right": round(confidence.if_right, 4),
            "fd_if_wrong": round(confidence.if_wrong, 4),
        }
    if (promised := result.promised) is not None:
        line |= {"certificate": promised.certificate, "promises": [text for text, _ in promised.covered]}
        line |= {"uncovered": promised.reason}
    if result.rewording is not None:
        line |= {"hedge": result.rewording.hedge, "rewriter": result.rewording.rewriter}
    if result.served_agrees is not None:
        line["served_agrees"] = result.served_agrees
    return line


def _attributes(result: Result, http_status: int | None) -> Json:
    """The attributes of the request's span."""
    confidence, spent = result.confidence, result.total_usage
    attributes = {
        "hedgerow.id": result.job.id,
        "hedgerow.route": result.job.route.name or None,
        "hedgerow.key": result.job.key.name if result.job.key else None,
        "hedgerow.mode": result.job.mode,
        "hedgerow.status": result.status.value,
        "hedgerow.reason": None if result.reason is None else str(result.reason),
        "hedgerow.confidence": confidence.calibrated.mean if confidence else None,
        "hedgerow.map": confidence.map_id if confidence else None,
        "hedgerow.samples": len(result.drawn.compared) or None,
        "http.response.status_code": http_status,
        "hedgerow.usage.input_tokens": spent.prompt or None,
        "hedgerow.usage.output_tokens": spent.completion or None,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _duration_ms(result: Result) -> float:
    return (time.perf_counter() - result.job.started) * 1e3
