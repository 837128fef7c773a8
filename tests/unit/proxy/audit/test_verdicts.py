"""Verdicts: one counts, all stay, and what they settle is what the formulas say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from hedgerow.calibration import faithfulness_divergence
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.verdicts import Verdict
from tests.unit.proxy.audit.conftest import Store, entry

BETAS = {"raw_alpha": 8.0, "raw_beta": 2.0, "alpha": 6.0, "beta": 4.0, "perceived_alpha": 9.0, "perceived_beta": 1.0}


def told_in_turn(store: Store, *told: Verdict) -> tuple[list[Any], list[Any]]:
    """Verdicts told one after the other on one answer; what came of each, and what the store holds in the end."""

    async def work(opened: AuditStore) -> Any:
        await opened.write(entry("a", **BETAS, response_id="chatcmpl-1"))
        settled = [(await opened.add_verdicts([one]))[0] for one in told]
        row = await opened.get("a")
        assert row is not None
        return settled, [(v["kind"], v["correct"], v["current"]) for v in row["verdicts"]]

    return store.run(work)  # type: ignore[no-any-return]


def test_a_verdict_supersedes_the_one_before(store: Store) -> None:
    """History stays, the latest counts, the same again changes nothing."""
    settled, held = told_in_turn(store, *(Verdict("chatcmpl-1", correct) for correct in (1.0, 1.0, 0.0)))
    assert [one.changed for one in settled] == [True, False, True]
    assert held == [("client", 1.0, False), ("client", 0.0, True)]


def test_a_grader_never_overrides_anybody_else(store: Store) -> None:
    """Whichever comes first; among graders the latest counts."""
    grader = [Verdict("a", correct, kind="grader", source="grader") for correct in (1.0, 0.0, 1.0)]
    settled, held = told_in_turn(
        store, grader[0], grader[1], Verdict("a", 0.5, kind="human", source="review"), grader[2]
    )
    assert [one.counts for one in settled] == [True, True, True, False]
    assert held == [("grader", 1.0, False), ("grader", 0.0, False), ("human", 0.5, True), ("grader", 1.0, False)]


def test_two_verdicts_on_one_answer_in_one_batch(store: Store) -> None:
    """As if they had come one after the other."""

    async def work(opened: AuditStore) -> Any:
        await opened.write(entry("a", **BETAS))
        await opened.add_verdicts([Verdict("a", 1.0), Verdict("unknown", 1.0), Verdict("a", 0.0), Verdict("a", 0.0)])
        row = await opened.get("a")
        assert row is not None
        return [(v["correct"], v["current"]) for v in row["verdicts"]]

    assert store.run(work) == [(1.0, False), (0.0, True)]


def test_every_confidence_is_settled_by_its_own_beta(store: Store) -> None:
    """A grade of .25 is a quarter of one outcome's score and three quarters of the other's."""
    (settled,), _ = told_in_turn(store, Verdict("a", 0.25))
    for name, alpha, beta in (("fd_raw", 8.0, 2.0), ("fd", 6.0, 4.0), ("fd_perceived", 9.0, 1.0)):
        both = [faithfulness_divergence(alpha, beta, y) for y in (1, 0)]
        assert settled.scores[name] == pytest.approx(0.25 * both[0] + 0.75 * both[1], rel=1e-12)
    assert settled.scores["brier"] == pytest.approx(0.25 * (0.24 / 11 + 0.16) + 0.75 * (0.24 / 11 + 0.36), rel=1e-12)


def test_verdicts_that_come_together_share_a_commit(store: Store) -> None:
    """Sixty-four at once starved each other, and the chats beside them, with a transaction each."""
    names = [f"a{i}" for i in range(64)]
    commits = 0

    def count(_: sa.Connection) -> None:
        nonlocal commits
        commits += 1

    async def work(opened: AuditStore) -> Any:
        for name in names:
            await opened.write(entry(name, **BETAS))
        sa.event.listen(opened.engine, "commit", count)
        return await asyncio.gather(*(opened.add_verdicts([Verdict(name, 1.0)]) for name in [*names, "unknown"]))

    settled = store.run(work)
    assert [[one.id for one in each if one] for each in settled] == [*([name] for name in names), []]
    assert commits <= 4


def test_a_row_without_confidence_keeps_its_verdict_and_settles_nothing(store: Store) -> None:
    """A passed answer may be right or wrong all the same."""

    async def work(opened: AuditStore) -> Any:
        await opened.write(entry("p", status="passed"))
        return await opened.add_verdicts([Verdict("p", 1.0)])

    (settled,) = store.run(work)
    assert settled.changed
    assert set(settled.scores.values()) == {None}
