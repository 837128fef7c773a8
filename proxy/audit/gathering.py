"""Work that arrives while other work is being written, gathered and written together with the next: one commit for many callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from hedgerow.proxy.errors import StoreError

T = TypeVar("T")
R = TypeVar("R")


class Gathering(Generic[T, R]):
    """One write at a time; all who come meanwhile share the next one. Where nothing is being written, nothing waits.

    Parameters
    ----------
    write: takes items and gives one result an item, in their order; written twice they must be as written once.
    most: items that one write takes from several callers.
    """

    def __init__(self, write: Callable[[Sequence[T]], Awaitable[list[R]]], most: int) -> None:
        self._write = write
        self._most = most
        self._writing = asyncio.Lock()
        self._waiting: list[tuple[Sequence[T], asyncio.Future[list[R]]]] = []

    async def add(self, items: Sequence[T]) -> list[R]:
        """The results for the items, when they are written.

        Raises:
            StoreError: they could not be written, nor could what was written with them.
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
        finally:  # whoever wrote for all was cancelled: the others write for themselves
            self._waiting = [call for call in calls if not call[1].done()] + self._waiting

    def _next(self) -> list[tuple[Sequence[T], asyncio.Future[list[R]]]]:
        """The calls that wait, first come first served, up to the most items of one write; one call at least."""
        items = count = 0
        for asked, _ in self._waiting:
            if count and items + len(asked) > self._most:
                break
            items, count = items + len(asked), count + 1
        calls, self._waiting = self._waiting[:count], self._waiting[count:]
        return calls
