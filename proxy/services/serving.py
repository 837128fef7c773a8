"""Opening what a serving process needs, and the loops that run beside its requests."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio.to_thread
import structlog

from hedgerow.proxy.audit.engine import shown_address
from hedgerow.proxy.audit.spool import unwritable
from hedgerow.proxy.audit.store import open_store, purge_regularly
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import ConfigError, StoreError
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.services.background import Background
from hedgerow.proxy.services.reload import POLL_S, ConfigReloader
from hedgerow.proxy.services.services import RefCount, Services, open_tracing

log = structlog.get_logger(__name__)

_BUSY_SHARE = 20.0
"""Examining routes for drift takes at most one part in so many of the time."""


@asynccontextmanager
async def open_reloader(
    settings: Settings, config: Path | None = None, preload: Sequence[str] = ()
) -> AsyncIterator[ConfigReloader]:
    """Everything that a serving process needs, with what runs beside its requests; closed at the end. The modules named by `preload` are
    imported as soon as a route calibrates.

    Raises:
        ConfigError: something that the configuration names is not there, or its spool cannot be written.
        StoreError: the audit store cannot be opened.
    """
    if (problem := await anyio.to_thread.run_sync(unwritable, settings.audit.spool)) is not None:
        raise ConfigError(problem)
    metrics = Metrics()
    async with AsyncExitStack() as stack:
        try:
            audit = await open_store(settings.audit, metrics.audit_rows_lost.inc)
        except StoreError as error:
            raise StoreError(store_failure(settings, error)) from error
        metrics.follow(audit)
        stack.push_async_callback(audit.aclose)
        tracing = await open_tracing(settings, stack)
        background = Background(lambda job: metrics.background_failures.labels(job).inc())
        reloader = ConfigReloader(
            Services(settings, {}, {}, audit, metrics, background, tracing, RefCount()), config, preload
        )
        await reloader.start()
        stack.push_async_callback(reloader.close)
        stack.push_async_callback(background.aclose)
        if threading.current_thread() is threading.main_thread():  # only there signals can be handled
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reloader.wake.set)
        background.keep_running("reload", reloader.follow)
        background.keep_running("drift", lambda: _watch_drift(reloader))
        background.keep_running("purge", lambda: purge_regularly(audit, lambda: reloader.services.settings))
        yield reloader


def store_failure(settings: Settings, error: StoreError) -> str:
    """Why the store cannot be opened and what to change, in one sentence without a password."""
    driver = getattr(error.__cause__, "orig", None)  # what the database said itself
    reason = (
        str(driver).strip().splitlines()[0] if driver is not None and str(driver).strip() else str(error).rstrip(".")
    )
    address = shown_address(settings.audit)
    return f"audit.url is {address}: {reason}; start that database, make it writable, or change audit.url"


async def _watch_drift(reloader: ConfigReloader) -> None:
    """Examine the maps every `drift.every_s` seconds. Where no route calibrates, the mathematics is never imported."""
    while True:
        if not reloader.services.steps:
            await asyncio.sleep(POLL_S)
            continue
        started = time.perf_counter()
        try:
            await reloader.examine()
        except StoreError as error:
            log.error("drift_not_watched", error=str(error))
        took = time.perf_counter() - started
        await asyncio.sleep(max(reloader.services.settings.drift.every_s, _BUSY_SHARE * took))
