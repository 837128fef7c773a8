"""One supervisor for all that a process does beside its requests: threads and loops, which live turn by turn, and jobs, which run once.

A turn that raises is logged, counted and shown by `/health`, and after a pause the next one begins: nothing ends because of a fault, and
what has ended all the same is named.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import structlog

from .types import Json

log = structlog.get_logger(__name__)

PAUSE_S = 1.0
"""Seconds from a failed turn to the next; for loops doubled by each failure in a row."""
LONGEST_PAUSE_S = 60.0
CLOSE_S = 5.0
"""Seconds that a process waits for shadow and grading jobs at shutdown; the grace periods in `deploy/` are longer."""
RECENT_S = 600.0
"""Seconds for which a job's failure counts as recent."""
MOST_JOBS = 10_000
"""Jobs from which on those that may be left out are: each holds what it works on, and an upstream that is late lets them pile up."""
SETTLED_S = 5.0
"""A check that lets pass what it cannot judge counts as made again when it has not failed for this long: some fail now and then."""
UNCHECKED = "unchecked-"
"""Beginning of the names of their problems."""
Checked = Callable[[str, str | None], None]
"""Takes the name of a check that was to be made, and why it could not be (None: it was made)."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Number of failures of a kind of work, time of the last (seconds since 1970), its exception type, and whether a turn succeeded since."""

    job: str
    count: int
    last_at: float
    error: str
    over: bool = False


class Supervisor:
    """The threads, loops and jobs of one process; loops and jobs on one event loop.

    Attributes:
        failures: failures since the start, by kind of work.
        problems: what is wrong now, a sentence by name. Who finds it sets it and takes it away.
        lines_dropped: lines that the log could not take.
        count: called with the kind of work at each failure.
    """

    def __init__(self, count: Callable[[str], None] = lambda _: None) -> None:
        self.failures: dict[str, Failures] = {}
        self.problems: dict[str, str] = {}
        self.lines_dropped = 0
        self.count = count
        self._unchecked: dict[str, float] = {}
        self._threads: list[threading.Thread] = []
        self._loops: set[asyncio.Task[None]] = set()
        self._jobs: dict[asyncio.Task[None], str] = {}

    @property
    def dead(self) -> list[str]:
        """Names of the threads and loops that have ended although nobody ended them."""
        loops = [task.get_name() for task in self._loops if task.done()]
        return loops + [thread.name for thread in list(self._threads) if not thread.is_alive()]

    @property
    def degraded(self) -> bool:
        """Whether something is wrong, or any work failed recently and has not succeeded since."""
        now = time.time()  # a clock that was set back leaves none recent for ever
        failing = any(not each.over and now - RECENT_S < each.last_at <= now for each in list(self.failures.values()))
        return failing or bool(self.problems) or bool(self.dead)

    @property
    def crowded(self) -> bool:
        """Whether no job should start that may be left out."""
        return len(self._jobs) >= MOST_JOBS

    def tell(self, name: str, problem: str | None) -> None:
        """Say what is wrong now, or with None that it no longer is; logged when it begins, changes or ends."""
        if problem == self.problems.get(name):
            return
        if problem is None:
            log.info("problem_over", problem=name, was=self.problems.pop(name))
        else:
            self.problems[name] = problem
            log.error("problem", problem=name, reason=problem)

    def checked(self, check: str, why: str | None) -> None:
        """Of a check without which requests pass all the same: that it was made (None), or why not. Until it is made again that is a problem."""
        name, now = f"{UNCHECKED}{check}", time.monotonic()
        if why is not None:
            self._unchecked[name] = now
            if name not in self.problems:
                self.tell(name, f"requests pass without {check}: {why}")
        elif name in self.problems and now >= self._unchecked[name] + SETTLED_S:
            self.tell(name, None)

    def forget_checks(self) -> None:
        """Begin anew with the checks of parts, such as routes, that may be gone."""
        for name in [name for name in self.problems if name.startswith(UNCHECKED) and ":" in name]:
            self.tell(name, None)

    def report(self) -> list[Json]:
        """Failures since the start, as a JSON object."""
        return [asdict(failure) for failure in list(self.failures.values())]

    def thread(self, job: str, turn: Callable[[], bool], at_end: Callable[[], None] = lambda: None) -> threading.Thread:
        """Start a thread that takes turns until one returns False. `at_end` runs however it ends, so that nobody waits for a thread that is gone."""

        def run() -> None:
            try:
                self.take_turns(job, turn)
                self._threads.remove(thread)
            finally:
                at_end()

        thread = threading.Thread(target=run, name=job, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread

    def take_turns(self, job: str, turn: Callable[[], bool]) -> None:
        """Take turns in this thread until one returns False."""
        going = True
        while going:
            try:
                going = turn()
                self._succeeded(job)
            except Exception as error:  # noqa: BLE001 # whatever it is, the thread goes on
                self.failed(job, error)
                time.sleep(PAUSE_S)

    def keep_running(self, job: str, turn: Callable[[], Awaitable[None]]) -> None:
        """Take a loop's turns until `aclose`, with a growing pause after failures; a turn does its own waiting."""
        task = asyncio.create_task(self._turns(job, turn), name=job)  # noqa: TID251 # kept, awaited, supervised
        self._loops.add(task)

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
        log.error("background_failed", job=job, failures=self.failures[job].count, exc_info=error)
        with suppress(
            Exception
        ):  # of the metrics of several workers, which are files: nothing ends because it cannot be counted
            self.count(job)

    async def aclose(self) -> None:
        """Stop the loops, wait `CLOSE_S` for jobs, then cancel and count those still running."""
        await _cancel(self._loops)
        self._loops.clear()
        if self._jobs:
            await asyncio.wait(self._jobs, timeout=CLOSE_S)
        for job, count in Counter(self._jobs.values()).items():
            log.warning("background_cut_off", job=job, count=count)
            for _ in range(count):
                self.count(job)
        await _cancel(self._jobs)

    def _succeeded(self, job: str) -> None:
        failure = self.failures.get(job)
        if failure is not None and not failure.over:
            self.failures[job] = replace(failure, over=True)

    async def _turns(self, job: str, turn: Callable[[], Awaitable[None]]) -> None:
        pause = PAUSE_S
        while True:
            try:
                await turn()
                self._succeeded(job)
                pause = PAUSE_S
            except Exception as error:  # noqa: BLE001 # whatever it is, the other work goes on
                self.failed(job, error)
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
