"""Repeating a call that an upstream refused for the moment: after 429, 5xx and failed connections, with jitter."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import stamina

from hedgerow.proxy.errors import UpstreamError, UpstreamRejected
from hedgerow.proxy.types import Json

MAX_RETRY_AFTER_S = 30.0
"""A longer `Retry-After` is not waited for: the answer goes to the client as it is, with that header."""


async def with_retries(
    ask: Callable[[], Awaitable[Json]],
    retries: int,
    slots: asyncio.Semaphore,
    on_retry: Callable[[], None] | None = None,
) -> Json:
    """Ask in one of the slots, up to `retries` times more; a call that waits for its next try leaves its slot to others, and tells `on_retry`."""

    def wait(error: Exception) -> bool | float:
        seconds = _retry_wait(error)
        if seconds is not False and on_retry is not None:
            on_retry()
        return seconds

    async for attempt in stamina.retry_context(
        on=wait, attempts=retries + 1, timeout=None, wait_initial=0.2, wait_max=5.0, wait_jitter=0.3
    ):
        with attempt:
            async with slots:
                return await ask()
    raise AssertionError("unreachable: retry_context returns or raises")


def _retry_wait(error: Exception) -> bool | float:
    """Whether a call is worth repeating; seconds, where the upstream says how long to wait."""
    if isinstance(error, UpstreamRejected):
        if error.status != 429 and error.status < 500:
            return False
        if error.retry_after is None:
            return True
        try:
            wait = float(error.retry_after)
        except ValueError:  # an HTTP date: rare, and the clocks need not agree
            return True
        return wait if 0 <= wait <= MAX_RETRY_AFTER_S else False
    return isinstance(error, UpstreamError) and error.code == "upstream_unreachable"
