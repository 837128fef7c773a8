"""What a process answers requests with: upstreams, the pipeline of each route, the audit store, metrics and tracing.

What a configuration does not use is never imported: no FAISS and no lexicon where every route is off, no LiteLLM without a route to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from hedgerow.proxy.audit.engine import unusable_address
from hedgerow.proxy.audit.spool import unwritable
from hedgerow.proxy.config import EmbeddedUpstream, GroupUpstream, Route, Settings
from hedgerow.proxy.config import Upstream as UpstreamSettings
from hedgerow.proxy.config.lazy import load_object
from hedgerow.proxy.config.sections import check_known
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.protocols import Upstream
from hedgerow.proxy.services.background import Background
from hedgerow.proxy.services.keyring import KeyRing
from hedgerow.proxy.services.limits import Limits
from hedgerow.proxy.spending.budgets import Budgets
from hedgerow.proxy.upstreams.circuits import Counting, Watched
from hedgerow.proxy.upstreams.converting import Converting
from hedgerow.proxy.upstreams.group import Group

if TYPE_CHECKING:
    from hedgerow.proxy.audit.store import AuditStore
    from hedgerow.proxy.config.upstreams import Single
    from hedgerow.proxy.monitoring.tracing import Tracing
    from hedgerow.proxy.pipeline.steps import RoutePipeline
    from hedgerow.proxy.services.active_map import ActiveMaps

REHEARSAL = "hedgerow.proxy.pipeline.rehearsal:rehearse"
ROUTE_PIPELINES = "hedgerow.proxy.services.factories:route_pipelines"
STORED_MAPS = "hedgerow.proxy.services.active_map:stored_maps"


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
class Pipelines:
    """What answers are made with.

    Attributes:
        upstreams: by name.
        steps: the pipeline of each route that may calibrate, by route name.
    """

    settings: Settings
    upstreams: Mapping[str, Upstream]
    steps: Mapping[str, RoutePipeline]


@dataclass(frozen=True, slots=True)
class Services(Pipelines):
    """What a serving process answers requests with; passed as an argument, replaced as a whole by `ConfigReloader`.

    Attributes:
        background: work that outlives its request.
        tracing: None where it is off.
        in_use: the requests and the work that use these services now.
        keys, limits: the named keys and what they may still use, the same objects for the life of the process.
        budgets: what calibrated requests may still spend, the same for the life of the process.
    """

    audit: AuditStore
    metrics: Metrics
    background: Background
    tracing: Tracing | None
    in_use: RefCount
    keys: KeyRing
    limits: Limits
    budgets: Budgets

    def start(self, work: Coroutine[None, None, None], name: str) -> None:
        """Begin work that outlives its request and uses these services. `name` is the kind of work, a dash, and an id."""
        self.in_use.__enter__()
        task = self.background.start(name.partition("-")[0], work, name)
        task.add_done_callback(self.in_use.__exit__)


@dataclass(slots=True)
class OpenUpstream:
    """An upstream, and how many sets of services use it."""

    name: str
    settings: Single
    upstream: Watched
    users: int = 0


class UpstreamPool:
    """Opens upstreams; one whose settings did not change is shared by the old services and the new ones."""

    def __init__(self, tracing: Tracing | None = None, counting: Counting | None = None) -> None:
        self._tracing, self._counting = tracing, counting
        self._open: dict[str, OpenUpstream] = {}

    async def acquire(self, settings: Settings) -> list[OpenUpstream]:
        """The upstreams that routes may call, opened where they are not open yet.

        Raises:
            ConfigError: one cannot be opened; those that were are released.
        """
        acquired: list[OpenUpstream] = []
        single = singles(settings.upstreams)
        try:
            for name in named_upstreams(settings):
                acquired.append(await self._acquire(name, single[name]))
        except BaseException:  # also a cancellation: nothing stays open
            await self.release(acquired)
            raise
        return acquired

    async def _acquire(self, name: str, settings: Single) -> OpenUpstream:
        entry = self._open.get(name)
        if entry is None or entry.settings != settings:
            upstream = await _open(name, settings, self._tracing, self._counting)
            entry = self._open[name] = OpenUpstream(name, settings, upstream)
        entry.users += 1
        return entry

    async def release(self, acquired: Sequence[OpenUpstream]) -> None:
        """Give upstreams back; those that nobody uses any more are closed."""
        for entry in acquired:
            entry.users -= 1
            if entry.users == 0:
                if self._open.get(entry.name) is entry:
                    del self._open[entry.name]
                await entry.upstream.aclose()


@asynccontextmanager
async def open_pipelines(settings: Settings) -> AsyncIterator[Pipelines]:
    """Upstreams and pipelines without a store and without background work: for the command line and for experiments. Of a group, the first
    member is asked alone.

    Raises:
        ConfigError: something that the configuration names is not there.
    """
    pool = UpstreamPool()
    acquired = await pool.acquire(settings)
    steps: Mapping[str, RoutePipeline] = {}
    try:
        upstreams = by_name(settings, acquired, firsts_alone=True)
        steps = await anyio.to_thread.run_sync(_pipelines, settings, upstreams)
        yield Pipelines(settings, upstreams, steps)
    finally:
        for route in steps.values():
            await route.sharing.aclose()
        await pool.release(acquired)


def _pipelines(settings: Settings, upstreams: Mapping[str, Upstream]) -> Mapping[str, RoutePipeline]:
    with load_object("hedgerow.proxy.services.active_map:open_maps")(settings) as maps:
        pipelines: Mapping[str, RoutePipeline] = load_object(ROUTE_PIPELINES)(settings, upstreams, maps)
        return pipelines


async def open_tracing(settings: Settings, stack: AsyncExitStack) -> Tracing | None:
    """Tracing as configured, closed with the stack; None where it is off.

    Raises:
        ConfigError: it is on, and its libraries are not installed.
    """
    if settings.tracing.endpoint is None:
        return None
    tracing: Tracing = load_object("hedgerow.proxy.monitoring.tracing:exporting")(settings.tracing)
    stack.push_async_callback(anyio.to_thread.run_sync, tracing.close)
    return tracing


def named_upstreams(settings: Settings) -> list[str]:
    """The upstreams that any route may call, by itself or as members of a group."""
    named = {name for route in settings.routes for name in _named(route)}
    called = {member for name in named if name is not None for member in settings.members(name)}
    return [name for name in settings.upstreams if name in called]


def singles(upstreams: Mapping[str, UpstreamSettings]) -> dict[str, Single]:
    """Those that are not groups."""
    return {name: each for name, each in upstreams.items() if not isinstance(each, GroupUpstream)}


def by_name(settings: Settings, acquired: Sequence[OpenUpstream], *, firsts_alone: bool = False) -> dict[str, Upstream]:
    """Upstreams by name, with the groups that can be made of them; of these, where `firsts_alone` is set, the first member only."""
    single = {entry.name: entry.upstream for entry in acquired}
    groups = {
        name: Group(name, group.of_first() if firsts_alone else group, single)
        for name, group in settings.upstreams.items()
        if isinstance(group, GroupUpstream) and single.keys() >= set(group.names)
    }
    return {**single, **groups}


def _named(route: Route) -> set[str | None]:
    """The upstreams that a route may call."""
    stronger = route.policy.escalate_to if route.policy else None
    grader = route.grading.upstream if route.grading.share else None
    readers = {one.upstream for one in route.linguistic.models}
    return {route.upstream, route.rewriting.upstream, route.judge.upstream, grader, stronger, *readers}


def check_services(settings: Settings) -> list[str]:
    """Check that what the configuration names is there, without opening a connection or loading a model.

    Returns:
        What a proxy would start in spite of: maps that are missing or damaged in the folder.

    Raises:
        ConfigError: a model file, a library or a lexicon is missing or unusable, or the store's address is.
    """
    if (problem := unusable_address(settings.audit) or unwritable(settings.audit.spool)) is not None:
        raise ConfigError(problem)
    for upstream in settings.upstreams.values():
        if isinstance(upstream, EmbeddedUpstream):
            load_object("hedgerow.proxy.upstreams.llama:model_file")(upstream.model_path)
    if not any(route.calibrates for route in settings.routes):
        return []
    maps: ActiveMaps = load_object(STORED_MAPS)(settings, None)
    load_object(ROUTE_PIPELINES)(settings, {name: cast(Upstream, None) for name in settings.upstreams}, maps)
    return [f"routes: {name}: map: {problem}" for name, problem in maps.problems(settings).items()]


def judge_state(settings: Settings) -> str | None:
    """Who reads the claims of long answers on the routes that leave it open: "local", or "none" and what is missing; None where no route
    asks. Loads no model.
    """
    if not any(route.calibrates and route.judge.claims == "auto" for route in settings.routes):
        return None
    lacking: str | None = load_object("hedgerow.proxy.clustering.local:missing")()
    return "local" if lacking is None else f"none: {lacking}"


async def open_upstream(name: str, upstreams: Mapping[str, UpstreamSettings]) -> Upstream:
    """One upstream of these, ready for calls; of a group, the first member. For commands.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    settings = upstreams[name]
    if not isinstance(settings, GroupUpstream):
        return await _open(name, settings)
    first, single = settings.of_first(), singles(upstreams)
    return Group(name, first, {each: await _open(each, single[each]) for each in first.names})


async def _open(
    name: str, settings: Single, tracing: Tracing | None = None, counting: Counting | None = None
) -> Watched:
    """One upstream that is not a group, watched; with tracing, each call is a span.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    check_known(f"upstreams.{name}", settings)
    upstream: Upstream = await load_object(settings.opens)(name, settings)
    if settings.converts:
        upstream = Converting(name, upstream, settings.converts)
    return Watched(name, upstream if tracing is None else tracing.around(name, upstream, settings), settings, counting)
