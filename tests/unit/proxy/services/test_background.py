"""Work beside the requests: what fails is reported and goes on, and nothing else is harmed."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any

import pytest

from hedgerow.proxy.services import background as module
from hedgerow.proxy.services.background import Background

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

    async def run() -> Background:
        background = Background(lambda job: counted.update([job]))
        background.keep_running("drift", failing)
        background.keep_running("purge", healthy)
        async with asyncio.timeout(10):
            await third.wait()
        await background.aclose()
        return background

    background = asyncio.run(run())
    assert runs == {"failing": 3, "healthy": 1}
    assert counted == {"drift": 2}
    assert background.degraded
    (failure,) = background.report()
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
        background = Background(lambda name: counted.update([name]))
        background.start("shadow", job(0.05, "short"))
        background.start("shadow", job(3600, "long"))
        await background.aclose()

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < 10
    assert ended == ["short"]
    assert counted == {"shadow": 1}
    assert [(line["job"], line["count"]) for line in lines.of("background_cut_off")] == [("shadow", 1)]
