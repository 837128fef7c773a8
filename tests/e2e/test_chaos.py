"""A part of `make chaos`: every kind of upstream fault in some of the ways, and every kind of abuse, against a real process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.chaos.attacks import mutated
from benchmarks.chaos.hostile import run_hostile
from benchmarks.chaos.identity import DIMENSIONS, MODES, run_identity
from benchmarks.chaos.load import Tally, count_faults, count_leaks, held, run_abuses, run_faults, tags, warm
from benchmarks.chaos.serving import proxy
from benchmarks.chaos.soak import EVERY, keeps, soak
from benchmarks.chaos.upstream import Upstream, listening

LONGEST_HELD_S = 0.5
"""Ten times what reading such an answer takes between two turns; the answers that once stopped a process took seven seconds and more."""
pytestmark = pytest.mark.nightly


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


def test_no_answer_is_anothers_and_nothing_reaches_the_wrong_upstream(tmp_path: Path) -> None:
    """Two clients at once in each of the dimensions and modes, and the other doors."""
    tally = Tally()
    asyncio.run(run_identity(tmp_path, f"sqlite:///{tmp_path}/audit.db", tally, count=2 * len(DIMENSIONS) * len(MODES)))
    assert not tally.found, tally.examples
    assert tally.requests.total() > 2 * len(DIMENSIONS) * len(MODES)


def test_mutated_requests_are_no_fault_of_ours(tmp_path: Path) -> None:
    """A thousand, of which the seed is another than that of `make chaos`."""
    tally = Tally()
    asyncio.run(mutated(tmp_path, f"sqlite:///{tmp_path}/audit.db", tally, count=1000, seed=1))
    assert not tally.found, tally.examples


def test_no_answer_of_a_model_holds_up_the_others(tmp_path: Path) -> None:
    """Some of the hostile answers, with two million times one sign. Time of the processor, which other work on the machine does not lengthen."""
    tally = Tally()
    watches = asyncio.run(run_hostile(tmp_path, f"sqlite:///{tmp_path}/audit.db", tally, every=12))
    assert not tally.found, tally.examples
    assert not {name: watch.held_s for name, watch in watches.items() if watch.held_s > LONGEST_HELD_S}


def test_a_short_soak() -> None:
    """Twice four seconds of requests of all kinds: every answer is sound, every row is there, and nothing is kept."""
    moments, tally = asyncio.run(soak(2, seconds=4.0))
    assert not tally.found, tally.examples
    assert tally.requests.total() == moments[-1].requests > EVERY
    assert not keeps(moments[-1], moments[0])
