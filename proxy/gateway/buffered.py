"""Requests that are calibrated: the pipeline's answer as a JSON object, or buffered and then streamed."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from hedgerow.proxy.errors import Internal, ProxyError
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish, headers
from hedgerow.proxy.gateway.reply import client_answer, stream, upstream_headers
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse

STREAM_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
CHUNKS_A_TURN = 32
"""Chunks of a stream after which other requests have their turn: a long answer has a thousand of them."""


async def answer(exchange: Exchange, services: Services, run: Run, _body: bytes) -> None:
    """Run the pipeline and answer. The audit row is durable before the answer leaves."""
    streams = bool(run.job.body.get("stream"))
    final = await (_kept_alive(exchange, services, run) if streams else _answer(services, run))
    status = exchange.status or (final.status if isinstance(final, ProxyError) else 200)
    final = await finish(services, exchange, run.result, http_status=status) or final
    if isinstance(final, ProxyError):
        await exchange.send_error(final, headers(run.result))
    elif not streams:
        await exchange.send_json(200, final, [*upstream_headers(run.result), *headers(run.result)])
    else:
        if exchange.status is None:
            await exchange.start(200, [*STREAM_HEADERS, *upstream_headers(run.result), *headers(run.result)])
        for number, chunk in enumerate(stream(final, run.job)):
            await exchange.write(chunk)
            if number % CHUNKS_A_TURN == CHUNKS_A_TURN - 1:
                await asyncio.sleep(0)
        await exchange.end()


async def _kept_alive(exchange: Exchange, services: Services, run: Run) -> Json | ProxyError:
    """The answer, with comment lines while the pipeline works. An answer that is ready before the first of them carries all headers,
    and an early failure its own status: while the upstream refuses, and nothing has come of it yet, no stream is begun.
    """
    refused = asyncio.Event()
    run.take(replace(run.job, on_retry=refused.set))
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_answer(services, run))
        while not (await asyncio.wait({work}, timeout=services.settings.server.keep_alive_s))[0]:
            if exchange.status is None and refused.is_set() and not run.result.drawn.choices:
                continue
            if exchange.status is None:
                await exchange.start(200, STREAM_HEADERS)
            await exchange.write(sse.KEEP_ALIVE)
    return work.result()


async def _answer(services: Services, run: Run) -> Json | ProxyError:
    """The answer for the client; an error as a value, because a task group would wrap it: no answer could be drawn, or a
    step failed on a route whose `on_failure` is `error`.
    """
    try:
        await calibrate(run, services.steps[run.job.route.name])
    except ProxyError as error:
        return error
    result = run.result
    if result.status is Status.DEGRADED and result.job.route.on_failure == "error":
        run.end(Status.FAILED, result.reason, result.detail)
        return Internal(f"the answer could not be calibrated: {result.reason}", code=result.reason)
    return client_answer(result)
