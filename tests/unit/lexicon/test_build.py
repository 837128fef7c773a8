"""The paper's construction asks each thing once, survives a stop, and fits what it was answered."""

import asyncio

import pytest

from hedgerow.lexicon import LexiconError
from hedgerow.lexicon.hedges.build import (
    Plan,
    Record,
    Scored,
    Written,
    construct,
    entries,
    parse_score,
    remaining,
)
from tests.support.tables import cases

PLAN = Plan(("probably", "no way"), ("one", "two"), sentences=3, passes=2)


async def write(prompt: str) -> str:
    return "It was probably green.\nSecond line." if '"probably"' in prompt else "It was green."


async def score(evaluator: str, prompt: str) -> str:
    return {"one": "70", "two": "Score: 60/100"}[evaluator]


def test_a_build_from_nothing() -> None:
    """Sentences that leave the phrase out are not scored; the others are, by every evaluator and pass."""
    records: list[Record] = []
    assert (remaining(PLAN, ()).writes, remaining(PLAN, ()).scores) == (6, 24)
    asyncio.run(construct(PLAN, (), write, score, records.append))
    hedges, missing = entries(PLAN, records, lambda phrase: ())
    assert missing == ("no way",)
    assert hedges[0].beta.mean == pytest.approx(0.65, abs=0.01)
    assert hedges[0].basis == "12 scores by one, two"
    assert remaining(PLAN, records).scores == remaining(PLAN, records).writes == 0


def test_a_stopped_build_goes_on_where_it_was() -> None:
    """What is on record is not asked again."""
    records: list[Record] = []

    async def failing(evaluator: str, prompt: str) -> str:
        if len(records) >= 7:
            raise ConnectionError
        return await score(evaluator, prompt)

    with pytest.raises(ConnectionError):
        asyncio.run(construct(PLAN, (), write, failing, records.append))
    before = tuple(records)
    asyncio.run(construct(PLAN, before, write, score, records.append))
    assert len(records) == len({repr(record) for record in records}) == 6 + 12


@cases(("text", "value"), [("85", 0.85), ("I'd say 7.5 of 100", 0.075), ("none", None), ("1000", None), ("250", None)])
def test_scores_are_read(text: str, value: float | None) -> None:
    """The first number from 0 to 100."""
    assert parse_score(text) == value


def test_an_empty_plan_is_refused() -> None:
    """There must be something to ask, and someone."""
    with pytest.raises(LexiconError):
        Plan((), ("one",))


def test_unusable_answers_are_not_fitted() -> None:
    """An answer without a number is on record, and gives no score."""
    records = [Written("probably", 0, "It was probably green."), Scored("probably", 0, "one", 0, None)]
    assert entries(PLAN, records, lambda phrase: ()) == ((), ("probably", "no way"))
