"""Equal requests share their samples: concurrent requests, and, if the route has a cache, later ones. With a cache in Redis, concurrent
requests of several processes share them too.

Equal means that an upstream cannot tell the requests apart: target with its query, body, and every header that it sees, less the few that
cannot matter to an answer (`CANNOT_MATTER`). Nothing here knows which of them identify a client. Drawing goes on as long as at least one
request waits for it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from ...types import Json
from ...upstreams.egress import UpstreamKey, leaving, of_a_sample
from ..job import Job
from ..result import Source

Arrived = Callable[[Json], None]
"""Receives each completion object on arrival, so that it is kept if a later call fails. Receivers must not change the object."""
Work = Callable[[Arrived], Awaitable[None]]
CANNOT_MATTER = frozenset(
    ["user-agent", "x-stainless-retry-count", "traceparent", "tracestate", "b3", "x-b3-traceid", "x-b3-spanid", "x-b3-parentspanid", "x-b3-sampled", "x-amzn-trace-id", "x-cloud-trace-context", "x-request-id", "x-client-request-id", "x-correlation-id"]
)  # fmt: skip
"""Headers that differ between equal requests and say nothing to a model: the program, ids of traces and of requests, the number of the attempt."""

ANY_KEY = UpstreamKey("")


class SampleCache(Protocol):
    """Keeps sets of completion objects for a while. If the store fails, that is a cache miss, never a failed request."""

    async def get(self, key: str) -> list[Json] | None:
        """The set, if it is cached and not expired."""
        ...

    async def put(self, key: str, answers: list[Json]) -> None:
        """Keep a set."""
        ...

    def turn(self, key: str) -> AbstractAsyncContextManager[list[Json] | None]:
        """Context: waits while another process draws the set and yields that set; yields None if the caller must draw it while others wait."""
        ...

    async def clear(self) -> None:
        """Forget all sets."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


@dataclass(slots=True)
class _Drawing:
    """Answers being drawn, their receivers, and the task that draws them; its result is the source of the answers."""

    task: asyncio.Task[Source]
    answers: list[Json] = field(default_factory=list)
    listeners: list[Arrived] = field(default_factory=list)


class Sharing:
    """The samples that one route is drawing now, and its cache if it has one.

    Attributes:
        hides_keys: whether the route's upstream sees its own key in place of the client's.
    """

    def __init__(self, cache: SampleCache | None = None, *, hides_keys: bool = False) -> None:
        self._cache, self.hides_keys = cache, hides_keys
        self._under_way: dict[str, _Drawing] = {}

    async def draw(self, key: str, work: Work, arrived: Arrived) -> Source:
        """Pass the answers of `work` to `arrived`: from the cache, from an equal request that is drawing them, or by running `work`.

        Raises:
            ProxyError: no answer could be drawn; all waiting requests get the same error.
        """
        if self._cache is not None and (kept := await self._cache.get(key)) is not None:
            for answer in kept:
                arrived(answer)
            return "cache"
        drawing = self._under_way.get(key)
        joined = drawing is not None
        if drawing is None:
            drawing = self._start(key, work)
        for answer in drawing.answers:
            arrived(answer)
        drawing.listeners.append(arrived)
        try:
            source = await asyncio.shield(drawing.task)
        finally:
            drawing.listeners.remove(arrived)
            if not drawing.listeners:
                await self._give_up(key, drawing)
        return "shared" if joined else source

    def _start(self, key: str, work: Work) -> _Drawing:
        drawing: _Drawing

        def spread(answer: Json) -> None:
            drawing.answers.append(answer)
            for listener in drawing.listeners:
                listener(answer)

        async def run() -> Source:
            if self._cache is None:
                await work(spread)
                return "upstream"
            async with self._cache.turn(key) as drawn_elsewhere:
                if drawn_elsewhere is None:
                    await work(spread)
                    await self._cache.put(key, drawing.answers)
                    return "upstream"
            for answer in drawn_elsewhere:
                spread(answer)
            return "shared"

        drawing = _Drawing(asyncio.ensure_future(run()))
        self._under_way[key] = drawing
        drawing.task.add_done_callback(lambda _: self._forget(key, drawing))
        return drawing

    def _forget(self, key: str, drawing: _Drawing) -> None:
        if self._under_way.get(key) is drawing:
            del self._under_way[key]

    async def _give_up(self, key: str, drawing: _Drawing) -> None:
        """Cancel work for which nobody waits; it is forgotten first, so that no request joins it."""
        self._forget(key, drawing)
        if not drawing.task.done():
            drawing.task.cancel()
            await asyncio.wait({drawing.task})

    async def forget(self) -> None:
        """Clear the cache after answers were erased from the audit: the sets that hold them are not known."""
        if self._cache is not None:
            await self._cache.clear()

    async def aclose(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            await self._cache.aclose()


def key_of(job: Job, member: str = "", *, hides_keys: bool = False) -> str:
    """The key of a job's sample set, in hex.

    Args:
        job: the request.
        member: the group member that must draw the set.
        hides_keys: whether the upstream sees its own key in place of the client's; then clients share if the route shares between keys.
    """
    route, sampling = job.route, job.route.sampling
    between_keys = sampling.cache is not None and sampling.cache.share_between_keys
    sent = leaving(of_a_sample(job.headers), ANY_KEY if between_keys and hides_keys else None)
    who = "" if between_keys or job.key is None else job.key.name
    asked = {name: value for name, value in job.body.items() if name not in ("stream", "stream_options")}
    parts = (
        (route.name, route.signal, sampling.model_dump_json(exclude={"cache"}), member, who, job.idempotency_key),
        (job.path, job.target, job.model, asked),
        sorted(pair for pair in sent if pair[0] not in CANNOT_MATTER),
    )
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()
