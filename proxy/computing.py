"""Work that computes, in threads beside the event loop.

Threads share one interpreter lock. Where many compute, the loop waits for each of them in turn before it may go on, which every connection
notices; so few compute at a time, and the others wait in a queue that costs nothing. What waits for a disk or a socket goes to
`anyio.to_thread.run_sync` itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

T = TypeVar("T")
Args = TypeVarTuple("Args")

AT_ONCE = max(2, os.cpu_count() or 2)
"""Most threads that compute at a time: one a core; two where there is one core, so that a long answer does not hold up every short one."""
_limiter: RunVar[CapacityLimiter] = RunVar("computing")


async def compute(function: Callable[[*Args], T], *args: *Args) -> T:
    """The result of a function that computes, called in a thread when one of `AT_ONCE` is free."""
    limiter = _limiter.get(None)
    if limiter is None:
        _limiter.set(limiter := CapacityLimiter(AT_ONCE))
    return await anyio.to_thread.run_sync(function, *args, limiter=limiter)


async def aside(size: int, large: int, function: Callable[[*Args], T], *args: *Args) -> T:
    """The result of a function that works on so much; in a thread if that is `large`."""
    return function(*args) if size < large else await compute(function, *args)
