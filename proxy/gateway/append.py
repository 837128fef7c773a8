"""`stream: append`: the upstream's own tokens at once, then one sentence that says how sure the answer is.

While the client reads, the other answers are drawn. The end of the stream (finish reason, usage, `[DONE]`) is held back until the
confidence is known and its audit row is durable. Whatever fails on our side leaves the upstream's stream whole, and marked.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field

import orjson

from hedgerow.proxy.errors import ProxyError, UpstreamError
from hedgerow.proxy.gateway import finish as outcome
from hedgerow.proxy.gateway.buffered import wants_usage
from hedgerow.proxy.gateway.exchange import ClientGone, Exchange
from hedgerow.proxy.gateway.pass_through import fail
from hedgerow.proxy.pipeline import result as record
from hedgerow.proxy.pipeline.job import Flow, Job
from hedgerow.proxy.pipeline.short import calibrate
from hedgerow.proxy.protocols import RawCall
from hedgerow.proxy.rewriting import natural_pieces
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse

_EVENT_END = re.compile(rb"(?<=\n\n)|(?<=\r\n\r\n)")
_NOT_FORWARDED = ("accept-encoding",)
"""Events cannot be read in a compressed stream."""


@dataclass(slots=True)
class Served:
    """The upstream's stream, read on its way to the client.

    Attributes:
        first: the first chunk; what all chunks of an answer share is taken from it.
        finish: the chunk with the finish reason, held back.
        usage: what the upstream counted, if it told.
        done: whether the stream came to its end.
        failed: whether the upstream told of an error; the event went on to the client as it was.
    """

    first: Json | None = None
    finish: Json | None = None
    usage: Json | None = None
    done: bool = False
    failed: bool = False
    _message: Json = field(default_factory=lambda: {"role": "assistant", "content": ""})
    _rest: bytes = b""

    def take(self, data: bytes) -> bytes:
        """Read what came; returns what may go on to the client now.

        Raises:
            UpstreamError: an event is no JSON object.
        """
        *events, self._rest = _EVENT_END.split(self._rest + data)
        return b"".join(map(self._event, events))

    def _event(self, raw: bytes) -> bytes:
        data = b"\n".join(line[5:].strip() for line in raw.splitlines() if line.startswith(b"data:"))
        if not data:
            return raw  # a comment that keeps the connection open
        if data == b"[DONE]":
            self.done = True
            return b""
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise UpstreamError(
                "the upstream's stream holds an event that is no JSON", code="upstream_broken"
            ) from error
        if not isinstance(chunk, dict) or "error" in chunk:
            self.failed = True
            return raw
        return self._chunk(chunk, raw)

    def _chunk(self, chunk: Json, raw: bytes) -> bytes:
        self.first = self.first or chunk
        self.usage = chunk.get("usage") or self.usage
        choices = chunk.get("choices")
        if not choices:
            return b"" if chunk.get("usage") else raw
        choice = choices[0]
        delta = choice.get("delta") or {}
        self._read(delta)
        if choice.get("finish_reason") is None:
            return raw
        self.finish = chunk | {"choices": [choice | {"delta": {}}]}
        if not delta:
            return b""
        return sse.event(
            {k: v for k, v in chunk.items() if k != "usage"} | {"choices": [choice | {"finish_reason": None}]}
        )

    def _read(self, delta: Json) -> None:
        for name in ("content", "refusal"):
            if isinstance(delta.get(name), str) and delta[name]:
                self._message[name] = self._message.get(name, "") + delta[name]
        if delta.get("tool_calls"):
            self._message["tool_calls"] = [*self._message.get("tool_calls", ()), *delta["tool_calls"]]

    def completion(self) -> Json:
        """The answer as one completion object, once the stream has ended.

        Raises:
            UpstreamError: it broke off.
        """
        if self.first is None or not (self.finish or self.done):
            raise UpstreamError("the upstream broke off its answer", code="upstream_broken")
        reason = self.finish["choices"][0]["finish_reason"] if self.finish else "stop"
        choice = {"index": 0, "message": self._message, "finish_reason": reason, "logprobs": None}
        whole = self.first | {"object": "chat.completion", "choices": [choice]}
        whole.pop("usage", None)
        return whole | {"usage": self.usage} if self.usage else whole

    def ending(self) -> Json:
        """The chunk with the finish reason; `usage` counts one call of several, so it stays out."""
        assert self.first is not None  # told of a stream that has come to its end  # noqa: S101
        last = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
        chunk = self.finish or self.first | {"choices": [last]}
        return {key: value for key, value in chunk.items() if key != "usage"}


async def answer(exchange: Exchange, services: Services, job: Job) -> None:
    """Serve the stream and close it with the confidence."""
    flow, served = Flow(job), Served()
    try:
        await exchange.unless_gone(_answer(exchange, services, flow, served))
    except ClientGone:
        if exchange.told:
            return
        flow.status, flow.reason = "cancelled", "client_gone"
        if served.failed or exchange.missing == 0:  # it had all there was, and closed before we noticed the end
            _passed_on(exchange, flow, served)
        await _tell(exchange, services, flow, served)


async def _answer(exchange: Exchange, services: Services, flow: Flow, served: Served) -> None:
    """Relay and sample at once; then the ending. A relay that fails ends the sampling."""
    whole: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        work = group.create_task(_work(services, flow, whole))
        try:
            if await _relay(exchange, services, flow.job, served):
                whole.set_result(served.completion())
                while not (await asyncio.wait({work}, timeout=services.settings.server.keep_alive_s))[0]:
                    await exchange.write(sse.KEEP_ALIVE)
                await _end(exchange, services, flow, served)
            else:
                await _stop(work)
                _passed_on(exchange, flow, served)
                await _tell(exchange, services, flow, served)
                await exchange.end()
        except ProxyError as error:
            await _stop(work)
            flow.status, flow.reason = "failed", error.code
            await _tell(exchange, services, flow, served, error.status)
            await fail(exchange, error)


def _passed_on(exchange: Exchange, flow: Flow, served: Served) -> None:
    """What became of an answer that holds nothing to hedge: an error, or no stream."""
    passed = exchange.status == 200 and not served.failed
    flow.status, flow.reason = ("passed", "not_a_stream") if passed else ("failed", "upstream_rejected")


async def _work(services: Services, flow: Flow, whole: asyncio.Future[Json]) -> None:
    """The pipeline beside the stream. The client has its answer whatever happens here, so nothing is worse than degraded."""
    try:
        await calibrate(flow.job, services.steps[flow.job.route.name], flow, whole)
    except ProxyError:
        flow.status = "degraded"


async def _stop(work: asyncio.Task[None]) -> None:
    work.cancel()
    await asyncio.wait({work})


async def _relay(exchange: Exchange, services: Services, job: Job, served: Served) -> bool:
    """Send on what comes, but for the ending; False where the upstream answered with something else than a stream of chunks.

    Raises:
        ProxyError: the upstream could not be reached or broke off.
    """
    body = orjson.dumps(job.body | ({"model": job.route.model} if job.route.model else {}))
    pairs = [pair for pair in exchange.header_pairs if pair[0] not in _NOT_FORWARDED]
    call = RawCall(exchange.method, exchange.target, [*pairs, ("accept-encoding", "identity")], body)
    async with services.upstreams[job.route.upstream].relay(call) as reply:
        kinds = [value for name, value in reply.headers if name.lower() == b"content-type"]
        streamed = reply.status == 200 and any(kind.startswith(b"text/event-stream") for kind in kinds)
        headers = [pair for pair in reply.headers if not streamed or pair[0].lower() != b"content-length"]
        if streamed and job.route.expose.headers:
            headers.append((b"x-hedgerow-audit-id", job.id.encode()))
        await exchange.start(reply.status, headers)
        async for data in reply.chunks:
            if ready := served.take(data) if streamed else data:
                await exchange.write(ready)
        if streamed and (ready := served.take(b"\n\n")):  # the last event may lack its blank line
            await exchange.write(ready)
    return streamed and not served.failed


async def _end(exchange: Exchange, services: Services, flow: Flow, served: Served) -> None:
    """The audit row, the closing sentence, and what was held back."""
    await _tell(exchange, services, flow, served)
    whole = served.completion()
    said = flow.rewording.text.removeprefix(flow.draft) if flow.rewording else ""
    for piece in natural_pieces(said):
        await exchange.write(sse.content(whole, piece))
    if flow.job.route.expose.field:
        await exchange.write(sse.event(served.ending() | {"hedgerow": record.field(flow)}))
    else:
        await exchange.write(sse.event(served.ending()))
    if wants_usage(flow.job.body):
        await exchange.write(sse.usage(whole, record.usage_object(flow)))
    await exchange.write(sse.DONE, more=False)


async def _tell(exchange: Exchange, services: Services, flow: Flow, served: Served, status: int | None = None) -> None:
    flow.http_status = exchange.status or status
    name = (served.first or {}).get("id")
    await outcome.tell(
        services, flow, mode="on", exchange=exchange, response_id=name[:128] if isinstance(name, str) else None
    )
