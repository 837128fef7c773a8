"""Group commit: items that arrive during a write are written together with the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from ..errors import StoreError

T = TypeVar("T")
R = TypeVar("R")


class Gathering(Generic[T, R]):
    """One write at a time; callers that arrive in the meantime share the next one. If nothing is being written, nothing waits.

    Parameters
    ----------
    write: writes items and returns one result an item, in order; writing twice must have the effect of writing once.
    most: maximum number of items in one write of several callers.
    """

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[list[R]]], most: int) -> None:
        self._write = write
        self._most = most
        self._writing = asyncio.Lock()
        self._waiting: list[tuple[Sequence[T], asyncio.Future[list[R]]]] = []

    async def add(self, items: Sequence[T]) -> list[R]:
        """Write the items; returns their results.

        Raises:
            StoreError: they, and the items written with them, could not be written.
        """
        done: asyncio.Future[list[R]] = asyncio.get_running_loop().create_future()
        call = items, done
        self._waiting.append(call)
        try:
            async with self._writing:
                while not done.done():
                    await self._write_next()
        finally:
            if call in self._waiting:  # cancelled before its turn
                self._waiting.remove(call)
        return done.result()

    async def _write_next(self) -> None:
        calls = self._next()
        try:
            results = await self._write([item for items, _ in calls for item in items])
            for items, done in calls:
                done.set_result(results[: len(items)])
                results = results[len(items) :]
        except StoreError as error:
            for _, done in calls:
                done.set_exception(error)
        finally:  # the caller that wrote for all was cancelled: the others write themselves
            self._waiting = [call for call in calls if not call[1].done()] + self._waiting

    def _next(self) -> list[tuple[Sequence[T], asyncio.Future[list[R]]]]:
        """The waiting calls in order, up to the maximum number of items of one write; at least one call."""
        items = count = 0
        for asked, _ in self._waiting:
            if count and items + len(asked) > self._most:
                break
            items, count = items + len(asked), count + 1
        calls, self._waiting = self._waiting[:count], self._waiting[count:]
        return calls
