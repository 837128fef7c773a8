"""Requests that are answered by the upstream alone: forwarded byte for byte, with an audit row that says why.

Shadow forwards as well, and then does the work on the side.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import structlog

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.gateway import finish as outcome
from hedgerow.proxy.gateway.exchange import ClientGone, Exchange, error_event_body
from hedgerow.proxy.pipeline.job import Flow, Job
from hedgerow.proxy.protocols import RawCall
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.sse import event

log = structlog.get_logger(__name__)

MAX_CAPTURED_BYTES = 1 << 20
"""Shadow keeps a copy of the served answer up to this size; a longer one is not compared."""


async def forward(
    exchange: Exchange, services: Services, job: Job, body: bytes | AsyncIterator[bytes], *, mode: str, reason: str
) -> None:
    """Relay the request and its answer as they are.

    Raises:
        ProxyError: the upstream could not be reached and nothing was sent yet.
        ClientGone: the client left first; the upstream's work is cancelled.
    """
    flow = Flow(job, status="passed", reason=reason)
    try:
        headers = [] if mode == "off" else outcome.headers(flow)
        await _relay(exchange, services, job, body, headers)
    except ClientGone:
        flow.status, flow.reason = "cancelled", "client_gone"
    except ProxyError as error:
        flow.status, flow.reason, flow.http_status = "failed", error.code, error.status
        await fail(exchange, error)
    flow.http_status = exchange.status
    outcome.tell_passed(exchange, services, flow, mode=mode)


async def shadow(exchange: Exchange, services: Services, job: Job, body: bytes) -> None:
    """Answer as if the route were off, then do all the work and write what would have been said. The client sees no trace of it."""
    flow = Flow(job, status="failed")
    copy = bytearray()
    try:
        await _relay(exchange, services, job, body, [], copy)
    except ClientGone:
        flow.status, flow.reason = "cancelled", "client_gone"
    except ProxyError as error:
        flow.reason, flow.http_status = error.code, error.status
        await fail(exchange, error)
    flow.http_status = exchange.status
    flow.served, response_id = served_text(bytes(copy)) if exchange.status == 200 else (None, None)
    if flow.served is None:
        flow.status = "passed" if exchange.status == 200 else flow.status
        flow.reason = flow.reason or "no_text"
        outcome.tell_passed(exchange, services, flow, mode="shadow")
        return
    exchange.told = True
    services.start(_work(services, flow, response_id), name=f"shadow-{job.id}")


async def _work(services: Services, flow: Flow, response_id: str | None) -> None:
    """The shadow's work, after the client has its answer."""
    from hedgerow.proxy.pipeline.short import calibrate  # loaded with the route's pipeline, see assembly.py

    try:
        await calibrate(flow.job, services.steps[flow.job.route.name], flow)
    except ProxyError as error:
        log.warning("shadow_failed", id=flow.job.id, route=flow.job.route.name, code=error.code)
    await outcome.tell(services, flow, mode="shadow", response_id=response_id)


async def _relay(
    exchange: Exchange,
    services: Services,
    job: Job,
    body: bytes | AsyncIterator[bytes],
    headers: list[tuple[bytes, bytes]],
    copy: bytearray | None = None,
) -> None:
    """Send on what the upstream sends, piece by piece."""
    data = body
    if isinstance(body, bytes) and job.route.model is not None and job.body.get("messages", job.body.get("prompt")):
        data = orjson.dumps(job.body | {"model": job.route.model})
    sent = exchange.header_pairs
    if copy is not None:  # a compressed copy could not be read
        sent = [*((name, value) for name, value in sent if name != "accept-encoding"), ("accept-encoding", "identity")]
    call = RawCall(exchange.method, exchange.target, sent, data)

    async def run() -> None:
        async with services.upstreams[job.route.upstream].relay(call) as answer:
            await exchange.start(answer.status, [*answer.headers, *headers])
            async for chunk in answer.chunks:
                if copy is not None and len(copy) <= MAX_CAPTURED_BYTES:
                    copy.extend(chunk)
                await exchange.write(chunk)
        await exchange.end()

    await exchange.unless_gone(run()) if isinstance(body, bytes) else await run()


async def fail(exchange: Exchange, error: ProxyError) -> None:
    """An error object with its status, or, where the answer has begun, as the last event of its stream.

    An answer of declared length can only be broken off: the server closes a connection whose answer was not completed.
    """
    if exchange.status is None:
        await exchange.send_error(error)
    elif exchange.missing is None:
        await exchange.write(event(error_event_body(error)), more=False)


def served_text(data: bytes) -> tuple[str | None, str | None]:
    """The text of an answer as it was relayed, JSON or stream, and the completion's id; None where it has none or is cut short."""
    if len(data) > MAX_CAPTURED_BYTES:
        return None, None
    try:
        if not data.lstrip().startswith(b"data:") and not data.lstrip().startswith(b":"):
            answer = orjson.loads(data)
            return _choice_text(answer, "message"), _id(answer)
        events = [line[5:].strip() for line in data.splitlines() if line.startswith(b"data:")]
        chunks = [orjson.loads(line) for line in events if line and line != b"[DONE]"]
        text = "".join(_choice_text(chunk, "delta") or "" for chunk in chunks)
        return text or None, _id(chunks[0]) if chunks else None
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return None, None


def _choice_text(answer: Json, part: str) -> str | None:
    choices = answer.get("choices") or [{}]
    content = (choices[0].get(part) or {}).get("content", choices[0].get("text"))
    return content if isinstance(content, str) and content else None


def _id(answer: Json) -> str | None:
    found = answer.get("id")
    return found[:128] if isinstance(found, str) else None
