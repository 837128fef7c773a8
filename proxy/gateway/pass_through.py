"""Requests that are passed through: forwarded byte for byte, with an audit row that has the reason."""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence

from ..pipeline.job import Job
from ..pipeline.result import Run
from ..protocols import RawCall, Relay
from ..services.services import Services
from ..spending.budgets import counts_of
from ..types import Json
from ..upstreams.answers import encoded
from ..upstreams.coding import header
from ..upstreams.dialects.table import DIALECTS
from .exchange import Exchange
from .finish import finish
from .forms import Form
from .headers import headers
from .relayed import Copy

Pairs = Sequence[tuple[bytes, bytes]]


async def forward(
    exchange: Exchange, services: Services, run: Run, body: bytes | AsyncIterable[bytes], reason: str, *, marked: bool
) -> None:
    """Relay the request and its answer unchanged; if `marked`, with the reason in the headers.

    Raises:
        ProxyError: the upstream could not be reached, or broke off.
    """
    size = len(body) if isinstance(body, bytes) else 0
    copy = exchange.copy = Copy(size) if is_counted(services, run.job) else None
    call = call_for(exchange, run.job, body, readable=copy is not None)
    async with services.upstreams[run.job.route.upstream].relay(call) as reply:
        run.answered(reply.upstream, reply.model)
        result = run.pass_on(reason)
        await send_on(exchange, reply, headers(result) if marked else (), copy)
    await count_relayed(exchange, run)
    await finish(services, exchange, run.result, http_status=exchange.status)


async def count_relayed(exchange: Exchange, run: Run, *, cut: bool = False) -> None:
    """Count the tokens of an answer from its copy; an upstream's error costs nothing. `cut`: it may not have come to its end."""
    if exchange.copy is None or (exchange.status or 0) >= 400:
        return
    relayed, is_known = await exchange.copy.usage(run.job, cut=cut)
    run.learn(relayed=relayed, cut=not is_known)


def is_counted(services: Services, job: Job) -> bool:
    """Whether the tokens of a passed-through answer are counted: for a named key's limits, or for a budget of a calibrating route."""
    if job.path not in DIALECTS:
        return False
    if job.key is not None:
        return True
    budgets = services.settings.budgets if job.route.name in services.steps else ()
    return bool(budgets and counts_of(budgets, job.route.name, ""))


def call_for(exchange: Exchange, job: Job, body: bytes | AsyncIterable[bytes], *, readable: bool = False) -> RawCall:
    """The request for the upstream: unchanged except for the route's model, and for `accept-encoding` if the answer must be `readable`."""
    pairs = exchange.header_pairs
    model = job.route.model
    if model is not None and isinstance(body, Form):
        body.rename(model)
    elif model is not None and body and job.body and (job.path in DIALECTS or "model" in job.body):
        body = encoded(job.body | {"model": model})
        pairs = [pair for pair in pairs if pair[0] != "content-encoding"]
    if readable:
        pairs = [*(pair for pair in pairs if pair[0] != "accept-encoding"), ("accept-encoding", "identity")]
    return RawCall(exchange.method, job.target, pairs, body, _request(exchange, job), job.id)


def _request(exchange: Exchange, job: Job) -> Json | None:
    """The request object if it asks for text: then any member of a group may answer it."""
    if exchange.method != "POST" or job.path not in DIALECTS:
        return None
    return job.body | {"model": job.route.model} if job.route.model else job.body


async def send_on(exchange: Exchange, reply: Relay, extra: Pairs = (), copy: Copy | None = None) -> None:
    """Relay the upstream's answer piece by piece, with the proxy's own headers; `copy` receives each piece."""
    await exchange.start(reply.status, [*reply.headers, *extra])
    if copy is not None:
        copy.coding = header(reply.headers, b"content-encoding")
    async for piece in reply.chunks:
        if copy is not None:
            copy.take(piece)
        await exchange.write(piece)
    await exchange.end()
