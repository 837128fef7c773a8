"""Which answers the review queue asks about, and which verdicts count in figures."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from hedgerow.proxy.audit import queries
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.audit.labelled import read_labelled
from hedgerow.proxy.audit.queries import Period, arm_rows
from hedgerow.proxy.audit.review import Order, is_picked, review_queue
from hedgerow.proxy.audit.rows import Entry, Texts
from hedgerow.proxy.audit.store import AuditStore
from hedgerow.proxy.audit.verdicts import PICKED, Verdict
from tests.support.tables import cases
from tests.unit.proxy.audit.conftest import Store, entry

TEXTS = Texts(question="Q?", draft="A.", answer="Probably A.")


def answers(agree: list[int], route: str = "r") -> list[Entry]:
    """Answers, so many of ten samples agreeing, with ids whose random ends are spread evenly and in no order."""
    lots = np.random.default_rng(len(route)).permutation(len(agree)).tolist()
    return [
        entry(
            f"hr_{100 * len(route) + i:011x}{lots[i] * (2**64 // len(agree)):016x}", route=route, created_at=time.time() - i, texts=TEXTS, fd_expected=0.1,
            raw_alpha=float(k), raw_beta=10.0 - k, alpha=float(k), beta=10.0 - k,
        )
        for i, k in enumerate(agree)
    ]  # fmt: skip


def judge(store: Store, *told: Verdict) -> None:
    async def work(opened: AuditStore) -> Any:
        return await opened.add_verdicts(list(told))

    store.run(work)


@pytest.fixture
def engine(store: Store) -> Iterator[sa.Engine]:
    opened = open_engine(store.settings)
    yield opened
    opened.dispose()


def test_random_asks_by_the_end_of_the_id(store: Store, engine: sa.Engine) -> None:
    store.write(*answers([3, 8, 8, 8, 3, 8]))
    asked = review_queue(engine, order="random")
    assert [item.id[-16:] for item in asked] == sorted(item.id[-16:] for item in asked)
    assert [item.id for item in review_queue(engine, order="random", skip=[asked[0].id])] == [i.id for i in asked[1:]]


def test_mixed_picks_among_one_half_of_the_ids_and_draws_from_the_other(store: Store, engine: sa.Engine) -> None:
    """What is picked takes nothing away from what is drawn; where one half is used up, the other goes on."""
    store.write(*answers([2, 3, 4, 5, 6, 7, 8, 9, 9, 9]))
    asked = review_queue(engine, order="mixed")
    assert {item.id: item.why == "random" for item in asked} == {item.id: item.id[-16] < "8" for item in asked}
    assert [item.why for item in asked[:4]] == ["random", "uncertain", "random", "surprising"]
    assert len(asked) == 10


@cases(
    ("name", "order", "picked"),
    [
        ("hr_" + "0" * 11 + "8" + "0" * 15, "mixed", True),
        ("hr_" + "0" * 11 + "7" + "f" * 15, "mixed", False),
        ("hr_" + "0" * 11 + "8" + "0" * 15, "random", False),
        ("chatcmpl-of-another-kind", "mixed", False),
        ("hr_not-an-id", "mixed", False),
    ],
)
def test_only_what_mixed_picks_is_picked(name: str, order: Order, picked: bool) -> None:
    assert is_picked(name, order) is picked


def test_figures_leave_out_verdicts_on_claims_of_picked_answers(store: Store, engine: sa.Engine) -> None:
    """Of claims as of answers."""
    claims = [{"raw": [9.0, 1.0], "calibrated": [8.0, 2.0]}]
    rows = [Entry(dict(row.row) | {"signal": "consistency", "claims": claims}, TEXTS) for row in answers([5, 9])]
    store.write(*rows)
    picked, drawn = (str(row.row["id"]) for row in rows)
    judge(store, Verdict(picked, 0.0, kind="human", claim=0, propensity=PICKED), Verdict(drawn, 1.0, claim=0))
    with engine.connect() as connection:
        assert queries.labelled_claims(connection, Period(None, time.time() + 1.0)).correct.tolist() == [1.0]
    labelled = read_labelled(engine, route="r", any_map=True, of="claims")
    assert sorted(zip(labelled.correct.tolist(), labelled.picked.tolist(), strict=True)) == [(0.0, 1.0), (1.0, 0.0)]


def test_what_a_grader_drew_stays_in_the_figures_when_the_queue_picks_it(store: Store, engine: sa.Engine) -> None:
    """Else what a lot drew would lose its unsure answers, and the mean over the rest would flatter the route."""
    rows = answers([5, 9])
    store.write(*rows)
    names = [str(row.row["id"]) for row in rows]
    judge(store, *(Verdict(name, 1.0, kind="grader", source="grader", propensity=0.5) for name in names))
    judge(store, Verdict(names[0], 0.0, kind="human", propensity=PICKED))
    with engine.connect() as connection:
        assert sorted(queries.labelled(connection, Period(None, time.time() + 1.0)).correct.tolist()) == [0.0, 1.0]
    assert read_labelled(engine, route="r", any_map=True).drawn().correct.size == 2


def test_arms_are_compared_without_picked_answers(store: Store, engine: sa.Engine) -> None:
    """In one arm the queue may have been at work for longer than in the other."""
    rows = [
        Entry(dict(row.row) | {"arm": "on", "perceived_alpha": 8.0, "perceived_beta": 2.0}, TEXTS)
        for row in answers([5, 9])
    ]
    store.write(*rows)
    picked, drawn = (str(row.row["id"]) for row in rows)
    judge(store, Verdict(picked, 0.0, kind="human", propensity=PICKED), Verdict(drawn, 1.0))
    with engine.connect() as connection:
        assert arm_rows(connection, "r")["on"].correct.tolist() == [1.0]


def test_figures_leave_out_verdicts_on_picked_answers_and_tests_keep_them(store: Store, engine: sa.Engine) -> None:
    """They were chosen for their confidence: the share of right ones among them is not that of the route."""
    rows = answers([5, 5, 9, 9])
    store.write(*rows)
    names = [str(row.row["id"]) for row in rows]
    judge(store, *(Verdict(name, 0.0, kind="human", propensity=PICKED) for name in names[:2]))
    judge(store, Verdict(names[2], 1.0), Verdict(names[3], 1.0, propensity=0.5))
    with engine.connect() as connection:
        assert queries.labelled(connection, Period(None, time.time() + 1.0)).correct.tolist() == [1.0, 1.0]
    labelled = read_labelled(engine, route="r", any_map=True)
    assert sorted(zip(labelled.correct.tolist(), labelled.picked.tolist(), strict=True)) == [
        (0.0, 1.0), (0.0, 1.0), (1.0, 0.0), (1.0, 0.0),
    ]  # fmt: skip
