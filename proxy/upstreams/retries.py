"""Repeats calls that an upstream temporarily refused: after 429, 5xx and failed connections, with jitter."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from ..errors import ProxyError, UpstreamError, UpstreamRejected
from ..protocols import Call
from ..types import Json
from .answers import usage_of

log = structlog.get_logger(__name__)

MAX_RETRY_AFTER_S = 30.0
"""Longest `Retry-After` in seconds that is waited for; with a longer one the answer is relayed to the client."""
WITH_DRAFT_S = 2.0
"""The same for one more answer, while the client waits for the one that is there."""
FIRST_WAIT_S, LONGEST_WAIT_S, JITTER_S = 0.2, 5.0, 0.3


async def with_retries(
    name: str, ask: Callable[[Call], Awaitable[Json]], call: Call, retries: int, slots: asyncio.Semaphore
) -> Json:
    """Make a call in one of the slots, repeated up to `retries` times if `patient`.

    A call that waits for its next attempt frees its slot.
    """
    for done in range(retries if call.patient else 0):
        try:
            async with slots:
                return await _counted(ask, call)
        except UpstreamError as error:
            wait_s = _wait_s(error, done, WITH_DRAFT_S if call.has_draft() else MAX_RETRY_AFTER_S)
            if wait_s is None:
                raise
            why = {"code": error.code, "status": error.status, "cause": error.cause}
            log.warning("upstream_retry", id=call.id, upstream=name, **why, wait_s=wait_s)
        if call.on_retry is not None:
            call.on_retry()
        await asyncio.sleep(wait_s)
    try:
        async with slots:
            return await _counted(ask, call)
    except UpstreamError as error:
        error.is_final = call.patient and retries > 0
        raise


async def _counted(ask: Callable[[Call], Awaitable[Json]], call: Call) -> Json:
    """Make a call once. A call that was sent and tells no tokens, however it ended, is not free: whoever made it is told."""
    is_known = False
    try:
        answer = await ask(call)
        is_known = usage_of(answer).total > 0
    except ProxyError as error:
        is_known = error.is_free
        raise
    finally:
        if not is_known and call.on_lost is not None:
            call.on_lost()
    return answer


def _wait_s(error: UpstreamError, done: int, most_s: float) -> float | None:
    """Seconds until the next attempt: as the upstream says up to `most_s`, else increasing; None if another attempt makes no sense."""
    wait_s: float = round(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**done) + random.uniform(0, JITTER_S), 3)
    if not isinstance(error, UpstreamRejected):
        return wait_s if error.code == "upstream_unreachable" else None
    if error.status != 429 and error.status < 500:
        return None
    try:
        told_s = float(error.retry_after) if error.retry_after is not None else wait_s
    except ValueError:  # an HTTP date: rare, and the clocks may differ
        return wait_s
    return told_s if 0 <= told_s <= most_s else None
