"""The services of a process: upstreams, the pipeline of each route, the audit store, metrics and tracing.

Libraries that a configuration does not use are never imported: no FAISS and no lexicon if every route is off, no LiteLLM without a route
to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import anyio.to_thread

from ..audit.engine import unusable_address
from ..audit.spool import unwritable
from ..config import EmbeddedUpstream, GroupUpstream, HttpUpstream, Route, Settings
from ..config import Upstream as UpstreamSettings
from ..config.kinds import load_object
from ..config.sections import check_known
from ..errors import ConfigError
from ..monitoring.metrics import Metrics
from ..protocols import Upstream
from ..spending.budgets import Budgets
from ..supervision import Supervisor
from ..upstreams.circuits import CallCounter, WatchedUpstream
from ..upstreams.converting import Converting
from ..upstreams.group import Group
from ..upstreams.readiness import Readiness
from .keyring import KeyRing
from .limits import Limits

if TYPE_CHECKING:
    from ..audit.store import AuditStore
    from ..config.upstreams import Single
    from ..monitoring.tracing import Tracing
    from ..pipeline.steps import RoutePipeline
    from .active_map import ActiveMaps

# The upstreams of a process: opened, shared by successive services, combined into groups.


@dataclass(slots=True)
class OpenUpstream:
    """An upstream, and the number of sets of services that use it."""

    name: str
    settings: Single
    upstream: WatchedUpstream
    users: int = 0


class UpstreamPool:
    """Opens upstreams. One with unchanged settings is shared by the old and the new services."""

    def __init__(self, tracing: Tracing | None = None, counter: CallCounter | None = None) -> None:
        self._tracing, self._counter = tracing, counter
        self._open: dict[str, OpenUpstream] = {}

    async def acquire(self, settings: Settings) -> list[OpenUpstream]:
        """The upstreams that routes may call, opened if necessary.

        Raises:
            ConfigError: one cannot be opened; those that were are released.
        """
        acquired: list[OpenUpstream] = []
        single = singles(settings.upstreams)
        try:
            for name in named_upstreams(settings):
                acquired.append(await self._acquire(name, single[name]))
        except BaseException:  # also on cancellation: nothing stays open
            await self.release(acquired)
            raise
        return acquired

    async def _acquire(self, name: str, settings: Single) -> OpenUpstream:
        entry = self._open.get(name)
        if entry is None or entry.settings != settings:
            upstream = await _open(name, settings, self._tracing, self._counter)
            entry = self._open[name] = OpenUpstream(name, settings, upstream)
        entry.users += 1
        return entry

    async def release(self, acquired: Sequence[OpenUpstream]) -> None:
        """Release upstreams; unused ones are closed."""
        for entry in acquired:
            entry.users -= 1
            if entry.users == 0:
                if self._open.get(entry.name) is entry:
                    del self._open[entry.name]
                await entry.upstream.aclose()


def named_upstreams(settings: Settings) -> list[str]:
    """The upstreams that any route may call, by itself or as members of a group."""
    named = {name for route in settings.routes for name in _named(route)}
    called = {member for name in named if name is not None for member in settings.members(name)}
    return [name for name in settings.upstreams if name in called]


def singles(upstreams: Mapping[str, UpstreamSettings]) -> dict[str, Single]:
    """The upstreams that are not groups."""
    return {name: each for name, each in upstreams.items() if not isinstance(each, GroupUpstream)}


def by_name(settings: Settings, acquired: Sequence[OpenUpstream], *, firsts_alone: bool = False) -> dict[str, Upstream]:
    """Upstreams by name, with the groups that can be made of them; with `firsts_alone` a group is its first member."""
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


async def open_upstream(name: str, upstreams: Mapping[str, UpstreamSettings]) -> Upstream:
    """Open one of these upstreams for a command; of a group, its first member.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    settings = upstreams[name]
    if not isinstance(settings, GroupUpstream):
        return await _open(name, settings)
    first, single = settings.of_first(), singles(upstreams)
    return Group(name, first, {each: await _open(each, single[each]) for each in first.names})


async def _open(
    name: str, settings: Single, tracing: Tracing | None = None, counter: CallCounter | None = None
) -> WatchedUpstream:
    """Open one upstream that is not a group, with metrics; with tracing each call is a span.

    Raises:
        ConfigError: a library or a model file is missing or unusable.
    """
    check_known(f"upstreams.{name}", settings)
    upstream: Upstream = await load_object(settings.opens)(name, settings)
    if settings.converts:
        upstream = Converting(name, upstream, settings.converts)
    return WatchedUpstream(
        name, upstream if tracing is None else tracing.around(name, upstream, settings), settings, counter
    )


