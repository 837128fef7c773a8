"""Requests that are calibrated: the pipeline's answer as a JSON object, or buffered and then streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson

from ..errors import Internal, ProxyError, UpstreamRejected
from ..outcomes import Status
from ..pipeline.result import Run
from ..pipeline.run import calibrate
from ..services.services import Services
from ..types import Json
from ..upstreams import sse
from .exchange import Exchange
from .finish import finish
from .headers import headers
from .reply import client_answer, stream, upstream_headers

STREAM_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
CHUNKS_A_TURN = 32
"""Chunks of a stream that are made before other requests get a turn: a long answer has a thousand of them."""


async def answer(exchange: Exchange, services: Services, run: Run, _body: bytes) -> None:
    """Run the pipeline and answer. The audit row is written once the answer is encoded, and is durable before the answer is sent."""
    streams = bool(run.job.body.get("stream"))
    outcome = await (_kept_alive(exchange, services, run) if streams else _answer(services, run))
    final = outcome if isinstance(outcome, ProxyError) else await _encoded(outcome, run, streams=streams)
    is_event = streams and isinstance(final, UpstreamRejected) and final.event != b""
    if (
        is_event and exchange.status is None
    ):  # as the client would have got it: a status of its own would make clients ask again
        await exchange.start(200, [*STREAM_HEADERS, *headers(run.result)])
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


async def _encoded(answer: Json, run: Run, *, streams: bool) -> Sequence[bytes]:
    """The encoded answer, in one piece or chunk by chunk."""
    if not streams:
        return [orjson.dumps(answer)]
    chunks: list[bytes] = []
    for chunk in stream(answer, run.job):
        chunks.append(chunk)
        if len(chunks) % CHUNKS_A_TURN == 0:
            await asyncio.sleep(0)
    return chunks


async def _kept_alive(exchange: Exchange, services: Services, run: Run) -> Json | ProxyError:
    """The answer, with comment lines sent while the pipeline works. If it is ready before the first comment it has all headers, and an early
    failure has its own status: no stream is begun while the upstream refuses and has sent nothing.
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
    """The answer for the client. An error is returned, not raised, because a task group would wrap it: no answer could be drawn, or a step
    failed on a route with `on_failure: error`.
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
