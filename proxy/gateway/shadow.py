"""Shadow: answer as if the route were off, then do all the work and record what the answer would have been. The client sees no trace of it."""

from __future__ import annotations

import anyio.to_thread
import structlog

from hedgerow.proxy.errors import ProxyError, UpstreamError
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish
from hedgerow.proxy.gateway.pass_through import call_for, is_counted, send_on
from hedgerow.proxy.gateway.relayed import Copy, completion_of
from hedgerow.proxy.outcomes import Reason, Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.pipeline.steps import RoutePipeline
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Usage
from hedgerow.proxy.upstreams.answers import sample_of

log = structlog.get_logger(__name__)


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Relay, and begin the work that goes on after the client has its answer.

    Raises:
        ProxyError: the upstream could not be reached, or broke off.
    """
    copy, pipeline = Copy(), services.steps[run.job.route.name].of_one_answer()
    async with pipeline.upstream.relay(call_for(exchange, run.job, body, readable=True)) as reply:
        run.answered(reply.upstream, reply.model)
        await send_on(exchange, reply, copy=copy.take)
    served, response_id = None, None
    run.end(Status.FAILED, Reason.NO_TEXT)
    if exchange.status == 200:
        try:
            served, response_id = await anyio.to_thread.run_sync(served_text, run.job.path, copy.data)
            run.end(Status.PASSED, Reason.NO_TEXT)
        except UpstreamError as error:
            run.end(Status.FAILED, error.code)
    relayed = await copy.usage(run.job, len(body)) if is_counted(services, run.job) else Usage()
    if served is None:
        run.learn(relayed=relayed)
        await finish(services, exchange, run.result, http_status=exchange.status)
        return
    exchange.recorded = True
    beside = Run(run.job, served)
    beside.learn(relayed=relayed)
    work = _work(services, pipeline, beside, exchange.status, response_id)
    services.start(work, name=f"shadow-{run.job.id}")


async def _work(
    services: Services, pipeline: RoutePipeline, run: Run, http_status: int | None, response_id: str | None
) -> None:
    """The shadow's work, after the client has its answer."""
    try:
        await calibrate(run, pipeline)
    except ProxyError as error:
        log.warning("shadow_failed", id=run.job.id, route=run.job.route.name, code=error.code)
    await finish(services, None, run.result, http_status=http_status, response_id=response_id)


def served_text(path: str, data: bytes | None) -> tuple[str | None, str | None]:
    """The text of an answer as it was relayed, whole or as a stream, and its id; None where it has none, or is too long for a copy.

    Raises:
        UpstreamError: it is a stream that broke off, or that an error ended.
    """
    if data is None:
        return None, None
    try:
        completion = completion_of(path, data)
    except UpstreamError as error:
        if error.code == Reason.UPSTREAM_BROKEN:
            raise
        return None, None
    name = completion.get("id")
    return sample_of(completion["choices"][0]).text or None, name[:128] if isinstance(name, str) else None
