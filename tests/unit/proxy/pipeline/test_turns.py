"""Requests take turns on the event loop: none waits for ever, and what else the loop has to do comes between."""

from __future__ import annotations

import asyncio
from collections import Counter

from hedgerow.proxy.pipeline.turns import Turns

MANY = 50


class Rounds:
    """Counts the rounds of the loop."""

    def __init__(self) -> None:
        self.number = 0
        self._next()

    def _next(self) -> None:
        self.number += 1
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def stop(self) -> None:
        self._handle.cancel()


async def took(turns: Turns, rounds: Rounds, at: list[tuple[int, int]], who: int) -> None:
    """Take a turn, and note when."""
    await turns.wait()
    at.append((rounds.number, who))


def test_what_is_ready_at_once_is_done_over_many_rounds_and_in_order() -> None:
    async def all_at_once() -> list[tuple[int, int]]:
        turns, rounds, at = Turns(), Rounds(), list[tuple[int, int]]()
        await asyncio.gather(*(took(turns, rounds, at, who) for who in range(MANY)))
        rounds.stop()
        return at

    at = asyncio.run(all_at_once())
    assert [who for _, who in at] == list(range(MANY))
    assert max(Counter(number for number, _ in at).values()) <= 2


def test_a_turn_that_comes_later_waits_for_nobody() -> None:
    async def one_later() -> tuple[int, tuple[int, int]]:
        turns, rounds, at = Turns(), Rounds(), list[tuple[int, int]]()
        await asyncio.gather(*(took(turns, rounds, at, who) for who in range(3)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asked = rounds.number
        await took(turns, rounds, at, 3)
        rounds.stop()
        return asked, at[-1]

    asked, last = asyncio.run(one_later())
    assert last == (asked, 3)


def test_whoever_leaves_while_waiting_holds_up_nobody() -> None:
    async def half_leave() -> list[tuple[int, int]]:
        turns, rounds, at = Turns(), Rounds(), list[tuple[int, int]]()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(took(turns, rounds, at, who)) for who in range(MANY)]
            await asyncio.sleep(0)  # all of them have asked
            for task in tasks[1::2]:
                task.cancel()
        rounds.stop()
        return at

    assert [who for _, who in asyncio.run(half_leave())] == list(range(0, MANY, 2))
