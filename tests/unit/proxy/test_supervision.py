"""Work beside the requests: what fails is reported and goes on, and nothing else is harmed."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from typing import Any

import pytest

from hedgerow.proxy import supervision as module
from hedgerow.proxy.supervision import Supervisor

WORDS = "what a user asked"


def test_a_loop_that_fails_is_started_again_and_harms_no_other(lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logged without the words of the exception, counted, and in the report."""
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    counted: Counter[str] = Counter()
    runs: Counter[str] = Counter()
    third = asyncio.Event()

    async def failing() -> None:
        runs["failing"] += 1
        if runs["failing"] < 3:
            raise RuntimeError(WORDS)
        third.set()
        await asyncio.sleep(3600)

    async def healthy() -> None:
        runs["healthy"] += 1
        await asyncio.sleep(3600)

    async def run() -> Supervisor:
        supervisor = Supervisor(lambda job: counted.update([job]))
        supervisor.keep_running("drift", failing)
        supervisor.keep_running("purge", healthy)
        async with asyncio.timeout(10):
            await third.wait()
        await supervisor.aclose()
        return supervisor

    supervisor = asyncio.run(run())
    assert runs == {"failing": 3, "healthy": 1}
    assert counted == {"drift": 2}
    assert supervisor.degraded
    (failure,) = supervisor.report()
    assert (failure["job"], failure["count"], failure["error"]) == ("drift", 2, "RuntimeError")
    assert [line["failures"] for line in lines.of("background_failed")] == [1, 2]
    assert WORDS not in str(lines)


def test_a_shutdown_waits_for_jobs_but_not_without_bound(lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short job ends; a long one is cut off, logged and counted."""
    monkeypatch.setattr(module, "CLOSE_S", 0.2)
    counted: Counter[str] = Counter()
    ended: list[str] = []

    async def job(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        ended.append(name)

    async def run() -> None:
        supervisor = Supervisor(lambda name: counted.update([name]))
        supervisor.start("shadow", job(0.05, "short"))
        supervisor.start("shadow", job(3600, "long"))
        await supervisor.aclose()

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 10
    assert ended == ["short"]
    assert counted == {"shadow": 1}
    assert [(line["job"], line["count"]) for line in lines.of("background_cut_off")] == [("shadow", 1)]


def test_a_thread_goes_on_after_a_turn_that_fails(lines: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted and told; once a turn succeeds it is over, and a thread that was let end is not missed."""
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    counted: Counter[str] = Counter()
    turns = iter([OSError(28, WORDS), ValueError(WORDS), True, True, False])
    ended = threading.Event()

    def turn() -> bool:
        outcome = next(turns)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    supervisor = Supervisor(lambda job: counted.update([job]))
    supervisor.thread("writer", turn, ended.set).join(10)
    assert ended.is_set()
    assert list(turns) == []
    assert counted == {"writer": 2}
    assert supervisor.report()[0]["over"]
    assert (supervisor.dead, supervisor.degraded) == ([], False)
    assert [line["job"] for line in lines.of("background_failed")] == ["writer"] * 2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_has_ended_unasked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that something kills, and a loop that is cancelled from within; who waits for the thread is told."""
    told = threading.Event()

    def killed() -> bool:
        raise SystemExit

    async def cancelled() -> None:
        raise asyncio.CancelledError

    async def run() -> Supervisor:
        supervisor = Supervisor()
        supervisor.thread("writer", killed, told.set).join(10)
        supervisor.keep_running("drift", cancelled)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return supervisor

    supervisor = asyncio.run(run())
    assert told.is_set()
    assert sorted(supervisor.dead) == ["drift", "writer"]
    assert supervisor.degraded


def test_a_problem_is_told_once_and_until_it_is_over(lines: Any) -> None:
    """However often it is found."""
    supervisor = Supervisor()
    for problem in ("full", "full", "fuller", None, None):
        supervisor.tell("disk", problem)
        assert supervisor.degraded is (problem is not None)
    assert [line["reason"] for line in lines.of("problem")] == ["full", "fuller"]
    assert len(lines.of("problem_over")) == 1
