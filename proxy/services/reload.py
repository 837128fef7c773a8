"""Replace a process's services while requests are being served.

A changed configuration, a switched mode and an activated map are all handled the same way: new services are built beside the old ones and
replace them when complete; requests and shadow work that started with the old ones finish with them. If new services cannot be built, the
old ones stay, and `problem` has the reason. Operators' changes at run time are in the store, so every process sees them within `POLL_S`.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import structlog

from ..audit import operators
from ..audit.operators import RouteState
from ..audit.store import AuditStore
from ..config import Promises, Route, Settings, load
from ..config.kinds import load_object
from ..errors import ConfigError, StoreError
from ..supervision import UNCHECKED
from ..types import Json
from .services import (
    CHECK_EDITORS,
    REHEARSAL,
    ROUTE_PIPELINES,
    STORED_MAPS,
    OpenUpstream,
    RefCount,
    Services,
    UpstreamPool,
    by_name,
    check_libraries,
)

if TYPE_CHECKING:
    from ...calibration import ActiveMap
    from ..monitoring.drift import RouteHealth
    from ..monitoring.promises import RoutePromises
    from ..monitoring.watching import Watched
    from ..pipeline.steps import RoutePipeline
    from ..protocols import Upstream
    from ..types import Standing
    from .active_map import ActiveMaps

log = structlog.get_logger(__name__)

# Routes in effect: the configuration with operators' changes applied, and its description for admin API and command
# line.


def effective(settings: Settings, states: Mapping[str, RouteState]) -> Settings:
    """The configuration with operators' changes applied: a route's mode and map."""
    routes = []
    for route in settings.routes:
        state = states.get(route.name)
        changed: Json = {"mode": state.mode, "map": state.map_id} if state else {}
        changed = {key: value for key, value in changed.items() if value is not None}
        if "mode" in changed:
            changed["split"] = None  # a mode set by an operator applies to every request
        routes.append(route.model_copy(update=changed))
    return settings.model_copy(update={"routes": tuple(routes)})


def describe(
    configured: Settings,
    running: Settings,
    states: Mapping[str, RouteState],
    health: Mapping[str, RouteHealth],
    maps: Mapping[str, Mapping[str, ActiveMap]],
    promises: Mapping[str, RoutePromises] | None = None,
) -> list[Json]:
    """Every route: mode and map in effect and as configured, the active maps by model ("": all other models), who set them, and the health of
    the map.
    """
    routes = []
    in_use = {route.name: route for route in running.routes}
    for route in configured.routes:
        now = in_use.get(route.name, route)
        state = states.get(route.name)
        report = health.get(route.name)
        routes.append(
            {
                "name": route.name,
                "mode": now.mode,
                "configured_mode": route.mode,
                "split": now.split.model_dump() if now.split else None,
                "map": now.map,
                "configured_map": route.map,
                "active_maps": {model: active.version for model, active in maps.get(route.name, {}).items()},
                "set_by": state.actor if state else None,
                "set_at": state.updated_at if state else None,
                "health": report.to_dict() if report else None,
                "promises": promised.to_dict() if (promised := (promises or {}).get(route.name)) else None,
            }
        )
    return routes


POLL_S = 1.0
"""Seconds between two checks of the configuration file and of operators' changes."""
_FIXED = (
    "server.host",
    "server.port",
    "audit.url",
    "audit.synchronous",
    "access.counting",
    "tracing",
    "log.format",
    "log.level",
)
"""Configuration keys that take effect only after a restart."""


@dataclass(frozen=True, slots=True)
class _Generation:
    """Services and the upstreams that they hold."""

    services: Services
    upstreams: Sequence[OpenUpstream]


