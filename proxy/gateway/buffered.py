"""Requests that are calibrated: the pipeline's answer as a JSON object, or buffered and then streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson

from hedgerow.proxy.errors import Internal, ProxyError, UpstreamError
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish
from hedgerow.proxy.gateway.headers import headers
from hedgerow.proxy.gateway.reply import client_answer, stream, upstream_headers
from hedgerow.proxy.outcomes import Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse
from hedgerow.proxy.upstreams.dialects.served import sendable

STREAM_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
CHUNKS_A_TURN = 32
"""Chunks of a stream that are made before other requests have their turn: a long answer has a thousand of them."""


async def answer(exchange: Exchange, services: Services, run: Run, _body: bytes) -> None:
    """Run the pipeline and answer. The audit row is durable before the answer leaves, and written once it is known that it can leave."""
    streams = bool(run.job.body.get("stream"))
    outcome = await (_kept_alive(exchange, services, run) if streams else _answer(services, run))
    final = outcome if isinstance(outcome, ProxyError) else await _encoded(outcome, run, streams=streams)
    status = exchange.status or (final.status if isinstance(final, ProxyError) else 200)
    final = await finish(services, exchange, run.result, http_status=status) or final
    if isinstance(final, ProxyError):
        await exchange.send_error(final, headers(run.result))
        return
    sent = [*upstream_headers(run.result), *headers(run.result)]
    if not streams:
        await exchange.send_bytes(200, final[0], b"application/json", sent)
        return
    if exchange.status is None:
        await exchange.start(200, [*STREAM_HEADERS, *sent])
    for chunk in final:
        await exchange.write(chunk)
    await exchange.end()


async def _encoded(answer: Json, run: Run, *, streams: bool) -> Sequence[bytes] | ProxyError:
    """An answer as it is sent, in one piece or chunk by chunk; an error where it holds what cannot be sent again."""
    chunks: list[bytes] = []
    try:
        with sendable():
            if not streams:
                return [orjson.dumps(answer)]
            for chunk in stream(answer, run.job):
                chunks.append(chunk)
                if len(chunks) % CHUNKS_A_TURN == 0:
                    await asyncio.sleep(0)
    except UpstreamError as error:
        run.end(Status.FAILED, error.code)
        return error
    return chunks


async def _kept_alive(exchange: Exchange, services: Services, run: Run) -> Json | ProxyError:
    """The answer, with comment lines while the pipeline works. An answer that is ready before the first of them carries all headers,
    and an early failure its own status: while the upstream refuses, and nothing has come of it yet, no stream is begun.
    """
    refused = asyncio.Event()
    run.take(run.job._replace(on_retry=refused.set))
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
        await calibrate(run, services.steps[run.job.route.name], is_eligible=True)
    except ProxyError as error:
        return error
    result = run.result
    if result.status is Status.DEGRADED and result.job.route.on_failure == "error":
        run.end(Status.FAILED, result.reason, result.detail)
        return Internal(f"the answer could not be calibrated: {result.reason}", code=result.reason)
    return client_answer(result)
