"""What a process keeps while what was spent cannot be counted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import pytest

from hedgerow.proxy.audit.budgets import Ask, Spent, Standing, Taken, today
from hedgerow.proxy.config import Budget
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.spending import budgets as module
from hedgerow.proxy.spending.budgets import Budgets

BUDGETS = [Budget(unit="tokens", soft=1e9, hard=1e9)]
ONE = {"tokens": 3.0}


class Store:
    """Holds what is asked for, and counts nothing as long as it is away."""

    def __init__(self) -> None:
        self.away = True
        self.written: list[Spent] = []

    async def take(self, ticket: str, asks: Sequence[Ask], day: str) -> Taken:
        return Taken([0.0] * len(asks))

    async def settle(self, spent: Sequence[Spent]) -> None:
        if self.away:
            raise StoreError("away")
        self.written += spent

    async def standing(self, names: Sequence[str], day: str) -> list[Standing]:
        return [Standing() for _ in names]

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("calibrated", [True, False])
def test_however_long_the_store_is_away_little_waits_and_all_is_counted(
    monkeypatch: pytest.MonkeyPatch, calibrated: bool
) -> None:
    """Holds beyond a limit are left to end by themselves; the total is that of every request."""
    monkeypatch.setattr(module, "MOST_HOLDS", 5)
    store = Store()

    async def work() -> None:
        budgets = Budgets(store, Metrics())
        for number in range(40):
            store.away = number < 39
            if calibrated:
                await budgets.ask(BUDGETS, "r", "", str(number), ONE, ONE)
                await budgets.settle(str(number), ONE)
            else:
                await budgets.count_passed(BUDGETS, "r", "", ONE)

    asyncio.run(work())
    assert max(one.total for one in store.written) == 120.0
    assert {one.day for one in store.written} == {today(time.time())}
    assert [one.ticket for one in store.written if one.ticket] == (
        [str(n) for n in range(35, 40)] if calibrated else []
    )
    assert len(store.written) <= 6
