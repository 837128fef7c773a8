"""The drift watcher of a serving process."""

from __future__ import annotations

import asyncio
import time

import anyio.to_thread

from ..audit import leases
from ..config.lazy import load_object
from .reload import POLL_S, ConfigReloader

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
