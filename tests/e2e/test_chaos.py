"""A part of `make chaos`: every kind of upstream fault in some of the ways, and every kind of abuse, against a real process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.chaos.load import Tally, count_faults, count_leaks, held, run_abuses, run_faults, tags, warm
from benchmarks.chaos.serving import proxy
from benchmarks.chaos.soak import EVERY, keeps, soak
from benchmarks.chaos.upstream import Upstream, listening

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("what", ["faults", "abuses"])
def test_nothing_hangs_lies_or_leaks(tmp_path: Path, what: str) -> None:
    """No hang, no status that no rule allows, no row lost, no text that nobody checked, no task or descriptor kept, no fault of ours."""

    async def run() -> Tally:
        names, tally = tags(), Tally()
        store = f"sqlite:///{tmp_path}/audit.db"
        async with listening(Upstream()) as upstream, proxy(tmp_path, upstream.url, store) as running:
            await warm(running, names)
            before = await held(running)
            if what == "faults":
                await run_faults(running, upstream, tally, names, every=3)
            else:
                await run_abuses(running, upstream, tally, times=1)
            await count_leaks(running, tally, before)
            count_faults(running, tally)
        return tally

    tally = asyncio.run(run())
    assert not tally.found, tally.examples
    assert tally.requests.total() > 100


def test_a_short_soak() -> None:
    """Twice four seconds of requests of all kinds: every answer is sound, every row is there, and nothing is kept."""
    moments, tally = asyncio.run(soak(2, seconds=4.0))
    assert not tally.found, tally.examples
    assert tally.requests.total() == moments[-1].requests > EVERY
    assert not keeps(moments[-1], moments[0])
