"""Budgets: what requests of a route or key may spend in a day, in tokens or dollars, before they are passed through.

The cost of a request is not known in advance: an estimate is reserved, and the actual cost replaces it. A limit that cannot be read counts as
reached: a plain answer is always acceptable, and spent money cannot be returned.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import structlog

from ..audit.budgets import Ask, Spent, Standing, fits, today
from ..config import Budget
from ..errors import StoreError
from ..monitoring.metrics import Metrics
from ..outcomes import Reason
from ..supervision import Checked
from ..types import BYTES_A_TOKEN, Usage
from .counting import KEPT_S, Spending
from .prices import Prices

log = structlog.get_logger(__name__)

MOST_HOLDS = 1000
"""Largest number of reservations to release once the store is back. Older ones expire (`LEASE_S`); their cost is still counted."""
LONG_ANSWER = 1000
"""Estimated tokens of an answer without data and without a limit in the request."""
Amounts = Mapping[str, float]
"""Amounts by unit."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The decision for a request.

    Attributes:
        reason: the reason why it is passed through; None if it is calibrated.
        samples: maximum number of answers if a soft budget is exhausted; else None.
    """

    reason: Reason | None = None
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class _Count:
    """A counter and its limits."""

    route: str | None
    key: str | None
    unit: str
    soft: float | None
    hard: float | None
    samples: int | None

    @property
    def name(self) -> str:
        """Name of the counter."""
        return f"{self.unit}:{'*' if self.route is None else self.route}:{'*' if self.key is None else self.key}"


@dataclass(frozen=True, slots=True)
class BudgetToday:
    """The state of a budget today.

    Attributes:
        route, key: its route and key; None for all.
        unit: "tokens" or "dollars".
        used: the amount spent.
        reached: "soft" or "hard": the limit that applies to the next request; None for neither.
        samples: number of answers that a request over `soft` draws; None: half of the route's.
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
    """The budgets of one process."""

    def __init__(self, spending: Spending, metrics: Metrics, checked: Checked = lambda _check, _why: None) -> None:
        self._spending, self._metrics, self._checked = spending, metrics, checked
        self._under_way: dict[str, tuple[str, str, Sequence[_Count], Sequence[float]]] = {}
        self._totals: dict[tuple[str, str], float] = {}
        self._counted: dict[tuple[str, str], float] = {}
        self._unsettled: list[Spent] = []
        self._settling = False
        self._announced: set[tuple[str, str, str]] = set()

    async def ask(
        self, budgets: Sequence[Budget], route: str, key: str, ticket: str, guess: Amounts, least: Amounts
    ) -> Allowed:
        """Decide on a request; its estimated cost is reserved until `settle`.

        Args:
            budgets: the configured budgets.
            key: the name of its key; "" without one.
            ticket: identifies the request.
            guess: estimated cost without data on other requests, by unit.
            least: lower bound of its cost, by unit.
        """
        counts = counts_of(budgets, route, key)
        if not counts:
            return Allowed()
        asks = [Ask(count.name, guess[count.unit], least[count.unit], count.hard) for count in counts]
        day, guesses = today(time.time()), [ask.guess for ask in asks]
        counted = [self._counted.get((count.name, day), 0.0) for count in counts]
        try:
            taken = await self._spending.take(ticket, asks, day)
            if any(used < before * (1 - 1e-9) for used, before in zip(taken.used, counted, strict=True)):
                await self._put_back(ticket, day, {ask.name for ask in asks})
                taken = await self._spending.take(ticket, asks, day)
        except StoreError as error:
            log.error("budget_unknown", id=ticket, route=route, key=key, error=str(error))
            self._checked("budgets", str(error))
            allowed = self._unknown(counts, route, key)
            if allowed.reason is None:
                self._under_way[ticket] = day, "", counts, guesses
            return allowed
        self._checked("budgets", None)
        if taken.refused is not None:
            count = counts[taken.refused]
            self._announce(count, "hard", day, taken.used[taken.refused], route, key)
            return Allowed(Reason.OVER_BUDGET)
        self._under_way[ticket] = day, ticket, counts, taken.held or guesses
        over = [c for c, used in zip(counts, taken.used, strict=True) if c.soft is not None and used >= c.soft]
        for count in over:
            self._announce(count, "soft", day, taken.used[counts.index(count)], route, key)
        return Allowed(samples=_fewest(over))

    async def _put_back(self, ticket: str, day: str, asked: set[str]) -> None:
        """Count again what this process had counted: the store was set back, or emptied. A reservation of the `asked` budgets is taken anew."""
        log.error("budgets_set_back", id=ticket, day=day)
        mine = [(name, total) for (name, of), total in self._totals.items() if of == day]
        await self._spending.settle(
            [Spent(name, day, ticket if name in asked else "", 0.0, total, passed=True) for name, total in mine]
        )

    def awaits(self, ticket: str) -> bool:
        """Whether a request has a reservation that is not settled."""
        return ticket in self._under_way

    async def settle(self, ticket: str, spent: Amounts, *, is_known: bool = True) -> None:
        """Replace a reservation by the actual cost, of which it is the least if not all is known: such a cost predicts no other. What cannot be
        counted now is counted with the next request.
        """
        day, hold, counts, held = self._under_way.pop(ticket, ("", "", (), ()))
        least = [0.0 if is_known else amount for amount in held]
        new = (
            self._spent(count, day, hold, {count.unit: max(spent[count.unit], amount)}, passed=not is_known)
            for count, amount in zip(counts, least, strict=True)
        )
        self._wait([*self._unsettled, *new])
        await self._settle()

    async def count_passed(self, budgets: Sequence[Budget], route: str, key: str, spent: Amounts) -> None:
        """Count the cost of an answer that was passed through."""
        day, counts = today(time.time()), counts_of(budgets, route, key)
        self._wait([*self._unsettled, *(self._spent(count, day, "", spent, passed=True) for count in counts)])
        await self._settle()

    def _wait(self, spent: Sequence[Spent]) -> None:
        """Queue an amount to be counted; the queue stays small however long the store is away."""
        holds = [one for one in spent if one.ticket]
        over = holds[: max(0, len(holds) - MOST_HOLDS)]
        self._unsettled = _together([replace(one, ticket="") if one in over else one for one in spent])

    def _spent(self, count: _Count, day: str, hold: str, spent: Amounts, *, passed: bool = False) -> Spent:
        """A request's part of a counter, together with the total of this process, which includes it from now on."""
        place, amount = (count.name, day), spent[count.unit]
        if place not in self._totals:
            kept_since = today(time.time() - KEPT_S)
            self._totals = {place: total for place, total in self._totals.items() if place[1] >= kept_since}
            self._counted = {place: total for place, total in self._counted.items() if place[1] >= kept_since}
        self._totals[place] = self._totals.get(place, 0.0) + amount
        return Spent(*place, hold, amount, self._totals[place], passed)

    async def standing(
        self, budgets: Sequence[Budget], routes: Sequence[str], keys: Sequence[str]
    ) -> list[BudgetToday]:
        """The state of the budgets for these routes and keys ("" for requests without a key).

        Raises:
            StoreError: it cannot be read now.
        """
        asked = {count.name: count for route in routes for key in keys for count in counts_of(budgets, route, key)}
        standings = await self._spending.standing(list(asked), today(time.time())) if asked else []
        return [_today(count, standing) for count, standing in zip(asked.values(), standings, strict=True)]

    async def _settle(self) -> None:
        """Count everything in the queue, several requests at once if they arrive faster than the store. If it is already running, it returns at once."""
        if self._settling:
            return
        self._settling = True
        try:
            while self._unsettled:
                batch, self._unsettled = self._unsettled, []
                try:
                    await self._spending.settle(batch)
                    self._counted |= {(one.name, one.day): one.total for one in batch}
                except StoreError as error:
                    self._wait([*batch, *self._unsettled])
                    log.error("budget_not_counted", waiting=len(self._unsettled), error=str(error))
                    return
        finally:
            self._settling = False

    def _unknown(self, counts: Sequence[_Count], route: str, key: str) -> Allowed:
        if any(count.hard is not None for count in counts):
            self._count(route, key, "unknown")
            return Allowed(Reason.BUDGET_UNKNOWN)
        self._count(route, key, "soft")
        return Allowed(samples=_fewest(counts))

    def _count(self, *labels: str) -> None:
        with self._metrics.spared():
            self._metrics.over_budget.labels(*labels).inc()

    def _announce(self, count: _Count, limit: str, day: str, used: float, route: str, key: str) -> None:
        """Count a request over a budget in the metrics; the first of a day is logged."""
        self._count(route, key, limit)
        if (count.name, limit, day) not in self._announced:
            self._announced = {each for each in self._announced if each[2] == day} | {(count.name, limit, day)}
            allowed = count.hard if limit == "hard" else count.soft
            log.warning("budget_reached", budget=count.name, limit=limit, used_or_held=round(used, 6), allowed=allowed)


