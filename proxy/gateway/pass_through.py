"""Requests that are answered by the upstream alone: forwarded byte for byte, with an audit row that says why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import orjson

from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish, headers
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.protocols import RawCall, Relay
from hedgerow.proxy.services.services import Services

Pairs = Sequence[tuple[bytes, bytes]]


async def forward(
    exchange: Exchange, services: Services, run: Run, body: bytes | AsyncIterator[bytes], reason: str
) -> None:
    """Relay the request and its answer as they are.

    Raises:
        ProxyError: the upstream could not be reached, or broke off.
    """
    result = run.pass_on(reason)
    extra = [] if run.job.mode == "off" else headers(result)
    async with services.upstreams[run.job.route.upstream].relay(call_for(exchange, run.job, body)) as reply:
        await send_on(exchange, reply, extra)
    await finish(services, exchange, result, http_status=exchange.status)


def call_for(exchange: Exchange, job: Job, body: bytes | AsyncIterator[bytes], *, readable: bool = False) -> RawCall:
    """The request as it goes to the upstream: as it came, but for the route's model, and without compression where its answer is to
    be `readable`.
    """
    if isinstance(body, bytes) and job.route.model is not None and job.body.get("messages", job.body.get("prompt")):
        body = orjson.dumps(job.body | {"model": job.route.model})
    pairs = exchange.header_pairs
    if readable:
        pairs = [*(pair for pair in pairs if pair[0] != "accept-encoding"), ("accept-encoding", "identity")]
    return RawCall(exchange.method, exchange.target, pairs, body)


async def send_on(
    exchange: Exchange, reply: Relay, extra: Pairs = (), copy: Callable[[bytes], object] | None = None
) -> None:
    """Send on what the upstream sends, piece by piece, with headers of our own; `copy` receives each piece."""
    await exchange.start(reply.status, [*reply.headers, *extra])
    async for piece in reply.chunks:
        if copy is not None:
            copy(piece)
        await exchange.write(piece)
    await exchange.end()
