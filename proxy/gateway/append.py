"""`stream: append`: the upstream's own tokens without delay, then one sentence that states the confidence.

While the client reads, the other answers are drawn. The end of the stream (finish reason, usage, anything after the last text) is held
back until the confidence is known and its audit row is durable. If something fails in the proxy, the upstream's stream is still complete,
and marked.
"""

from __future__ import annotations

import asyncio

from ..errors import ProxyError
from ..outcomes import Reason, Status
from ..pipeline.result import Run
from ..pipeline.run import calibrate
from ..pipeline.sampling.forms import REFUSALS
from ..pipeline.steps import RoutePipeline
from ..protocols import Relay
from ..rewriting import natural_pieces
from ..services.services import Services
from ..types import Json
from ..upstreams import sse
from ..upstreams.answers import encoded
from ..upstreams.coding import readable
from ..upstreams.dialects.served import ServedStream
from ..upstreams.dialects.table import DIALECTS
from .exchange import Exchange
from .finish import finish
from .headers import answered_by
from .pass_through import call_for, count_relayed, is_counted, send_on
from .relayed import Copy
from .reply import extra_field


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Relay and sample in parallel, then close the stream with the confidence. If the relay fails, sampling is cancelled.

    Raises:
        ProxyError: the upstream could not be reached or broke off.
        ClientGone: the client left before it had received everything.
    """
    served = DIALECTS[run.job.path].served()
    exchange.copy = Copy(len(body)) if is_counted(services, run.job) else None
    pipeline = services.steps[run.job.route.name].of_one_answer()
    serving: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
    failure: ProxyError | None = None  # raised after the task group, which would wrap it
    is_stream = False
    try:
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_calibrate(pipeline, run, serving))
            try:
                is_stream = await _relay(exchange, pipeline, run, body, served)
                if is_stream:
                    completion = served.completion()
                    exchange.copy = None  # from here on it counts as one of the answers
                    serving.set_result(completion)
                    while not (await asyncio.wait({work}, timeout=services.settings.server.keep_alive_s))[0]:
                        await exchange.write(sse.KEEP_ALIVE)
            except ProxyError as error:
                failure = error
            work.cancel()
    except asyncio.CancelledError:
        if (
            served.failed or exchange.missing == 0
        ):  # the client had received everything and closed before the end was seen here
            await _passed_on(exchange, services, run, served)
        raise
    if failure is not None:
        raise failure
    if is_stream:
        await _end(exchange, services, run, served, serving.result())
    else:
        await _passed_on(exchange, services, run, served)
        await exchange.end()


async def _calibrate(pipeline: RoutePipeline, run: Run, serving: asyncio.Future[Json]) -> None:
    """Run the pipeline in parallel with the stream. The client has its answer in any case, so a failure means status `degraded`."""
    try:
        await calibrate(run, pipeline, serving, is_eligible=True)
    except ProxyError:
        run.end(Status.DEGRADED, run.result.reason, run.result.detail)


async def _passed_on(exchange: Exchange, services: Services, run: Run, served: ServedStream) -> None:
    """Record an answer that cannot be hedged: an error, or not a stream."""
    if exchange.status == 200 and not served.failed:
        run.end(Status.PASSED, Reason.NOT_A_STREAM)
    else:
        run.end(Status.FAILED, Reason.UPSTREAM_REJECTED)
    await count_relayed(exchange, run)
    await finish(services, exchange, run.result, http_status=exchange.status, response_id=served.response_id)


async def _relay(exchange: Exchange, pipeline: RoutePipeline, run: Run, body: bytes, served: ServedStream) -> bool:
    """Relay the stream except its ending. The upstream is asked for its token usage also if the client did not ask, unless it refuses that.
    Returns False if the upstream answered with an error or not with a stream.

    Raises:
        ProxyError: the upstream could not be reached or broke off.
    """
    job, accepted = run.job, pipeline.accepted
    if not job.wants_usage and accepted.counts(job):
        served.hides_usage = True
        options = job.body.get("stream_options")
        counted = job._replace(
            body=job.body | {"stream_options": (options if isinstance(options, dict) else {}) | {"include_usage": True}}
        )
        call = call_for(exchange, counted, encoded(counted.body), readable=True)
        call = call._replace(headers=[pair for pair in call.headers if pair[0] != "content-encoding"])
        async with pipeline.upstream.relay(call) as reply:
            if reply.status == 200:
                accepted.learn_counted(job, counts=True)
            if reply.status not in REFUSALS or accepted.surely_counts(job):
                return await _send(exchange, run, reply, served)
        served.hides_usage = False
    async with pipeline.upstream.relay(call_for(exchange, job, body, readable=True)) as reply:
        if reply.status == 200 and not job.wants_usage:
            accepted.learn_counted(job, counts=False)
        return await _send(exchange, run, reply, served)


async def _send(exchange: Exchange, run: Run, reply: Relay, served: ServedStream) -> bool:
    """Send an upstream's reply on, without its ending if it is a stream; see `_relay`."""
    run.answered(reply.upstream, reply.model)
    kept = exchange.copy.take if exchange.copy is not None else None
    reply, is_stream = await readable(run.job.route.upstream, reply)
    if not is_stream:
        await send_on(exchange, reply, copy=exchange.copy)
        return False
    headers = [pair for pair in reply.headers if pair[0].lower() != b"content-length"]
    if run.job.route.expose.headers:
        headers.append((b"x-hedgerow-audit-id", run.job.id.encode()))
        headers += answered_by(run.job)
    await exchange.start(reply.status, headers)
    async for data in reply.chunks:
        if kept is not None:
            kept(data)
        if ready := served.take(data):
            await exchange.write(ready)
    if ready := served.take(b"\n\n"):  # the blank line after the last event may be missing
        await exchange.write(ready)
    return not served.failed


async def _end(exchange: Exchange, services: Services, run: Run, served: ServedStream, completion: Json) -> None:
    """Write the audit row, send the closing sentence and what was held back."""
    if not run.result.drawn.choices:
        run.arrived(completion)  # the deadline came before the answer
        run.price(services.steps[run.job.route.name].prices)
    result = run.result
    sentence = (result.text or "").removeprefix(result.draft or "") if result.rewording else ""
    extra = {"hedgerow": extra_field(result)} if run.job.route.expose.field else {}
    total = None
    if run.job.route.expose.usage == "sum" and run.job.wants_usage:
        total = DIALECTS[run.job.path].spent_in_all(result.total_usage)
    await finish(services, exchange, result, http_status=exchange.status, response_id=served.response_id)
    for piece in served.closing(natural_pieces(sentence), extra, total):
        await exchange.write(piece)
    await exchange.end()
