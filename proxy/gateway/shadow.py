"""Shadow mode: answer as if the route were off, then do all the work and record what the answer would have been. Clients see no change."""

from __future__ import annotations

import asyncio

import structlog

from ..computing import compute
from ..errors import ProxyError, StoreError, UpstreamError
from ..outcomes import Reason, Status
from ..pipeline.eligibility import measures_choices
from ..pipeline.job import asks_for_logprobs
from ..pipeline.result import Run
from ..pipeline.run import calibrate
from ..pipeline.steps import RoutePipeline
from ..services.services import Services
from ..types import NO_TOKENS, Json
from ..upstreams.answers import sample_of
from ..upstreams.dialects.served import short_id
from .exchange import Exchange
from .finish import AUDIT_TIMEOUT_S, finish
from .pass_through import call_for, count_relayed, is_counted, send_on
from .relayed import Copy, completion_of

log = structlog.get_logger(__name__)


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Relay the answer, and start the shadow work, which continues after it. A client that leaves when its answer is complete has had it.

    Raises:
        ProxyError: the upstream could not be reached, or its answer is incomplete.
    """
    copy, pipeline = Copy(len(body)), services.steps[run.job.route.name].of_one_answer()
    exchange.copy = copy if is_counted(services, run.job) else None
    try:
        async with pipeline.upstream.relay(call_for(exchange, run.job, body, readable=True)) as reply:
            run.answered(reply.upstream, reply.model)
            await send_on(exchange, reply, copy=copy)
    except asyncio.CancelledError:
        if exchange.status != 200 or not await compute(copy.is_complete, run.job.path):
            raise
        await _answered(exchange, services, run, copy, pipeline)
        raise
    await _answered(exchange, services, run, copy, pipeline)


async def _answered(exchange: Exchange, services: Services, run: Run, copy: Copy, pipeline: RoutePipeline) -> None:
    """Start the work on an answer, or record why there is none."""
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
    several = measures_choices(run.job)
    if served is None or (text is None and not several):
        if served is not None and sample_of(served["choices"][0]).has_tool_calls:
            run.end(Status.PASSED, Reason.TOOL_CALLS)
        await finish(services, exchange, run.result, http_status=exchange.status)
        return
    if services.supervisor.crowded:
        run.end(Status.DEGRADED, Reason.OVERLOADED)
        await finish(
            services, exchange, run.result, http_status=exchange.status, response_id=short_id(served.get("id"))
        )
        return
    if not isinstance(served.get("usage"), dict):
        spent, _ = await copy.usage(run.job)
        served["usage"] = {"prompt_tokens": spent.prompt, "completion_tokens": spent.completion}
    is_sample = not pipeline.needs_logprobs or asks_for_logprobs(run.job.chat)
    beside = Run(run.job, text)
    beside.came = served if is_sample and not several else None
    beside.learn(relayed=relayed, cut=is_cut)
    work = _work(services, pipeline, beside, exchange.status, short_id(served.get("id")), served if several else None)
    exchange.recorded = True
    services.start(work, name=f"shadow-{run.job.id}")


async def _work(
    services: Services,
    pipeline: RoutePipeline,
    run: Run,
    http_status: int | None,
    response_id: str | None,
    choices: Json | None,
) -> None:
    """The shadow work, after the client has its answer, which is one of the samples; if it has enough `choices`, they are all."""
    await _announce(services, run, response_id)
    try:
        await calibrate(run, pipeline, None if choices is None else _arrived(choices), is_eligible=True)
    except ProxyError as error:
        log.warning("shadow_failed", id=run.job.id, route=run.job.route.name, code=error.code)
    drawn = run.result.drawn
    if drawn.choices and drawn.source == "upstream" and (choices or run.came):
        run.learn(relayed=NO_TOKENS)  # its tokens are counted as those of a sample
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