def counts_of(budgets: Sequence[Budget], route: str, key: str) -> list[_Count]:
    """The counters of a request, each once, with the tightest limits."""
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
    """Estimated cost of a request without data, and its lower bound, by unit.

    Args:
        size: size of the request in bytes.
        answers: number of answers to draw.
        longest: the request's limit of tokens for an answer; None without one.
        calls: number of calls, each of which reads the prompt.
    """
    prompt = size // BYTES_A_TOKEN
    most = Usage(prompt * calls, answers * (longest or LONG_ANSWER))
    least = Usage(prompt)
    price = prices.of(model)
    return tuple(  # type: ignore[return-value]
        {"tokens": usage.total, "dollars": price.of(usage) if price is not None else 0.0} for usage in (most, least)
    )


def _today(count: _Count, standing: Standing) -> BudgetToday:
    """The limit for the next request: "hard" if there is no room for one like the last, "soft" if that budget is exhausted."""
    used = standing.used + standing.held
    reached = "soft" if count.soft is not None and used >= count.soft else None
    if not fits(Ask(count.name, 0.0, 0.0, count.hard), standing) or (count.hard is not None and used >= count.hard):
        reached = "hard"
    return BudgetToday(
        count.route, count.key, count.unit, standing.used, count.soft, count.hard, count.samples, reached
    )


def _together(spent: Sequence[Spent]) -> list[Spent]:
    """Merge the entries without a reservation, one for each counter and day, with the last and therefore largest total."""
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
    """The smallest number of answers that exhausted soft budgets allow; 0: half of the route's; None if none is exhausted."""
    soft = [count for count in over if count.soft is not None]
    return min((count.samples or 0 for count in soft), default=None)
