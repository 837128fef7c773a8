"""Shadow: answer as if the route were off, then do all the work and record what the answer would have been. The client sees no trace of it."""

from __future__ import annotations

import anyio.to_thread
import structlog

from hedgerow.proxy.errors import ProxyError, UpstreamError
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish
from hedgerow.proxy.gateway.pass_through import call_for, send_on
from hedgerow.proxy.outcomes import Reason, Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.answers import checked_completion, sample_of
from hedgerow.proxy.upstreams.dialects.table import DIALECTS, Dialect

log = structlog.get_logger(__name__)

MAX_CAPTURED_BYTES = 1 << 20
"""A copy of the served answer is kept up to this size; a longer one is not compared."""


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Relay, and begin the work that goes on after the client has its answer.

    Raises:
        ProxyError: the upstream could not be reached, or broke off.
    """
    copy = bytearray()

    def keep(piece: bytes) -> None:
        if len(copy) <= MAX_CAPTURED_BYTES:
            copy.extend(piece)

    async with services.upstreams[run.job.route.upstream].relay(
        call_for(exchange, run.job, body, readable=True)
    ) as reply:
        await send_on(exchange, reply, copy=keep)
    served, response_id = None, None
    run.end(Status.FAILED, Reason.NO_TEXT)
    if exchange.status == 200:
        try:
            served, response_id = await anyio.to_thread.run_sync(served_text, run.job.path, bytes(copy))
            run.end(Status.PASSED, Reason.NO_TEXT)
        except UpstreamError as error:
            run.end(Status.FAILED, error.code)
    if served is None:
        await finish(services, exchange, run.result, http_status=exchange.status)
        return
    exchange.recorded = True
    work = _work(services, Run(run.job, served), exchange.status, response_id)
    services.start(work, name=f"shadow-{run.job.id}")


async def _work(services: Services, run: Run, http_status: int | None, response_id: str | None) -> None:
    """The shadow's work, after the client has its answer."""
    try:
        await calibrate(run, services.steps[run.job.route.name])
    except ProxyError as error:
        log.warning("shadow_failed", id=run.job.id, route=run.job.route.name, code=error.code)
    await finish(services, None, run.result, http_status=http_status, response_id=response_id)


def served_text(path: str, data: bytes) -> tuple[str | None, str | None]:
    """The text of an answer as it was relayed, whole or as a stream, and its id; None where it has none, or is too long for a copy.

    Raises:
        UpstreamError: it is a stream that broke off, or that an error ended.
    """
    if len(data) > MAX_CAPTURED_BYTES:
        return None, None
    is_stream = data.lstrip().startswith((b"data:", b"event:", b":"))
    try:
        completion = (_streamed if is_stream else _whole)(DIALECTS[path], data)
    except (ProxyError, ValueError) as error:
        if is_stream:
            raise UpstreamError("the upstream broke off its answer", code="upstream_broken") from error
        return None, None
    name = completion.get("id")
    return sample_of(completion["choices"][0]).text or None, name[:128] if isinstance(name, str) else None


def _whole(dialect: Dialect, data: bytes) -> Json:
    return checked_completion("", data, dialect.completion)


def _streamed(dialect: Dialect, data: bytes) -> Json:
    """The completion object of a stream.

    Raises:
        ProxyError: it is not an answer, or broke off.
        ValueError: an error ended it.
    """
    stream = dialect.served(None)
    stream.take(data + b"\n\n")
    completion = stream.completion()
    if stream.failed:
        raise ValueError("an error ended the stream")
    return completion
