"""Supervised background work: a failure is logged, counted and shown by `/health`, and never ends the process or other work."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass
from typing import Any

import structlog

from ..types import Json

log = structlog.get_logger(__name__)

PAUSE_S = 1.0
"""Seconds before a failed loop is restarted; doubled by each failure in a row."""
LONGEST_PAUSE_S = 60.0
"""Longest pause in seconds. A loop that ran longer than this before failing starts again with the short pause."""
CLOSE_S = 5.0
"""Seconds that a process waits for shadow and grading jobs at shutdown; the grace periods in `deploy/` are longer."""
RECENT_S = 600.0
"""Seconds for which a failure counts as recent."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Number of failures of a kind of work, time of the last (seconds since 1970), and its exception type."""

    job: str
    count: int
    last_at: float
    error: str


class Background:
    """The loops and jobs of one process, on one event loop.

    Attributes:
        failures: failures since the start, by kind of work.
    """

    def __init__(self, count: Callable[[str], None]) -> None:
        self.failures: dict[str, Failures] = {}
        self._count = count
        self._loops: set[asyncio.Task[None]] = set()
        self._jobs: dict[asyncio.Task[None], str] = {}

    @property
    def degraded(self) -> bool:
        """Whether any work failed recently."""
        return any(time.time() - failure.last_at < RECENT_S for failure in self.failures.values())

    def report(self) -> list[Json]:
        """Failures since the start, as a JSON object."""
        return [asdict(failure) for failure in self.failures.values()]

    def keep_running(self, job: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run a loop until `aclose`; after an exception it is restarted with a growing pause."""
        task = asyncio.create_task(self._restarted(job, work), name=job)  # noqa: TID251 # kept, awaited, supervised
        self._loops.add(task)
        task.add_done_callback(self._loops.discard)

    def start(self, job: str, work: Coroutine[Any, Any, None], name: str | None = None) -> asyncio.Task[None]:
        """Run a job once; it outlives the request that started it. The task itself never fails."""
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
        """Stop the loops, wait `CLOSE_S` for jobs, then cancel and count those still running."""
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