CHECK_EDITORS = "hedgerow.proxy.services.factories:check_editors"
REHEARSAL = "hedgerow.proxy.pipeline.rehearsal:rehearse"
ROUTE_PIPELINES = "hedgerow.proxy.services.factories:route_pipelines"
STORED_MAPS = "hedgerow.proxy.services.active_map:stored_maps"


class RefCount:
    """Number of requests and background jobs that use a set of services; replaced services are closed when it is zero."""

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
        """Wait until nothing uses the services."""
        await self._idle.wait()


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Upstreams and pipelines.

    Attributes:
        upstreams: by name.
        steps: the pipeline of each route that may calibrate, by route name.
    """

    settings: Settings
    upstreams: Mapping[str, Upstream]
    steps: Mapping[str, RoutePipeline]


@dataclass(frozen=True, slots=True)
class Services(Pipelines):
    """The services of a serving process; passed as an argument, replaced as a whole by `ConfigReloader`.

    Attributes:
        supervisor: work that outlives its request.
        tracing: None if it is off.
        in_use: counts the requests and jobs that use these services now.
        keys, limits: the named keys and their limits, the same objects for the life of the process.
        budgets: the budgets of calibrated requests, the same object for the life of the process.
        editors: what is known of the models that edit answers; the same object too.
    """

    audit: AuditStore
    metrics: Metrics
    supervisor: Supervisor
    tracing: Tracing | None
    in_use: RefCount
    keys: KeyRing
    limits: Limits
    budgets: Budgets
    editors: Readiness

    def start(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        """Start work that outlives its request and uses these services. `name` is the kind of work, a dash, and an id."""
        self.in_use.__enter__()
        task = self.supervisor.start(name.partition("-")[0], work, name)
        task.add_done_callback(self.in_use.__exit__)
        return task


@asynccontextmanager
async def open_pipelines(settings: Settings) -> AsyncIterator[Pipelines]:
    """Upstreams and pipelines without store and background work, for the command line. Of a group only the first member is
    called.

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
        pipelines: Mapping[str, RoutePipeline] = load_object(ROUTE_PIPELINES)(settings, upstreams, maps, Readiness())
        return pipelines


async def open_tracing(settings: Settings, stack: AsyncExitStack) -> Tracing | None:
    """Tracing as configured, closed with the stack; None if it is off.

    Raises:
        ConfigError: it is on, and its libraries are not installed.
    """
    if settings.tracing.endpoint is None:
        return None
    tracing: Tracing = load_object("hedgerow.proxy.monitoring.tracing:exporting")(settings.tracing)
    stack.push_async_callback(anyio.to_thread.run_sync, tracing.close)
    return tracing


def check_services(settings: Settings) -> list[str]:
    """Check that everything the configuration names exists, without opening a connection or loading a model.

    Returns:
        Problems that do not prevent a start: maps that are missing or damaged in the folder.

    Raises:
        ConfigError: a model file, a library or a lexicon is missing or unusable, or the store's address or HTTPS_PROXY is.
    """
    if (problem := unusable_address(settings.audit) or unwritable(settings.audit.spool)) is not None:
        raise ConfigError(problem)
    check_libraries(settings)
    for upstream in settings.upstreams.values():
        if isinstance(upstream, EmbeddedUpstream):
            load_object("hedgerow.proxy.upstreams.llama:model_file")(upstream.model_path)
        elif isinstance(upstream, HttpUpstream):
            load_object("hedgerow.proxy.upstreams.connections:proxy_of")(urlsplit(upstream.base_url))
    if not any(route.calibrates for route in settings.routes):
        return []
    maps: ActiveMaps = load_object(STORED_MAPS)(settings, None)
    load_object(ROUTE_PIPELINES)(
        settings, {name: cast(Upstream, None) for name in settings.upstreams}, maps, Readiness()
    )
    return [f"routes: {name}: map: {problem}" for name, problem in maps.problems(settings).items()]


def check_libraries(settings: Settings) -> None:
    """Check that the libraries are installed which sections outside the routes need.

    Raises:
        ConfigError: one is not; it says which, and how it is installed.
    """
    needed = (
        (settings.audit.url.startswith("postgresql"), "audit.url", "psycopg", "postgres"),
        (settings.access.oidc is not None, "access.oidc", "authlib", "oidc"),
        (settings.access.counting.store == "redis", "access.counting.store", "redis", "redis"),
        (settings.tracing.endpoint is not None, "tracing.endpoint", "opentelemetry.exporter", "tracing"),
    )
    for is_used, key, library, extra in needed:
        if is_used and not _is_installed(library):
            raise ConfigError(
                f"{key} needs the library {library}, which is not installed: pip install 'hedgerow[{extra}]'"
            )


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # the package that it would be part of
        return False
