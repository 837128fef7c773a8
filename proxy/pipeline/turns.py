"""Turns on the event loop, so that many answers that arrive at once do not block it.

The answers of many requests may arrive in one iteration of the loop. Each needs milliseconds of work, and the loop would do all of it
before anything else: two hundred answers blocked it for half a second. With turns, one request (at most two) works in each iteration,
and other callbacks run in between.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Turns on one event loop, in the order of the calls to `wait`."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def wait(self) -> None:
        """Return when it is the caller's turn: in order, one turn per iteration of the loop; at once if no turn is taken."""
        loop = asyncio.get_running_loop()
        if self._taken:
            turn = loop.create_future()
            self._waiting.append(turn)
            await turn
        else:
            self._taken = True
            loop.call_soon(self._next)

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # it is done if the waiting task was cancelled
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._taken = False
