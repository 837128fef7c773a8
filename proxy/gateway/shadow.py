"""Shadow mode: answer as if the route were off, then do all the work and record what the answer would have been. Clients see no change."""

from __future__ import annotations

import asyncio

import structlog

from ..computing import compute
from ..errors import ProxyError, StoreError, UpstreamError
from ..outcomes import Reason, Status
from ..pipeline.eligibility import measures_choices
from ..pipeline.result import Run
from ..pipeline.run import calibrate
from ..pipeline.steps import RoutePipeline
from ..services.services import Services
from ..types import Json
from ..upstreams.answers import sample_of
from ..upstreams.dialects.served import short_id
from .exchange import Exchange
from .finish import AUDIT_TIMEOUT_S, finish
from .pass_through import call_for, count_relayed, is_counted, send_on
from .relayed import Copy, completion_of

log = structlog.get_logger(__name__)


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Relay the answer, and start the shadow work, which continues after it.

    Raises:
        ProxyError: the upstream could not be reached, or its answer is incomplete.
    """
    copy, pipeline = Copy(len(body)), services.steps[run.job.route.name].of_one_answer()
    exchange.copy = copy if is_counted(services, run.job) else None
    async with pipeline.upstream.relay(call_for(exchange, run.job, body, readable=True)) as reply:
        run.answered(reply.upstream, reply.model)
        await send_on(exchange, reply, copy=copy)
    served: Json | None = None
    run.end(Status.FAILED, Reason.UPSTREAM_REJECTED)
    if exchange.status == 200:
        run.end(Status.PASSED, Reason.NO_TEXT)
        try:
            served = await compute(served_answer, run.job.path, copy.data)
        except UpstreamError as error:
            run.fail(error)
    await count_relayed(exchange, run)
    relayed, is_cut = run.result.relayed, run.result.cut
    text = served_text(served)
    choices = served if measures_choices(run.job) else None
    if text is None and choices is None:
        await finish(services, exchange, run.result, http_status=exchange.status)
        return
    exchange.recorded = True
    beside = Run(run.job, text)
    if choices is None or relayed.estimated:  # else the tokens of the choices are counted as those of the samples
        beside.learn(relayed=relayed, cut=is_cut)
    work = _work(services, pipeline, beside, exchange.status, short_id((served or {}).get("id")), choices)
    services.start(work, name=f"shadow-{run.job.id}")


async def _work(
    services: Services,
    pipeline: RoutePipeline,
    run: Run,
    http_status: int | None,
    response_id: str | None,
    choices: Json | None,
) -> None:
    """The shadow work, after the client has its answer. If that has enough `choices` to serve as samples, no others are drawn."""
    await _announce(services, run, response_id)
    try:
        await calibrate(run, pipeline, None if choices is None else _arrived(choices), is_eligible=True)
    except ProxyError as error:
        log.warning("shadow_failed", id=run.job.id, route=run.job.route.name, code=error.code)
    await finish(services, None, run.result, http_status=http_status, response_id=response_id)


async def _announce(services: Services, run: Run, response_id: str | None) -> None:
    """Announce the row, so that a verdict waits for it: the client may judge its answer before the work is done."""
    if response_id is None or services.audit.down:
        return
    try:
        await services.audit.announce(response_id, run.job.route.deadline_s + AUDIT_TIMEOUT_S)
    except StoreError as error:
        log.warning("row_not_announced", id=run.job.id, error=str(error))


def _arrived(completion: Json) -> asyncio.Future[Json]:
    done: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
    done.set_result(completion)
    return done


def served_answer(path: str, data: bytes | None) -> Json | None:
    """The completion object of a relayed answer, streamed or not; None if it is something else, or too long for a copy.

    Raises:
        UpstreamError: it is a stream that is incomplete or ended with an error.
    """
    if data is None:
        return None
    try:
        return completion_of(path, data)
    except UpstreamError as error:
        if error.code == Reason.UPSTREAM_BROKEN:
            raise
        return None


def served_text(completion: Json | None) -> str | None:
    """The text of the first choice of an answer; None if it has none, or stands before a call."""
    sample = None if completion is None else sample_of(completion["choices"][0])
    return None if sample is None or sample.has_tool_calls else sample.text or None
