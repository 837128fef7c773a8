"""Writes that are gathered: who gets what, also where one fails or leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import anyio

from hedgerow.proxy.audit.store import Gathering
from hedgerow.proxy.errors import StoreError
from tests.support.tables import cases


class Writing:
    """Squares numbers, a moment later; keeps what each write was given."""

    def __init__(self) -> None:
        self.writes: list[list[int]] = []
        self.gathering = Gathering(self.write, most=5)

    async def write(self, items: Sequence[int]) -> list[int]:
        self.writes.append(list(items))
        await asyncio.sleep(0.001)
        if 13 in items:
            raise StoreError("disk full")
        return [item**2 for item in items]


def test_everyone_gets_the_results_of_their_own() -> None:
    async def work() -> None:
        writing = Writing()
        results = await asyncio.gather(*(writing.gathering.add([i, i + 1]) for i in range(4)))
        assert results == [[i**2, (i + 1) ** 2] for i in range(4)]
        assert writing.writes == [[0, 1], [1, 2, 2, 3], [3, 4]]  # the first need not wait for others
        assert await writing.gathering.add(range(7)) == [i**2 for i in range(7)]  # more than the most, but alone

    anyio.run(work)


def test_a_failure_reaches_all_who_shared_the_write_and_nobody_else() -> None:
    async def work() -> None:
        writing = Writing()
        first, *failed = await asyncio.gather(
            *(writing.gathering.add(items) for items in ([1, 2, 3], [13], [4, 5, 6])), return_exceptions=True
        )
        assert first == [1, 4, 9]
        assert all(isinstance(outcome, StoreError) for outcome in failed)
        assert await writing.gathering.add([3]) == [9]

    anyio.run(work)


@cases("leaves", [0, 1, 2])
def test_one_who_leaves_takes_nobody_along(leaves: int) -> None:
    """Whether it is the one who writes for all, one whose write is under way, or one who waits for the next."""

    async def work() -> None:
        writing = Writing()
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(writing.gathering.add([i] * 3)) for i in range(3)]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            calls[leaves].cancel()
        stayed = [call.result() for i, call in enumerate(calls) if i != leaves]
        assert stayed == [[i**2] * 3 for i in range(3) if i != leaves]

    anyio.run(work)
