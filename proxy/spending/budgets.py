"""Budgets: what requests of a route or a key may spend in a day before they are passed on plain, in tokens or dollars.

What a request will spend nobody knows before: it is estimated and held, and what was really spent takes the place of the estimate. A limit that
cannot be looked up counts as reached: the plain answer is never wrong to give, and money that is gone is gone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import structlog

from hedgerow.proxy.audit.budgets import Ask, Spent, Standing, fits, today
from hedgerow.proxy.config import Budget
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.monitoring.metrics import Metrics
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.spending.counting import KEPT_S, Spending
from hedgerow.proxy.spending.prices import Prices
from hedgerow.proxy.types import BYTES_A_TOKEN, Usage

log = structlog.get_logger(__name__)

MOST_HOLDS = 1000
"""Holds that wait to be ended while the store is away. Older ones end by themselves (`LEASE_S`); what was spent is counted all the same."""
LONG_ANSWER = 1000
"""Tokens that an answer is taken to need where nothing is known of a count yet, and the request sets no limit."""
Amounts = Mapping[str, float]
"""By unit."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a request may do.

    Attributes:
        reason: why it is passed on plain; None where it is calibrated.
        samples: how many answers it draws at most, where a soft budget is spent.
    """

    reason: Reason | None = None
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class _Count:
    """A count, and the limits that hold for it."""

    route: str | None
    key: str | None
    unit: str
    soft: float | None
    hard: float | None
    samples: int | None

    @property
    def name(self) -> str:
        """What it is counted under."""
        return f"{self.unit}:{'*' if self.route is None else self.route}:{'*' if self.key is None else self.key}"


@dataclass(frozen=True, slots=True)
class BudgetToday:
    """A budget as it stands today.

    Attributes:
        route, key: whose it is; None where all share it.
        unit: "tokens" or "dollars".
        used: what was spent.
        reached: "soft" or "hard": which of its limits the next request meets; None where neither.
        samples: answers that a request beyond `soft` draws; None: half of the route's.
    """

    route: str | None
    key: str | None
    unit: str
    used: float
    soft: float | None
    hard: float | None
    samples: int | None
    reached: str | None


class Budgets:
    """What requests of a process may still spend."""

    def __init__(self, spending: Spending, metrics: Metrics) -> None:
        self._spending, self._metrics = spending, metrics
        self._under_way: dict[str, tuple[str, str, Sequence[_Count]]] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._unsettled: list[Spent] = []
        self._settling = False
        self._announced: set[tuple[str, str, str]] = set()

    async def ask(
        self, budgets: Sequence[Budget], route: str, key: str, ticket: str, guess: Amounts, least: Amounts
    ) -> Allowed:
        """What a request may do; what it is taken to spend is held until it is settled.

        Args:
            budgets: those of the configuration.
            key: the name of its key; "" where it came with none.
            ticket: tells requests apart.
            guess: what it may spend where nothing is known of others, by unit.
            least: what it will spend at least, by unit.
        """
        counts = counts_of(budgets, route, key)
        if not counts:
            return Allowed()
        asks = [Ask(count.name, guess[count.unit], least[count.unit], count.hard) for count in counts]
        day = today(time.time())
        try:
            taken = await self._spending.take(ticket, asks, day)
        except StoreError as error:
            log.error("budget_unknown", id=ticket, route=route, key=key, error=str(error))
            allowed = self._unknown(counts, route, key)
            if allowed.reason is None:
                self._under_way[ticket] = day, "", counts
            return allowed
        if taken.refused is not None:
            count = counts[taken.refused]
            self._announce(count, "hard", day, taken.used[taken.refused], route, key)
            return Allowed(Reason.OVER_BUDGET)
        self._under_way[ticket] = day, ticket, counts
        over = [c for c, used in zip(counts, taken.used, strict=True) if c.soft is not None and used >= c.soft]
        for count in over:
            self._announce(count, "soft", day, taken.used[counts.index(count)], route, key)
        return Allowed(samples=_fewest(over))

    def awaits(self, ticket: str) -> bool:
        """Whether a request is calibrated, and has still to be settled."""
        return ticket in self._under_way

    async def settle(self, ticket: str, spent: Amounts) -> None:
        """Count what a request has spent in the end. What cannot be counted now is counted with the next one."""
        day, hold, counts = self._under_way.pop(ticket, ("", "", ()))
        self._wait([*self._unsettled, *(self._spent(count, day, hold, spent) for count in counts)])
        await self._settle()

    async def count_passed(self, budgets: Sequence[Budget], route: str, key: str, spent: Amounts) -> None:
        """Count what an answer has cost that was passed on plain."""
        day, counts = today(time.time()), counts_of(budgets, route, key)
        self._wait([*self._unsettled, *(self._spent(count, day, "", spent, passed=True) for count in counts)])
        await self._settle()

    def _wait(self, spent: Sequence[Spent]) -> None:
        """What is to be counted next: however long the store is away, little."""
        holds = [one for one in spent if one.ticket]
        over = holds[: max(0, len(holds) - MOST_HOLDS)]
        self._unsettled = _together([replace(one, ticket="") if one in over else one for one in spent])

    def _spent(self, count: _Count, day: str, hold: str, spent: Amounts, *, passed: bool = False) -> Spent:
        """A request's part of a count, with the total of this process, of which it is a part from now on."""
        place, amount = (count.name, day), spent[count.unit]
        if place not in self._totals:
            kept_since = today(time.time() - KEPT_S)
            self._totals = {place: total for place, total in self._totals.items() if place[1] >= kept_since}
        self._totals[place] = self._totals.get(place, 0.0) + amount
        return Spent(*place, hold, amount, self._totals[place], passed)

    async def standing(
        self, budgets: Sequence[Budget], routes: Sequence[str], keys: Sequence[str]
    ) -> list[BudgetToday]:
        """How the budgets stand that speak of requests to any of the routes with any of the keys ("" is none).

        Raises:
            StoreError: it cannot be read just now.
        """
        asked = {count.name: count for route in routes for key in keys for count in counts_of(budgets, route, key)}
        standings = await self._spending.standing(list(asked), today(time.time())) if asked else []
        return [_today(count, standing) for count, standing in zip(asked.values(), standings, strict=True)]

    async def _settle(self) -> None:
        """Count all that waits, several requests at once where they come faster than the store. Called while it works, it returns at once: the loop takes what was added."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._unsettled:
                batch, self._unsettled = self._unsettled, []
                try:
                    await self._spending.settle(batch)
                except StoreError as error:
                    self._wait([*batch, *self._unsettled])
                    log.error("budget_not_counted", waiting=len(self._unsettled), error=str(error))
                    return
        finally:
            self._settling = False

    def _unknown(self, counts: Sequence[_Count], route: str, key: str) -> Allowed:
        if any(count.hard is not None for count in counts):
            self._metrics.over_budget.labels(route, key, "unknown").inc()
            return Allowed(Reason.BUDGET_UNKNOWN)
        self._metrics.over_budget.labels(route, key, "soft").inc()
        return Allowed(samples=_fewest(counts))

    def _announce(self, count: _Count, limit: str, day: str, used: float, route: str, key: str) -> None:
        """Count a request beyond a budget; the first of a day is a line of its own."""
        self._metrics.over_budget.labels(route, key, limit).inc()
        if (count.name, limit, day) not in self._announced:
            self._announced = {each for each in self._announced if each[2] == day} | {(count.name, limit, day)}
            allowed = count.hard if limit == "hard" else count.soft
            log.warning("budget_reached", budget=count.name, limit=limit, used_or_held=round(used, 6), allowed=allowed)


def counts_of(budgets: Sequence[Budget], route: str, key: str) -> list[_Count]:
    """The counts that a request belongs to, each once, with the tightest limits that hold for it."""
    counts: dict[tuple[str, bool, bool], _Count] = {}
    for budget in budgets:
        if budget.route is not None and not fnmatchcase(route, budget.route):
            continue
        if budget.key is not None and not (key and fnmatchcase(key, budget.key)):
            continue
        kind = budget.unit, budget.route is None, budget.key is None
        before = counts.get(kind)
        counts[kind] = _Count(
            None if budget.route is None else route,
            None if budget.key is None else key,
            budget.unit,
            _tighter(budget.soft, before.soft if before else None),
            _tighter(budget.hard, before.hard if before else None),
            budget.samples if before is None else before.samples or budget.samples,
        )
    return list(counts.values())


def guessed(
    prices: Prices, model: str, size: int, answers: int, longest: int | None, calls: int
) -> tuple[Amounts, Amounts]:
    """What a request may spend where nothing is known, and what it will spend at least, by unit.

    Args:
        size: bytes of the request.
        answers: how many are drawn.
        longest: tokens that the request allows an answer; None where it does not say.
        calls: how many read the prompt.
    """
    prompt = size // BYTES_A_TOKEN
    most = Usage(prompt * calls, answers * (longest or LONG_ANSWER))
    least = Usage(prompt)
    price = prices.of(model)
    return tuple(  # type: ignore[return-value]
        {"tokens": usage.total, "dollars": price.of(usage) if price is not None else 0.0} for usage in (most, least)
    )


def _today(count: _Count, standing: Standing) -> BudgetToday:
    """What the next request meets: no room for one like the last, or a soft budget that is spent."""
    used = standing.used + standing.held
    reached = "soft" if count.soft is not None and used >= count.soft else None
    if not fits(Ask(count.name, 0.0, 0.0, count.hard), standing) or (count.hard is not None and used >= count.hard):
        reached = "hard"
    return BudgetToday(
        count.route, count.key, count.unit, standing.used, count.soft, count.hard, count.samples, reached
    )


def _together(spent: Sequence[Spent]) -> list[Spent]:
    """The same, in one entry for all of a count and day that end no hold: with the last total, which is the largest."""
    merged: dict[tuple[str, str, bool], Spent] = {}
    for one in spent:
        if not one.ticket:
            kind = one.name, one.day, one.passed
            before = merged.get(kind)
            largest = one if before is None else replace(one, spent=max(before.spent, one.spent))
            merged[kind] = largest if before is None else replace(largest, total=max(before.total, one.total))
    return [*(one for one in spent if one.ticket), *merged.values()]


def _tighter(one: float | None, other: float | None) -> float | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _fewest(over: Sequence[_Count]) -> int | None:
    """The fewest answers that spent soft budgets leave; 0: as the route has it; None where none is spent."""
    soft = [count for count in over if count.soft is not None]
    return min((count.samples or 0 for count in soft), default=None)
