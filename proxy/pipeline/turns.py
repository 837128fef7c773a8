"""Requests take turns on the event loop.

The answers of many requests may arrive in one round of the loop. Each then has milliseconds of work, and the loop would do all of it before
it looked at anything else: two hundred answers held it up for half a second. Taking turns, one request works in each round (two at most), and what
else the loop has to do comes between.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Turns on one event loop, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def mine(self) -> None:
        """Return when it is the caller's turn: in order, in later rounds of the loop than those before it; at once where nobody works."""
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
            if not turn.done():  # else whoever waited was cancelled
                turn.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._taken = False
