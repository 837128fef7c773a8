"""Requests that are answered by the upstream alone: forwarded byte for byte, with an audit row that says why."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Callable, Sequence

import orjson

from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish, headers
from hedgerow.proxy.gateway.reading import Form
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.protocols import RawCall, Relay
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.dialects.table import DIALECTS

Pairs = Sequence[tuple[bytes, bytes]]


async def forward(
    exchange: Exchange, services: Services, run: Run, body: bytes | AsyncIterable[bytes], reason: str, *, marked: bool
) -> None:
    """Relay the request and its answer as they are; where it is to be `marked`, with the reason in the headers.

    Raises:
        ProxyError: the upstream could not be reached, or broke off.
    """
    result = run.pass_on(reason)
    extra = headers(result) if marked else []
    async with services.upstreams[run.job.route.upstream].relay(call_for(exchange, run.job, body)) as reply:
        await send_on(exchange, reply, extra)
    await finish(services, exchange, result, http_status=exchange.status)


def call_for(exchange: Exchange, job: Job, body: bytes | AsyncIterable[bytes], *, readable: bool = False) -> RawCall:
    """The request as it goes to the upstream: as it came, but for the route's model, and without compression where its answer is to
    be `readable`.
    """
    pairs = exchange.header_pairs
    model = job.route.model
    if model is not None and isinstance(body, Form):
        body.rename(model)
    elif model is not None and body and job.body and (job.path in DIALECTS or "model" in job.body):
        body = _renamed(job.body, model)
        pairs = [pair for pair in pairs if pair[0] != "content-encoding"]
    if readable:
        pairs = [*(pair for pair in pairs if pair[0] != "accept-encoding"), ("accept-encoding", "identity")]
    return RawCall(exchange.method, exchange.target, pairs, body)


def _renamed(body: Json, model: str) -> bytes:
    """A request for another model; where it holds text that is not Unicode, in a form that can be."""
    renamed = body | {"model": model}
    try:
        return orjson.dumps(renamed)
    except orjson.JSONEncodeError:
        return json.dumps(renamed).encode()


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
