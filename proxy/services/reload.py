"""The services in use now, and how they are replaced while requests are under way.

A changed configuration, a toggled mode and an activated map all take one way: new services are built beside the old ones and take over
when they are whole; requests and shadow work that began with the old ones end with them. Where new services cannot be built the old ones
stay, and `problem` says why. What operators set at run time lies in the store, so every process sees it within `POLL_S`.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
import structlog

from hedgerow.proxy.audit import operators
from hedgerow.proxy.audit.operators import RouteState
from hedgerow.proxy.audit.store import AuditStore, open_store, purge_regularly
from hedgerow.proxy.config import Settings, load
from hedgerow.proxy.config import Upstream as UpstreamSettings
from hedgerow.proxy.errors import ConfigError, StoreError
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.protocols import Upstream
from hedgerow.proxy.services.factories import route_pipelines
from hedgerow.proxy.services.services import RefCount, Services, named_upstreams, open_tracing, open_upstream

if TYPE_CHECKING:
    from hedgerow.proxy.monitoring.drift import RouteHealth

log = structlog.get_logger(__name__)

POLL_S = 1.0
"""Seconds between two looks at the configuration file and at what operators have set."""
_FIXED = ("server.host", "server.port", "audit.url", "audit.synchronous", "tracing", "log.format", "log.level")
"""Keys that only a restart changes."""


@dataclass(slots=True)
class _Opened:
    """An upstream, and how many generations of services use it."""

    name: str
    settings: UpstreamSettings
    upstream: Upstream
    holders: int = 0


@dataclass(frozen=True, slots=True)
class _Generation:
    """Services and the upstreams that they hold."""

    services: Services
    held: tuple[_Opened, ...]


class ConfigReloader:
    """The services of a serving process over time. For one event loop.

    Attributes:
        configured: the settings as in the file, without what operators have set.
        states: what operators have set, by route.
        problem: why the newest configuration is not in use; None where it is.
        health: what the drift watcher last found, by route.
        wake: set to take the configuration anew at once (SIGHUP).
    """

    def __init__(self, settings: Settings, base: Services, config: Path | None) -> None:
        self.configured = settings
        self.states: Mapping[str, RouteState] = {}
        self.problem: str | None = None
        self.health: Mapping[str, RouteHealth] = {}
        self.wake = asyncio.Event()
        self._base = base
        self._config = config
        self._stamp = _stamp(config)
        self._opened: dict[str, _Opened] = {}
        self._generation = _Generation(base, ())
        self._lock = asyncio.Lock()

    @property
    def services(self) -> Services:
        """What a request that comes in now is answered with."""
        return self._generation.services

    @property
    def audit(self) -> AuditStore:
        """The store; a serving process has one."""
        assert self._base.audit is not None  # noqa: S101
        return self._base.audit

    async def start(self) -> None:
        """Build the first services.

        Raises:
            ConfigError: something that the configuration names is not there.
            StoreError: the audit store cannot be read.
        """
        self.states = await self._read_states()
        self._generation = await self._build(effective(self.configured, self.states))

    async def close(self) -> None:
        """Close what the last services hold."""
        await self._end(self._generation)

    async def follow(self) -> None:
        """Follow the configuration file and the operators, for ever."""
        while True:
            try:
                async with asyncio.timeout(POLL_S):
                    await self.wake.wait()
            except TimeoutError:
                pass
            asked = self.wake.is_set()
            self.wake.clear()
            await self.look(reload=asked)

    async def look(self, *, reload: bool = False) -> None:
        """Take over what has changed in the store and in the file (or, where `reload` is set, take the file anew)."""
        async with self._lock:
            await self._look_at_store()
            await self._look_at_file(reload)

    async def _read_states(self) -> dict[str, RouteState]:
        return await anyio.to_thread.run_sync(operators.states, self.audit.engine)

    async def _look_at_store(self) -> None:
        try:
            states = await self._read_states()
        except StoreError as error:
            log.error("route_states_unreadable", error=str(error))
            return
        if states == self.states:
            return
        self.states = states  # also where they cannot be used: they are tried again when they change
        try:
            await self._take_over(self.configured)
        except ConfigError as error:
            self.problem = str(error)
            log.error("route_states_rejected", reason=self.problem)
        else:
            self.problem = None
            log.info("routes_changed", routes=_modes(self.services.settings))

    async def _look_at_file(self, asked: bool) -> None:
        stamp = _stamp(self._config)
        if self._config is None or (stamp == self._stamp and not asked):
            return
        self._stamp = stamp
        try:
            settings = await anyio.to_thread.run_sync(load, self._config)
            await self._take_over(settings)
        except ConfigError as error:
            self.problem = str(error)
            log.error("config_rejected", reason=self.problem)
            return
        needs_restart = [key for key in _FIXED if _value(settings, key) != _value(self.configured, key)]
        self.configured, self.problem = settings, None
        log.info("config_reloaded", needs_restart=needs_restart, routes=_modes(self.services.settings))

    async def _take_over(self, settings: Settings) -> None:
        """New services from now on; the old ones go when the last request that uses them has ended.

        Raises:
            ConfigError: the new services cannot be built.
        """
        old = self._generation
        self._generation = await self._build(effective(settings, self.states))
        self._base.background.create_task(self._retire(old), name="retire-services")

    async def _retire(self, old: _Generation) -> None:
        await old.services.in_use.wait()
        await self._end(old)

    async def _end(self, generation: _Generation) -> None:
        for steps in generation.services.steps.values():
            await steps.sharing.aclose()
        await self._release(generation.held)

    async def _build(self, settings: Settings) -> _Generation:
        """New services; an upstream whose settings did not change is shared with the old ones."""
        held: list[_Opened] = []
        try:
            for name in named_upstreams(settings):
                held.append(await self._hold(name, settings.upstreams[name]))
            upstreams = {opened.name: opened.upstream for opened in held}
            steps = await anyio.to_thread.run_sync(route_pipelines, settings, upstreams)
        except BaseException:  # whatever it was, also a cancellation: nothing stays open
            await self._release(held)
            raise
        services = replace(self._base, settings=settings, upstreams=upstreams, steps=steps, in_use=RefCount())
        return _Generation(services, tuple(held))

    async def _hold(self, name: str, settings: UpstreamSettings) -> _Opened:
        opened = self._opened.get(name)
        if opened is None or opened.settings != settings:
            opened = self._opened[name] = _Opened(
                name, settings, await open_upstream(name, settings, self._base.tracing)
            )
        opened.holders += 1
        return opened

    async def _release(self, held: list[_Opened] | tuple[_Opened, ...]) -> None:
        for opened in held:
            opened.holders -= 1
            if opened.holders == 0:
                if self._opened.get(opened.name) is opened:
                    del self._opened[opened.name]
                await opened.upstream.aclose()


@asynccontextmanager
async def open_reloader(settings: Settings, config: Path | None = None) -> AsyncIterator[ConfigReloader]:
    """Everything that a serving process needs, with what runs beside its requests; closed at the end.

    Raises:
        ConfigError: something that the configuration names is not there.
        StoreError: the audit store cannot be opened.
    """
    metrics, background = Metrics(), asyncio.TaskGroup()
    async with AsyncExitStack() as stack:
        audit = await open_store(settings.audit, metrics.audit_rows_lost.inc)
        metrics.follow(audit)
        stack.push_async_callback(audit.aclose)
        tracing = await open_tracing(settings, stack)
        reloader = ConfigReloader(
            settings, Services(settings, {}, {}, audit, metrics, background, tracing, RefCount()), config
        )
        stack.push_async_callback(reloader.close)
        await stack.enter_async_context(background)
        await reloader.start()
        if threading.current_thread() is threading.main_thread():  # elsewhere signals cannot be had
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloader.wake.set)
        loops = [
            background.create_task(reloader.follow(), name="follow"),
            background.create_task(_watch_drift(reloader), name="drift"),
            background.create_task(purge_regularly(audit, lambda: reloader.services.settings), name="purge"),
        ]
        stack.callback(lambda: [loop.cancel() for loop in loops])
        yield reloader


async def _watch_drift(reloader: ConfigReloader) -> None:
    """Watch from the first calibrating route on; where there is none, the mathematics is never imported."""
    while not reloader.services.steps:  # noqa: ASYNC110  services are replaced as a whole and tell nobody
        await asyncio.sleep(POLL_S)
    drift = await anyio.to_thread.run_sync(import_module, "hedgerow.proxy.monitoring.drift")
    await drift.watch(reloader)


def effective(settings: Settings, states: Mapping[str, RouteState]) -> Settings:
    """The configuration with what operators have set on top: a route's mode, and the map that it uses."""
    routes = []
    for route in settings.routes:
        state = states.get(route.name)
        changed = {"mode": state.mode, "map": state.map_id} if state else {}
        routes.append(route.model_copy(update={key: value for key, value in changed.items() if value is not None}))
    return settings.model_copy(update={"routes": tuple(routes)})


def _modes(settings: Settings) -> dict[str, str]:
    return {route.name: route.mode for route in settings.routes}


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file does; None where there is none."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)


def _value(settings: Settings, key: str) -> object:
    """The setting that a dotted key names."""
    found: object = settings
    for part in key.split("."):
        found = getattr(found, part)
    return found
