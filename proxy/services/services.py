"""From settings to working services: upstreams, store, tracing, and, by `assembly.py`, the pipeline of each route.

What a configuration does not use is never imported: no FAISS and no lexicon where every route is off, no LiteLLM without a route to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from hedgerow.proxy.config import EmbeddedUpstream, HttpUpstream, LiteLLMUpstream, Route, Settings
from hedgerow.proxy.config import Upstream as UpstreamSettings
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.protocols import Upstream

if TYPE_CHECKING:
    from hedgerow.proxy.audit.store import AuditStore
    from hedgerow.proxy.monitoring.tracing import Tracing
    from hedgerow.proxy.pipeline.steps import RoutePipeline


class RefCount:
    """How many requests and pieces of background work use a set of services; services that were replaced are closed when none does."""

    def __init__(self) -> None:
        self.count = 0
        self._idle = asyncio.Event()
        self._idle.set()

    def __enter__(self) -> None:
        self.count += 1
        self._idle.clear()

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if self.count == 0:
            self._idle.set()

    async def wait(self) -> None:
        """Return when nothing uses the services."""
        await self._idle.wait()


@dataclass(frozen=True, slots=True)
class Services:
    """What requests are answered with; made here, passed as an argument, replaced as a whole (`hedgerow.proxy.services.reload`).

    Attributes:
        upstreams: by name.
        steps: the pipeline of each route that may calibrate, by route name.
        tracing: None where it is off.
        audit: None only where the configuration is tried out without a store (`hedgerow ask`).
        background: work that outlives its request; ended at the close. Shadow work is begun by `start`.
        in_use: who uses these services just now.
    """

    settings: Settings
    upstreams: Mapping[str, Upstream]
    steps: Mapping[str, RoutePipeline]
    audit: AuditStore | None
    metrics: Metrics
    background: asyncio.TaskGroup
    tracing: Tracing | None
    in_use: RefCount

    def start(self, work: Coroutine[None, None, None], name: str) -> None:
        """Begin work that outlives its request and uses these services."""
        self.in_use.__enter__()
        self.background.create_task(work, name=name).add_done_callback(self.in_use.__exit__)


@asynccontextmanager
async def open_services(settings: Settings, *, with_audit: bool = True) -> AsyncIterator[Services]:
    """Build all services and close them at the end.

    Raises:
        ConfigError: something that the configuration names is not there.
        StoreError: the audit store cannot be opened.
    """
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        audit = None
        if with_audit:
            from hedgerow.proxy.audit.store import open_store

            audit = await open_store(settings.audit, metrics.audit_rows_lost.inc)
            metrics.follow(audit)
            stack.push_async_callback(audit.aclose)
        tracing = await open_tracing(settings, stack)
        upstreams = {}
        for name in named_upstreams(settings):
            upstreams[name] = await open_upstream(name, settings.upstreams[name], tracing)
            stack.push_async_callback(upstreams[name].aclose)
        from hedgerow.proxy.services.factories import route_pipelines

        steps = route_pipelines(settings, upstreams)
        for one in steps.values():
            stack.push_async_callback(one.sharing.aclose)
        background = await stack.enter_async_context(asyncio.TaskGroup())
        yield Services(settings, upstreams, steps, audit, metrics, background, tracing, RefCount())


async def open_tracing(settings: Settings, stack: AsyncExitStack) -> Tracing | None:
    """Tracing as configured, closed with the stack; None where it is off.

    Raises:
        ConfigError: it is on, and its libraries are not installed.
    """
    if settings.tracing.endpoint is None:
        return None
    from hedgerow.proxy.monitoring.tracing import exporting

    tracing = exporting(settings.tracing)
    stack.push_async_callback(anyio.to_thread.run_sync, tracing.close)
    return tracing


def named_upstreams(settings: Settings) -> list[str]:
    """The upstreams that any route may call."""
    return [name for name in settings.upstreams if any(name in _named(route) for route in settings.routes)]


def _named(route: Route) -> set[str | None]:
    """The upstreams that a route may call."""
    stronger = route.policy.escalate_to if route.policy else None
    grader = route.grading.upstream if route.grading.share else None
    readers = {one.upstream for one in route.linguistic.models}
    return {route.upstream, route.rewriting.upstream, route.judge.upstream, grader, stronger, *readers}


def check_services(settings: Settings) -> None:
    """Check that what the configuration names is there, without opening a connection or loading a model.

    Raises:
        ConfigError: a model file, a library, a lexicon or a map is missing or unusable.
    """
    from hedgerow.proxy.services.factories import route_pipelines

    upstreams = {name: _Unopened() for name in settings.upstreams}
    for upstream in settings.upstreams.values():
        if isinstance(upstream, EmbeddedUpstream):
            from hedgerow.proxy.upstreams.llama import model_file

            model_file(upstream.model_path)
    route_pipelines(settings, cast(Mapping[str, Upstream], upstreams))


class _Unopened:
    """Stands for an upstream while a configuration is checked; it is never called."""


async def open_upstream(name: str, settings: UpstreamSettings, tracing: Tracing | None = None) -> Upstream:
    """One upstream, ready for calls; with tracing, each call is a span."""
    upstream = await _open_upstream(name, settings)
    return upstream if tracing is None else tracing.around(name, upstream)


async def _open_upstream(name: str, settings: UpstreamSettings) -> Upstream:
    match settings:
        case HttpUpstream():
            from hedgerow.proxy.upstreams.http import HttpModel

            return HttpModel(name, settings)
        case LiteLLMUpstream():
            from hedgerow.proxy.upstreams.litellm import LiteLLMModel

            litellm = LiteLLMModel(name, settings)
            await litellm.open()
            return litellm
        case EmbeddedUpstream():
            from hedgerow.proxy.upstreams.embedded import EmbeddedModel

            embedded = EmbeddedModel(name, settings)
            await embedded.open()
            return embedded
