"""Open the services of a serving process and start its background loops."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import anyio.to_thread
import structlog

from ..audit import leases
from ..audit.spool import unwritable
from ..audit.store import (
    AuditStore,
    open_store,
    purge_regularly,
    sum_up_regularly,
    tell_ends_regularly,
    watch_clock,
    watch_writer,
)
from ..config import Settings
from ..config.kinds import load_object
from ..errors import ConfigError, StoreError
from ..monitoring.metrics import NOW_EVERY_S, Metrics
from ..spending.budgets import Budgets
from ..spending.counting import open_spending
from ..supervision import Supervisor
from ..upstreams.readiness import Readiness
from .counting import open_counters
from .keyring import KeyRing
from .limits import Limits
from .reload import POLL_S, ConfigReloader
from .services import RefCount, Services, check_libraries, open_tracing

log = structlog.get_logger(__name__)

EXAMINE = "hedgerow.proxy.monitoring.watching:examine"
REPORTED = "hedgerow.proxy.monitoring.watching:reported"
_BUSY_SHARE = 20.0
"""Examining routes takes at most 1 / `_BUSY_SHARE` of the time."""
_TURNS = 3
"""A process that has examined nothing for this many intervals loses the duty."""


async def watch(reloader: ConfigReloader) -> None:
    """Examine maps and promises, or show the report of the process that has the duty; then wait `drift.every_s` seconds. If no route
    calibrates, the mathematics is never imported.
    """
    pause = reloader.services.settings.drift.every_s
    if not reloader.services.steps:
        pause = POLL_S
    elif await _is_ours(reloader, _TURNS * pause):
        pause = await _take_turn(reloader, pause)
    else:
        await _show(reloader)
    await asyncio.sleep(pause)


async def _take_turn(reloader: ConfigReloader, pause: float) -> float:
    """Examine everything; returns the seconds until the next examination, for which this process keeps the duty."""
    await anyio.to_thread.run_sync(
        load_object, EXAMINE
    )  # the time to import the mathematics, once, is not part of the work
    started = time.perf_counter()
    await examine(reloader)
    pause = max(pause, _BUSY_SHARE * (time.perf_counter() - started))
    await _is_ours(reloader, _TURNS * pause)
    return pause


async def examine(reloader: ConfigReloader) -> None:
    """Examine every route's map for drift and its promises now, whichever process has the duty; raise new alarms and store the report.

    Raises:
        StoreError: the store cannot be used.
    """
    work = await anyio.to_thread.run_sync(load_object, EXAMINE)
    arguments = (reloader.services.settings, reloader.active_maps(), reloader.standing())
    reloader.keep(await anyio.to_thread.run_sync(work, reloader.audit.engine, *arguments))


async def _is_ours(reloader: ConfigReloader, seconds: float) -> bool:
    audit = reloader.audit
    return await anyio.to_thread.run_sync(leases.take, audit.engine, "drift", audit.writer.id, seconds)


async def _show(reloader: ConfigReloader) -> None:
    read = await anyio.to_thread.run_sync(load_object, REPORTED)
    report = await anyio.to_thread.run_sync(read, reloader.audit.engine)
    if report is not None:
        reloader.keep(report)


@asynccontextmanager
async def open_reloader(
    settings: Settings, supervisor: Supervisor, config: Path | None = None, preload: Sequence[str] = ()
) -> AsyncIterator[ConfigReloader]:
    """The services of a serving process with their background loops; closed at the end. The modules named by `preload` are imported as soon as
    a route calibrates.

    Raises:
        ConfigError: something that the configuration names is not there, or its spool cannot be written.
        StoreError: the audit store cannot be opened.
    """
    if (problem := await anyio.to_thread.run_sync(unwritable, settings.audit.spool)) is not None:
        raise ConfigError(problem)
    check_libraries(settings)
    async with AsyncExitStack() as stack:
        base = await _open_base(settings, supervisor, stack)
        reloader = ConfigReloader(base, config, preload)
        await reloader.start()
        stack.push_async_callback(reloader.close)
        stack.push_async_callback(_give_up_duties, base.audit)
        stack.push_async_callback(base.supervisor.aclose)
        if threading.current_thread() is threading.main_thread():  # only the main thread can handle signals
            loop = asyncio.get_running_loop()
            signal.signal(signal.SIGHUP, lambda *_: loop.call_soon_threadsafe(reloader.wake.set))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGHUP])
            stack.callback(signal.pthread_sigmask, signal.SIG_BLOCK, [signal.SIGHUP])
        _start_loops(base, reloader)
        yield reloader


async def _open_base(settings: Settings, supervisor: Supervisor, stack: AsyncExitStack) -> Services:
    """The services that live as long as the process, closed with the stack; without upstreams and pipelines yet.

    Raises:
        ConfigError: a library that the configuration needs is missing.
        StoreError: the audit store cannot be opened.
    """
    metrics = Metrics()
    metrics.failed = partial(supervisor.failed, "metrics")
    supervisor.count = lambda job: metrics.background_failures.labels(job).inc()
    audit = await open_store(settings.audit, metrics.audit_rows_lost.inc, supervisor)
    metrics.follow(audit)
    stack.push_async_callback(audit.aclose)
    tracing = await open_tracing(settings, stack)
    counters = open_counters(settings.access.counting, supervisor.checked)
    stack.push_async_callback(counters.aclose)
    spending = open_spending(settings.access.counting, audit)
    stack.push_async_callback(spending.aclose)
    return Services(
        settings,
        upstreams={},
        steps={},
        audit=audit,
        metrics=metrics,
        supervisor=supervisor,
        tracing=tracing,
        in_use=RefCount(),
        keys=KeyRing(),
        limits=Limits(counters, metrics),
        budgets=Budgets(spending, metrics, supervisor.checked),
        editors=Readiness(checked=supervisor.checked),
    )


def _start_loops(base: Services, reloader: ConfigReloader) -> None:
    """Start the background loops, which run until the process ends."""
    audit, metrics, supervisor = base.audit, base.metrics, base.supervisor
    if metrics.shared is not None:
        supervisor.keep_running("metrics", lambda: _set_gauges(metrics))
    supervisor.keep_running("reload", reloader.follow)
    supervisor.keep_running("drift", lambda: watch(reloader))
    supervisor.keep_running("purge", lambda: purge_regularly(audit, lambda: reloader.services.settings))
    supervisor.keep_running("clock", lambda: watch_clock(audit))
    supervisor.keep_running("stuck", lambda: watch_writer(audit))
    supervisor.keep_running("ends", lambda: tell_ends_regularly(audit))
    supervisor.keep_running("sums", lambda: sum_up_regularly(audit))


async def _set_gauges(metrics: Metrics) -> None:
    """Publish this process's requests in flight to the metrics of all workers, and wait."""
    metrics.set_gauges()
    await asyncio.sleep(NOW_EVERY_S)


async def _give_up_duties(audit: AuditStore) -> None:
    """Release the duties that this process has for all processes, so that another takes them."""
    try:
        await anyio.to_thread.run_sync(leases.give_up, audit.engine, audit.writer.id)
    except StoreError as error:
        log.warning("duties_not_given_up", error=str(error))
