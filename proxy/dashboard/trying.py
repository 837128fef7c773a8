"""Try a route in the browser: the normal pipeline, shown step by step as JSON lines.

Two hooks make this possible and cost other requests nothing: `Run` calls back when a step ends, and the embedded model passes on text while it
is being written.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.to_thread
import orjson
from starlette.responses import Response

from ..errors import ProxyError, UpstreamRejected
from ..gateway.exchange import ClientGone, Exchange, Receive, Scope, Send
from ..gateway.finish import finish
from ..outcomes import Reason, Status
from ..pipeline.job import Job
from ..pipeline.result import Result, Run
from ..pipeline.run import calibrate
from ..protocols import Call, RawCall, Relay, Upstream
from ..services.services import Services
from ..types import Json
from ..upstreams.answers import sample_of
from ..upstreams.group import one_answer
from .render import fragment
from .request_view import RequestView, of_result

PAUSE_S = 0.04
"""Seconds between two lines; changes in between are shown together."""
SECTIONS = ("claims", "samples", "confidence", "hedges", "wording", "times")
"""Sections of the page, each with its template; a section is sent again when it changes."""
NO_STORE = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


@dataclass(slots=True)
class StreamingUpstream:
    """An upstream whose answers are shown as they come: the embedded model's while they are written, all others' once they are whole.

    Attributes:
        texts: the answers so far, in the order of the calls.
    """

    upstream: Upstream
    changed: Callable[[], None]
    texts: list[str] = field(default_factory=list)

    @property
    def honours_n(self) -> bool:
        """See `Upstream`."""
        return self.upstream.honours_n

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        first, loop = len(self.texts), asyncio.get_running_loop()
        self.texts.extend([""] * (call.body.get("n") or 1))

        def written(index: int, piece: str) -> None:
            self.texts[first + index] += piece
            loop.call_soon_threadsafe(self.changed)

        answer = await self.upstream.complete(replace(call, on_text=written))
        for index, choice in enumerate(answer["choices"][: len(self.texts) - first]):
            self.texts[first + index] = sample_of(choice).text
        self.changed()
        return answer

    def relay(self, call: RawCall) -> AbstractAsyncContextManager[Relay]:
        """See `Upstream`."""
        return self.upstream.relay(call)

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return await self.upstream.models(headers, query)

    async def aclose(self) -> None:
        """Nothing to close: the upstream belongs to the process."""


class Trial(Response):
    """The response to a question on the page: one JSON line for each visible change.

    A line holds the new HTML of some sections; the last one also `end` (audit id and status) or `error` (an error object).
    """

    def __init__(self, services: Services, job: Job) -> None:
        super().__init__()
        self._services, self._job = services, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the pipeline and stream it; if the visitor leaves, the work is cancelled."""
        exchange, changed = Exchange(scope, receive, send), asyncio.Event()
        run = Run(self._job, watch=changed.set)
        try:
            await exchange.unless_gone(self._answer(exchange, run, changed))
        except ClientGone:
            if not exchange.recorded:
                run.end(Status.CANCELLED, Reason.CLIENT_GONE)
                await finish(self._services, exchange, run.result, http_status=exchange.status)

    async def _answer(self, exchange: Exchange, run: Run, changed: asyncio.Event) -> None:
        pipeline = self._services.steps[self._job.route.name]
        upstream = StreamingUpstream(one_answer(pipeline.upstream), changed.set)
        await exchange.start(200, NO_STORE)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_caught(calibrate(run, replace(pipeline, upstream=upstream))))
            work.add_done_callback(lambda _: changed.set())
            shown: dict[str, str] = {}
            async for _ in _whenever(changed, work):
                await self._show(exchange, of_result(run.result, upstream.texts, ended=False), shown)
        failure: ProxyError | None = work.result()
        http_status = failure.status if failure else 200
        refusal = await finish(self._services, exchange, run.result, http_status=http_status)
        failure = failure or refusal
        await self._show(exchange, of_result(run.result, upstream.texts, ended=True), shown)
        await exchange.write(_line(_said(failure) if failure else _end(run.result)), more=False)

    async def _show(self, exchange: Exchange, story: RequestView, shown: dict[str, str]) -> None:
        """Send the sections that have changed."""
        drawn = await anyio.to_thread.run_sync(_sections, story)
        new = {name: html for name, html in drawn.items() if shown.get(name) != html}
        shown |= new
        if new:
            await exchange.write(_line(new))


async def _caught(work: Awaitable[None]) -> ProxyError | None:
    """Return the failure, because a task group would wrap an exception."""
    try:
        await work
    except ProxyError as error:
        return error
    return None


async def _whenever(changed: asyncio.Event, work: asyncio.Task[Any]) -> AsyncIterator[None]:
    """Yield after every change, at most once in `PAUSE_S`, until the work is done."""
    yield
    while not work.done():
        await changed.wait()
        changed.clear()
        yield
        await asyncio.wait({work}, timeout=PAUSE_S)


def _said(failure: ProxyError) -> Json:
    sentence = failure.sentence if isinstance(failure, UpstreamRejected) else failure.message
    return {"error": failure.body()["error"] | {"message": sentence}}


def _sections(story: RequestView) -> dict[str, str]:
    return {name: fragment(f"_{name}.html", story=story, judging="script") for name in SECTIONS}


def _end(result: Result) -> Json:
    """The end of the work, with the divergence of either verdict."""
    confidence = result.confidence
    outlook = (confidence.if_right, confidence.if_wrong) if confidence else None
    html = fragment("_verdict.html", id=result.job.id, outlook=outlook)
    return {"verdict": html, "end": {"id": result.job.id, "status": result.status}}


def _line(content: Json) -> bytes:
    return orjson.dumps(content) + b"\n"
