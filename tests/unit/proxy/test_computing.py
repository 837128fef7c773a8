"""Work beside the event loop: few threads at a time, whatever is asked for."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hedgerow.proxy.computing import AT_ONCE, compute


class Counted:
    """How many threads are in here at a time, and at most were; none leaves before so many came as may."""

    def __init__(self) -> None:
        self.lock, self.inside, self.most = threading.Lock(), 0, 0
        self.full = threading.Event()

    def work(self, number: int) -> int:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            if self.inside == AT_ONCE:
                self.full.set()
        self.full.wait(timeout=60)
        with self.lock:
            self.inside -= 1
        return number**2


def test_few_threads_compute_at_a_time_and_everybody_gets_a_result() -> None:
    """Beside a loop that goes on; also in a second loop of the same process, as tests and programs have them."""

    async def everything() -> tuple[list[int], int]:
        counted = Counted()
        return await asyncio.gather(*(compute(counted.work, i) for i in range(5 * AT_ONCE))), counted.most

    for _ in range(2):
        results, most = asyncio.run(everything())
        assert results == [i**2 for i in range(5 * AT_ONCE)]
        assert most == AT_ONCE


def test_what_the_work_raises_arrives() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(compute(divmod, 1, 0))
