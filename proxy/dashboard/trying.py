"""Trying a route in the browser: the same pipeline as any request's, told step by step as lines of JSON.

Two seams make it watchable, and cost other requests nothing: a `Flow` that tells when a step ends, and an upstream that passes on what
is being written where the model can say so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import anyio.to_thread
import orjson
from starlette.responses import Response

from hedgerow.proxy.dashboard.render import fragment
from hedgerow.proxy.dashboard.request_view import RequestView, of_flow
from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.gateway import finish as outcome
from hedgerow.proxy.gateway.exchange import ClientGone, Exchange, Receive, Scope, Send
from hedgerow.proxy.pipeline.job import Flow, Job
from hedgerow.proxy.pipeline.result import outlook
from hedgerow.proxy.pipeline.short import calibrate
from hedgerow.proxy.protocols import Call, RawCall, Relay, Upstream
from hedgerow.proxy.services.services import Services
from hedgerow.proxy.types import Json
from hedgerow.proxy.upstreams.answers import sample_of

PAUSE_S = 0.04
"""Between two lines; what happens meanwhile is told in one."""
SECTIONS = ("samples", "confidence", "hedges", "wording", "times")
"""Services of the page, each with a template of its name; one is sent again when it looks different."""
NO_STORE = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]


class Watched(Flow):
    """A flow that tells when a step ends."""

    def __init__(self, job: Job, changed: Callable[[], None]) -> None:
        super().__init__(job)
        self._changed = changed

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """See `Flow`."""
        try:
            with super().step(name):
                yield
        finally:
            self._changed()


@dataclass(slots=True)
class Overheard:
    """An upstream whose answers can be read while they are written. `texts` holds them in the order they were asked for."""

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

    async def models(self, headers: Mapping[str, str]) -> list[Json]:
        """See `Upstream`."""
        return await self.upstream.models(headers)

    async def aclose(self) -> None:
        """Nothing: the upstream belongs to the process."""


class Trial(Response):
    """The answer to a question that was put on the page: one line of JSON whenever something new is to be seen.

    A line holds the new HTML of some sections; the last one also `end` (audit id and status) or `error` (a sentence).
    """

    def __init__(self, services: Services, job: Job) -> None:
        super().__init__()
        self._parts, self._job = services, job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the pipeline and tell of it; a visitor who leaves ends the work."""
        exchange = Exchange(scope, receive, send)
        changed = asyncio.Event()
        flow = Watched(self._job, changed.set)
        try:
            await exchange.unless_gone(self._tell(exchange, flow, changed))
        except ClientGone:
            if not exchange.told:
                flow.status, flow.reason = "cancelled", "client_gone"
                await outcome.tell(self._parts, flow, mode="on", exchange=exchange)

    async def _tell(self, exchange: Exchange, flow: Flow, changed: asyncio.Event) -> None:
        steps = self._parts.steps[self._job.route.name]
        upstream = Overheard(steps.upstream, changed.set)
        await exchange.start(200, NO_STORE)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(_caught(calibrate(self._job, replace(steps, upstream=upstream), flow)))
            work.add_done_callback(lambda _: changed.set())
            shown: dict[str, str] = {}
            async for _ in _whenever(changed, work):
                story = of_flow(flow, upstream.texts, ended=False)
                await self._show(exchange, story, shown)
        failure: ProxyError | None = work.result()
        flow.http_status = failure.status if failure else 200
        refusal = await outcome.tell(self._parts, flow, mode="on", exchange=exchange)
        failure = failure or refusal
        await self._show(exchange, of_flow(flow, upstream.texts, ended=True), shown)
        await exchange.write(_line({"error": failure.message} if failure else _end(flow)), more=False)

    async def _show(self, exchange: Exchange, story: RequestView, shown: dict[str, str]) -> None:
        """Send what looks different from what was sent before."""
        drawn = await anyio.to_thread.run_sync(_sections, story)
        new = {name: html for name, html in drawn.items() if shown.get(name) != html}
        shown |= new
        if new:
            await exchange.write(_line(new))


async def _caught(work: Awaitable[None]) -> ProxyError | None:
    """The failure as a value: a task group would wrap it."""
    try:
        await work
    except ProxyError as error:
        return error
    return None


async def _whenever(changed: asyncio.Event, work: asyncio.Task[Any]) -> AsyncIterator[None]:
    """After every change, but not more often than `PAUSE_S`, until the work is done."""
    yield
    while not work.done():
        await changed.wait()
        changed.clear()
        yield
        await asyncio.wait({work}, timeout=PAUSE_S)


def _sections(story: RequestView) -> dict[str, str]:
    return {name: fragment(f"_{name}.html", story=story) for name in SECTIONS}


def _end(flow: Flow) -> Json:
    """How it ended, with what a verdict would make of it."""
    html = fragment("_verdict.html", id=flow.job.id, outlook=outlook(flow))
    return {"verdict": html, "end": {"id": flow.job.id, "status": flow.status}}


def _line(content: Json) -> bytes:
    return orjson.dumps(content) + b"\n"
