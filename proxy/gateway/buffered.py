"""Requests that are calibrated: the pipeline's answer as a JSON object, or buffered and then streamed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from hedgerow.proxy.errors import Internal, ProxyError
from hedgerow.proxy.gateway import finish as outcome
from hedgerow.proxy.gateway.exchange import ClientGone, Exchange, error_event_body
from hedgerow.proxy.pipeline import result as record
from hedgerow.proxy.pipeline.job import Flow, Job
from hedgerow.proxy.pipeline.short import calibrate
from hedgerow.proxy.rewriting import natural_pieces
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse

STREAM_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


async def answer(exchange: Exchange, services: Services, job: Job) -> None:
    """Run the pipeline and answer. The audit row is durable before the answer leaves."""
    flow = Flow(job)
    try:
        if job.body.get("stream"):
            await exchange.unless_gone(_stream(exchange, services, flow))
        else:
            await exchange.unless_gone(_whole(exchange, services, flow))
    except ClientGone:
        if not exchange.told:  # else it left while its row was being written, and the row stands
            flow.status, flow.reason = "cancelled", "client_gone"
            await outcome.tell(services, flow, mode="on", exchange=exchange)


async def _whole(exchange: Exchange, services: Services, flow: Flow) -> None:
    """One JSON object."""
    try:
        final = await _finish(services, flow)
    except ProxyError as error:
        flow.http_status = error.status
        await outcome.tell(services, flow, mode="on", exchange=exchange)
        await exchange.send_error(error, outcome.headers(flow))
        return
    flow.http_status = 200
    if refusal := await outcome.tell(services, flow, mode="on", exchange=exchange):
        await exchange.send_error(refusal, outcome.headers(flow))
        return
    await exchange.send_json(200, final, outcome.headers(flow))


async def _stream(exchange: Exchange, services: Services, flow: Flow) -> None:
    """A stream: comment lines while the pipeline works, then the whole answer in pieces.

    An answer that is ready before the first comment line carries all headers, and an early failure its own status.
    """
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_caught(services, flow))
        while not (await asyncio.wait({work}, timeout=services.settings.server.keep_alive_s))[0]:
            if exchange.status is None:
                await exchange.start(200, STREAM_HEADERS)
            await exchange.write(sse.KEEP_ALIVE)
    final = work.result()
    flow.http_status = exchange.status or (final.status if isinstance(final, ProxyError) else 200)
    final = await outcome.tell(services, flow, mode="on", exchange=exchange) or final
    if isinstance(final, ProxyError):
        if exchange.status is None:
            await exchange.send_error(final, outcome.headers(flow))
        else:
            await exchange.write(sse.event(error_event_body(final)), more=False)
        return
    if exchange.status is None:
        await exchange.start(200, [*STREAM_HEADERS, *outcome.headers(flow)])
    for chunk in chunks(final, include_usage=wants_usage(flow.job.body)):
        await exchange.write(chunk)
    await exchange.write(sse.DONE, more=False)


async def _caught(services: Services, flow: Flow) -> Json | ProxyError:
    """The answer, or the error as a value: a task group would wrap it."""
    try:
        return await _finish(services, flow)
    except ProxyError as error:
        return error


async def _finish(services: Services, flow: Flow) -> Json:
    """Run the pipeline; the completion object for the client.

    Raises:
        ProxyError: no answer could be drawn, or a step failed on a route whose `on_failure` is `error`.
    """
    await calibrate(flow.job, services.steps[flow.job.route.name], flow)
    if flow.status == "degraded" and flow.job.route.on_failure == "error":
        flow.status = "failed"
        raise Internal(f"the answer could not be calibrated: {flow.reason}", code=flow.reason)
    return record.final_answer(flow)


def wants_usage(body: Json) -> bool:
    """Whether the last chunk of a stream tells the tokens spent."""
    options = body.get("stream_options")
    return isinstance(options, dict) and bool(options.get("include_usage"))


def chunks(answer: Json, *, include_usage: bool) -> Iterator[bytes]:
    """A completion object as the events of a stream, without the last `[DONE]`."""
    choice = answer["choices"][0]
    message = choice.get("message") or {}
    text = message.get("content") or choice.get("text") or ""
    yield sse.opening(answer)
    for piece in natural_pieces(text):
        yield sse.content(answer, piece)
    if rest := _rest(message):
        yield sse.message(answer, rest)
    yield sse.finish(answer, choice.get("finish_reason"), extra=answer.get("hedgerow"))
    if include_usage:
        yield sse.usage(answer, answer["usage"])


def _rest(message: Json) -> Json:
    """What a message holds beside role and text: tool calls get the index that streams want."""
    rest = {key: value for key, value in message.items() if key not in ("role", "content") and value is not None}
    if isinstance(rest.get("tool_calls"), list):
        rest["tool_calls"] = [{"index": i} | call for i, call in enumerate(rest["tool_calls"])]
    return rest
