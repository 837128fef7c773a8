"""Shadow: answer as if the route were off, then do all the work and record what the answer would have been. The client sees no trace of it."""

from __future__ import annotations

import anyio.to_thread
import orjson
import structlog

from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish
from hedgerow.proxy.gateway.pass_through import call_for, send_on
from hedgerow.proxy.outcomes import Reason, Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.sse import Reader, data_of

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
    if exchange.status == 200:
        served, response_id = await anyio.to_thread.run_sync(served_text, bytes(copy))
    if served is None:
        run.end(Status.PASSED if exchange.status == 200 else Status.FAILED, Reason.NO_TEXT)
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


def served_text(data: bytes) -> tuple[str | None, str | None]:
    """The text of an answer as it was relayed, JSON or stream, and the completion's id; None where it has none or is cut short."""
    if len(data) > MAX_CAPTURED_BYTES:
        return None, None
    try:
        if not data.lstrip().startswith((b"data:", b":")):
            completion = orjson.loads(data)
            return _choice_text(completion, "message"), _id(completion)
        events = map(data_of, Reader().feed(data + b"\n\n"))
        chunks = [orjson.loads(event) for event in events if event and event != b"[DONE]"]
        text = "".join(_choice_text(chunk, "delta") or "" for chunk in chunks)
        return text or None, _id(chunks[0]) if chunks else None
    except (orjson.JSONDecodeError, AttributeError, TypeError, KeyError):
        return None, None


def _choice_text(completion: Json, part: str) -> str | None:
    choices = completion.get("choices") or [{}]
    content = (choices[0].get(part) or {}).get("content", choices[0].get("text"))
    return content if isinstance(content, str) and content else None


def _id(completion: Json) -> str | None:
    name = completion.get("id")
    return name[:128] if isinstance(name, str) else None
