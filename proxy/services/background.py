"""Work beside the requests, supervised: a failure is logged, counted, shown by `/health`, and never ends the process or other work."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass
from typing import Any

import structlog

from hedgerow.proxy.types import Json

log = structlog.get_logger(__name__)

PAUSE_S = 1.0
"""Pause before a loop that failed is started again; doubled by each failure in a row."""
LONGEST_PAUSE_S = 60.0
"""Longest pause. A loop that ran longer than this before it failed begins with the short pause again."""
CLOSE_S = 5.0
"""Longest that a process which shuts down waits for shadow and grading jobs; the manifests' grace periods leave room for it."""
RECENT_S = 600.0
"""A failure counts as current for so many seconds."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How often a kind of work failed, when last (seconds since 1970), and with what kind of exception."""

    job: str
    count: int
    last_at: float
    error: str


class Background:
    """The loops and jobs of one process. For one event loop.

    Attributes:
        failures: what failed since the start, by kind of work.
    """

    def __init__(self, count: Callable[[str], None]) -> None:
        self.failures: dict[str, Failures] = {}
        self._count = count
        self._loops: set[asyncio.Task[None]] = set()
        self._jobs: dict[asyncio.Task[None], str] = {}

    @property
    def degraded(self) -> bool:
        """Whether any work failed lately."""
        return any(time.time() - failure.last_at < RECENT_S for failure in self.failures.values())

    def report(self) -> list[Json]:
        """What failed since the start, as JSON has it."""
        return [asdict(failure) for failure in self.failures.values()]

    def keep_running(self, job: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run a loop until the close; after an exception it is started again with a growing pause."""
        task = asyncio.create_task(self._restarted(job, work), name=job)  # noqa: TID251 # kept, awaited, supervised
        self._loops.add(task)
        task.add_done_callback(self._loops.discard)

    def start(self, job: str, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        """Run a piece of work once; it outlives the request that began it. The task itself never fails."""
        task = asyncio.create_task(self._once(job, work), name=name or job)  # noqa: TID251 # kept, awaited, supervised
        self._jobs[task] = job
        task.add_done_callback(lambda done: self._jobs.pop(done, None))
        return task

    def failed(self, job: str, error: Exception) -> None:
        """Log and count a failure."""
        before = self.failures.get(job)
        self.failures[job] = Failures(job, before.count + 1 if before else 1, time.time(), type(error).__name__)
        self._count(job)
        log.error("background_failed", job=job, failures=self.failures[job].count, exc_info=error)

    async def aclose(self) -> None:
        """End the loops, wait `CLOSE_S` for jobs, then cancel and count those that are still running."""
        await _cancel(self._loops)
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=CLOSE_S)
        for job, count in Counter(self._jobs.values()).items():
            log.warning("background_cut_off", job=job, count=count)
            for _ in range(count):
                self._count(job)
        await _cancel(self._jobs)

    async def _restarted(self, job: str, work: Callable[[], Awaitable[None]]) -> None:
        pause = PAUSE_S
        while True:
            began = time.monotonic()
            try:
                return await work()
            except Exception as error:  # noqa: BLE001 # whatever it is, the other work goes on
                self.failed(job, error)
            if time.monotonic() - began > LONGEST_PAUSE_S:
                pause = PAUSE_S
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def _once(self, job: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 # whatever it is, the other work goes on
            self.failed(job, error)


async def _cancel(tasks: Any) -> None:
    """Cancel tasks and wait until they have ended."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
