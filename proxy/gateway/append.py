"""`stream: append`: the upstream's own tokens at once, then one sentence that says how sure the answer is.

While the client reads, the other answers are drawn. The end of the stream (finish reason, usage, `[DONE]`) is held back until the
confidence is known and its audit row is durable. Whatever fails on our side leaves the upstream's stream complete, and marked.
"""

from __future__ import annotations

import asyncio

import orjson

from hedgerow.proxy.errors import ProxyError, UpstreamError
from hedgerow.proxy.gateway.exchange import Exchange
from hedgerow.proxy.gateway.finish import finish
from hedgerow.proxy.gateway.pass_through import call_for, send_on
from hedgerow.proxy.gateway.reply import extra_field, usage
from hedgerow.proxy.outcomes import Reason, Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.run import calibrate
from hedgerow.proxy.rewriting import natural_pieces
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams import sse


class ServedStream:
    """The upstream's stream, read on its way to the client.

    Attributes:
        failed: whether the upstream sent an error; the event went on to the client as it was.
    """

    def __init__(self) -> None:
        self.failed = False
        self._reader = sse.Reader()
        self._first: Json | None = None  # what all chunks of an answer share is taken from it
        self._finish: Json | None = None  # the chunk with the finish reason, held back
        self._usage: Json | None = None
        self._usage_event = b""  # the chunk that holds nothing else, held back
        self._done = False
        self._texts: dict[str, list[str]] = {"content": [], "refusal": []}
        self._tool_calls: list[Json] = []

    @property
    def response_id(self) -> str | None:
        """The completion's own id."""
        name = (self._first or {}).get("id")
        return name[:128] if isinstance(name, str) else None

    def take(self, data: bytes) -> bytes:
        """Read what came; returns what may go on to the client now.

        Raises:
            UpstreamError: an event is not JSON.
        """
        return b"".join(map(self._event, self._reader.feed(data)))

    def _event(self, raw: bytes) -> bytes:
        data = sse.data_of(raw)
        if not data:
            return raw  # a comment that keeps the connection open
        if data == b"[DONE]":
            self._done = True
            return b""
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            message = "the upstream's stream holds an event that is not JSON"
            raise UpstreamError(message, code="upstream_broken") from error
        if not isinstance(chunk, dict) or "error" in chunk:
            self.failed = True
            return raw
        return self._chunk(chunk, raw)

    def _chunk(self, chunk: Json, raw: bytes) -> bytes:
        self._first = self._first or chunk
        self._usage = chunk.get("usage") or self._usage
        choices = chunk.get("choices")
        if not choices:
            if not chunk.get("usage"):
                return raw
            self._usage_event = raw
            return b""
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict):
            return raw  # the client's to judge
        delta = choice.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        self._read(delta)
        if choice.get("finish_reason") is None:
            return raw
        self._finish = chunk | {"choices": [choice | {"delta": {}}]}
        if not delta:
            return b""
        rest = {key: value for key, value in chunk.items() if key != "usage"}
        return sse.event(rest | {"choices": [choice | {"finish_reason": None}]})

    def _read(self, delta: Json) -> None:
        for name, pieces in self._texts.items():
            if isinstance(delta.get(name), str):
                pieces.append(delta[name])
        if isinstance(calls := delta.get("tool_calls"), list):
            self._tool_calls += calls

    def completion(self) -> Json:
        """The answer as one completion object, once the stream has ended.

        Raises:
            UpstreamError: it broke off.
        """
        if self._first is None or not (self._finish or self._done):
            raise UpstreamError("the upstream broke off its answer", code="upstream_broken")
        message: Json = {"role": "assistant"} | {name: "".join(pieces) for name, pieces in self._texts.items()}
        message |= {"refusal": message["refusal"] or None, "tool_calls": self._tool_calls}
        reason = self._finish["choices"][0]["finish_reason"] if self._finish else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        head = {key: value for key, value in self._first.items() if key != "usage"}
        answer = head | {"object": "chat.completion", "choices": [choice]}
        return answer | {"usage": self._usage} if self._usage else answer

    def ending(self, extra: Json, total: Json | None) -> bytes:
        """The chunk with the finish reason and what we add to it, and the chunk of the tokens, which is the upstream's own unless a
        `total` is to stand there.
        """
        last = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
        chunk = (self._finish or (self._first or {}) | {"choices": [last]}) | extra
        if total is None:
            return sse.event(chunk) + self._usage_event
        chunk.pop("usage", None)
        return sse.event(chunk) + sse.usage(self._first or {}, total)


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Relay and sample at once, then close the stream with the confidence. A relay that fails ends the sampling.

    Raises:
        ProxyError: the upstream could not be reached or broke off.
        ClientGone: the client left before it had all there was.
    """
    served, serving = ServedStream(), asyncio.get_running_loop().create_future()
    failure: ProxyError | None = None  # raised after the group, which would wrap it
    is_stream = False
    try:
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_calibrate(services, run, serving))
            try:
                is_stream = await _relay(exchange, services, run, body, served)
                if is_stream:
                    serving.set_result(served.completion())
                    while not (await asyncio.wait({work}, timeout=services.settings.server.keep_alive_s))[0]:
                        await exchange.write(sse.KEEP_ALIVE)
            except ProxyError as error:
                failure = error
            work.cancel()
    except asyncio.CancelledError:
        if served.failed or exchange.missing == 0:  # the client had all there was, and closed before we noticed the end
            await _passed_on(exchange, services, run, served)
        raise
    if failure is not None:
        raise failure
    if is_stream:
        await _end(exchange, services, run, served, serving.result())
    else:
        await _passed_on(exchange, services, run, served)
        await exchange.end()


async def _calibrate(services: Services, run: Run, serving: asyncio.Future[Json]) -> None:
    """The pipeline beside the stream. The client has its answer whatever happens here, so nothing is worse than degraded."""
    try:
        await calibrate(run, services.steps[run.job.route.name], serving)
    except ProxyError:
        run.end(Status.DEGRADED, run.result.reason, run.result.detail)


async def _passed_on(exchange: Exchange, services: Services, run: Run, served: ServedStream) -> None:
    """Record an answer that holds nothing to hedge: an error, or something else than a stream."""
    if exchange.status == 200 and not served.failed:
        run.end(Status.PASSED, Reason.NOT_A_STREAM)
    else:
        run.end(Status.FAILED, Reason.UPSTREAM_REJECTED)
    await finish(services, exchange, run.result, http_status=exchange.status, response_id=served.response_id)


async def _relay(exchange: Exchange, services: Services, run: Run, body: bytes, served: ServedStream) -> bool:
    """Send on what comes, but for the ending; False where the upstream answered with an error or with something else than a stream.

    Raises:
        ProxyError: the upstream could not be reached or broke off.
    """
    call = call_for(exchange, run.job, body, readable=True)
    async with services.upstreams[run.job.route.upstream].relay(call) as reply:
        kinds = [value for name, value in reply.headers if name.lower() == b"content-type"]
        if reply.status != 200 or not any(kind.startswith(b"text/event-stream") for kind in kinds):
            await send_on(exchange, reply)
            return False
        headers = [pair for pair in reply.headers if pair[0].lower() != b"content-length"]
        if run.job.route.expose.headers:
            headers.append((b"x-hedgerow-audit-id", run.job.id.encode()))
        await exchange.start(reply.status, headers)
        async for data in reply.chunks:
            if ready := served.take(data):
                await exchange.write(ready)
        if ready := served.take(b"\n\n"):  # the last event may lack its blank line
            await exchange.write(ready)
    return not served.failed


async def _end(exchange: Exchange, services: Services, run: Run, served: ServedStream, completion: Json) -> None:
    """The audit row, the closing sentence, and what was held back."""
    if not run.result.drawn.choices:
        run.arrived(completion)  # the deadline came before the answer
    result = run.result
    await finish(services, exchange, result, http_status=exchange.status, response_id=served.response_id)
    for piece in natural_pieces((result.text or "").removeprefix(result.draft or "") if result.rewording else ""):
        await exchange.write(sse.content(completion, piece))
    extra = {"hedgerow": extra_field(result)} if run.job.route.expose.field else {}
    total = usage(result, None) if run.job.wants_usage else None
    await exchange.write(served.ending(extra, total))
    await exchange.write(sse.DONE, more=False)