class ConfigReloader:
    """The services of a serving process over time. For one event loop.

    Attributes:
        configured: the settings of the file, without operators' changes.
        states: operators' changes, by route.
        problem: the reason why the newest configuration is not in use; None if it is.
        health: the drift watcher's last report, by route.
        promises: the state of each route's promises, from the watcher's last report.
        wake: set to read the configuration again at once (SIGHUP).
    """

    def __init__(self, base: Services, config: Path | None, preload: Sequence[str] = ()) -> None:
        self.configured = base.settings
        self._started_with = base.settings
        self.states: Mapping[str, RouteState] = {}
        self.problem: str | None = None
        self.health: Mapping[str, RouteHealth] = {}
        self.promises: Mapping[str, RoutePromises] = {}
        self.wake = asyncio.Event()
        self._base = base
        self._config = config
        self._preload = preload
        self._maps: ActiveMaps | None = None
        self._stamp = _stamp(config)
        self._record = operators.Record()
        self._is_set_back = self._is_warm = False
        self._pool = UpstreamPool(base.tracing, base.metrics.upstreams)
        self._generation = _Generation(base, ())
        self._lock = asyncio.Lock()

    @property
    def services(self) -> Services:
        """The services for new requests."""
        return self._generation.services

    @property
    def audit(self) -> AuditStore:
        """The audit store, the same for the life of the process."""
        return self._base.audit

    async def start(self) -> None:
        """Build the first services.

        Raises:
            ConfigError: something that the configuration names is not there.
            StoreError: the audit store cannot be read.
        """
        self.states = await anyio.to_thread.run_sync(operators.states, self.audit.engine)
        self._record = await anyio.to_thread.run_sync(operators.read_record, self.audit.engine)
        await anyio.to_thread.run_sync(self._base.keys.refresh, self.audit.engine)
        self._generation = await self._build(effective(self.configured, self.states))
        self._tell_promises()

    async def close(self) -> None:
        """Close the current services; earlier ones are closed by background work."""
        await self._close(self._generation)

    async def follow(self) -> None:
        """Check the store and the configuration file after `POLL_S` seconds, or at once when woken."""
        with anyio.move_on_after(POLL_S):
            await self.wake.wait()
        asked = self.wake.is_set()
        self.wake.clear()
        await self.look(reload=asked)

    async def look(self, *, reload: bool = False) -> None:
        """Apply changes of the store and of the file (if `reload` is set, read the file again in any case)."""
        async with self._lock:
            await self._look_at_store()
            await self._look_at_file(reload)

    def keep(self, report: Watched) -> None:
        """Store the drift watcher's last report and update the metrics."""
        self.health, self.promises = report.health, report.promises
        for health in report.health.values():
            self.services.metrics.set_health(health)
        for promises in report.promises.values():
            self.services.metrics.set_promises(promises)
        for arms in report.arms.values():
            self.services.metrics.set_arms(arms)

    def active_maps(self) -> dict[str, dict[str, ActiveMap]]:
        """The active maps of every route that may calibrate, by model; see `ActiveMaps.of_route`."""
        if self._maps is None:
            return {}
        return {route.name: self._maps.of_route(route) for route in self.services.settings.routes if route.calibrates}

    def standing(self) -> dict[str, Standing]:
        """By route with promises, the certificate in use, or the reason why there is none."""
        if self._maps is None:
            return {}
        standings = {route.name: self._maps.standing_of(route) for route in self.services.settings.routes}
        return {name: standing for name, standing in standings.items() if standing is not None}

    def _tell_promises(self) -> None:
        """Tell which routes have no valid certificate for what they promise."""
        routes = {route.name: route for route in self.services.settings.routes}
        for name, standing in self.standing().items():
            without = (routes[name].promises or Promises()).without
            why = f"no valid certificate ({standing.reason}); answers are served as `without: {without}` says"
            self._base.supervisor.tell(f"{UNCHECKED}promises:{name}", why if standing.certificate is None else None)

    async def check_map(self, route: Route, version: str | None) -> None:
        """Check that a route can use a map before it is set.

        Raises:
            ConfigError: there is no such map, it cannot be read, or it was fitted for another signal.
        """

        def check() -> None:
            load_object(STORED_MAPS)(self.services.settings, self.audit.engine).check(route, version)

        await anyio.to_thread.run_sync(check)

    @property
    def map_problems(self) -> dict[str, str]:
        """By route, the reason why its map cannot be used; its answers are uncalibrated in the meantime."""
        return self._maps.problems(self.services.settings) if self._maps is not None else {}

    async def _look_at_store(self) -> None:
        try:
            gone = await anyio.to_thread.run_sync(operators.note_if_gone, self.audit.engine, self._record)
            if gone is not None:  # noted once, whatever fails from here on
                self._record, self._is_set_back = replace(self._record, last=operators.Record().last), True
                log.error("changes_gone", reason=gone)
                self._base.supervisor.problems.setdefault("store-set-back", gone)
            states = await anyio.to_thread.run_sync(operators.states, self.audit.engine)
            record = await anyio.to_thread.run_sync(operators.read_record, self.audit.engine)
            keys = partial(self._base.keys.refresh, self.audit.engine, anew=self._is_set_back)
            await anyio.to_thread.run_sync(keys)
            self._is_set_back = False
            if self._maps is not None:
                await anyio.to_thread.run_sync(self._maps.refresh, self.services.settings)
        except StoreError as error:
            self._base.supervisor.checked("changes", f"switched modes, maps and revoked keys are not seen: {error}")
            return
        self._base.supervisor.checked("changes", None)
        self._tell_promises()
        known, self._record = self._record, record
        if record.erasures != known.erasures:
            await asyncio.gather(*(route.sharing.forget() for route in self.services.steps.values()))
        if states == self.states:
            return
        self.states = states  # also if they cannot be used: they are tried again when they change
        if await self._take_over(self.configured, "route_states_rejected"):
            log.info("routes_changed", routes=modes(self.services.settings))

    async def _look_at_file(self, asked: bool) -> None:
        stamp = _stamp(self._config)
        if self._config is None or (stamp == self._stamp and not asked):
            return
        self._stamp = stamp
        try:
            settings = await anyio.to_thread.run_sync(load, self._config)
            check_libraries(settings)
        except ConfigError as error:
            if isinstance(error.__cause__, OSError):  # what cannot be read may be as it was when it can be again
                self._stamp = None
            if asked or str(error) != self.problem:
                self._reject("config_rejected", str(error))
            return
        if await self._take_over(settings, "config_rejected"):
            needs_restart = [key for key in _FIXED if _value(settings, key) != _value(self._started_with, key)]
            self.configured = settings
            log.info("config_reloaded", needs_restart=needs_restart, routes=modes(self.services.settings))

    async def _take_over(self, settings: Settings, rejected: str) -> bool:
        """Replace the services; the old ones are closed when the last request that uses them has ended. If new ones cannot be built, for
        whatever reason, the old ones stay.
        """
        try:
            generation = await self._build(effective(settings, self.states))
        except ConfigError as error:
            self._reject(rejected, str(error))
            return False
        except Exception as error:  # noqa: BLE001 # a defect of ours must not end the following
            self._base.supervisor.failed("reload", error)
            self._reject(rejected, f"building the services failed with {type(error).__name__}; the log says where")
            return False
        self._generation, old, self.problem = generation, self._generation, None
        self._base.supervisor.forget_checks()
        self._tell_promises()
        self._base.supervisor.start("retire", self._retire(old))
        return True

    def _reject(self, event: str, reason: str) -> None:
        self.problem = reason
        log.error(event, reason=reason)

    async def _retire(self, old: _Generation) -> None:
        """Close services when nothing uses them, or when the process ends."""
        try:
            await old.services.in_use.wait()
        finally:
            await self._close(old)

    async def _close(self, generation: _Generation) -> None:
        for steps in generation.services.steps.values():
            await steps.sharing.aclose()
        await self._pool.release(generation.upstreams)

    async def _build(self, settings: Settings) -> _Generation:
        """New services; an upstream whose settings did not change is shared with the old ones."""
        held = await self._pool.acquire(settings)
        try:
            upstreams = by_name(settings, held)
            maps = await anyio.to_thread.run_sync(self._open_maps, settings)
            steps = await anyio.to_thread.run_sync(self._pipelines, settings, upstreams, maps)
        except BaseException:  # also on cancellation: nothing stays open
            await self._pool.release(held)
            raise
        self._maps = maps
        if maps is not None:
            self._base.supervisor.start("rehearsal", self._rehearsed(settings, steps))
            self._base.supervisor.start("editors", load_object(CHECK_EDITORS)(settings, steps))
        return _Generation(
            replace(self._base, settings=settings, upstreams=upstreams, steps=steps, in_use=RefCount()), held
        )

    def _pipelines(
        self, settings: Settings, upstreams: Mapping[str, Upstream], maps: ActiveMaps | None
    ) -> Mapping[str, RoutePipeline]:
        """Make the pipelines and import the modules of `preload`; if no route calibrates, nothing is imported."""
        if maps is None:
            return {}
        for module in self._preload:
            import_module(module)
        pipelines: Mapping[str, RoutePipeline] = load_object(ROUTE_PIPELINES)(
            settings, upstreams, maps, self._base.editors, self._base.supervisor.checked
        )
        return pipelines

    async def _rehearsed(self, settings: Settings, steps: Mapping[str, RoutePipeline]) -> None:
        """Warm the pipelines up while the proxy is already serving. What the first one loads is not looked through again for garbage, as in app.py."""
        await anyio.to_thread.run_sync(load_object(REHEARSAL), settings.routes, steps)
        if not self._is_warm:  # later ones load little, and what they replace shall go
            gc.collect()
            gc.freeze()
            self._is_warm = True

    def _open_maps(self, settings: Settings) -> ActiveMaps | None:
        """The active maps; None if no route may calibrate: then the mathematics is never imported."""
        if not any(route.calibrates for route in settings.routes):
            return None
        maps: ActiveMaps = load_object(STORED_MAPS)(settings, self.audit.engine)
        maps.log_unusable()
        return maps


def modes(settings: Settings) -> dict[str, str]:
    """The mode of every route."""
    return {route.name: route.mode for route in settings.routes}


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """A value that changes when a file changes; None without a file."""
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)


def _value(settings: Settings, key: str) -> object:
    """The setting with a dotted key."""
    value: object = settings
    for part in key.split("."):
        value = getattr(value, part)
    return value
