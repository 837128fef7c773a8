"""Prices of models and costs of calls. A model without a price has an unknown cost, never an estimated one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ..config import ModelPrice
from ..config import Prices as PriceSettings
from ..types import Usage
from . import tables
from .tables import Price


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of a configuration.

    Attributes:
        own: the configuration's, tried in order.
        listed: a function from a model's name to its price in the packaged tables.
    """

    own: Sequence[ModelPrice] = ()
    listed: Callable[[str], Price | None] = lambda _name: None

    def of(self, *names: str) -> Price | None:
        """The price of a model by any of its names, the most specific first; None without one."""
        for one in self.own:
            if any(fnmatchcase(name.lower(), one.model.lower()) for name in names):
                return Price(one.prompt, one.completion, one.cached, one.written, one.reasoning, "the configuration")
        return next((price for name in names if (price := self.listed(name)) is not None), None)

    def cost(self, usage: Usage, asked: str) -> float | None:
        """Dollars for one call; None if its model has no price, or the upstream reported no token counts.

        Args:
            usage: the call's tokens, with the model that answered.
            asked: the requested model, in case the upstream names it differently.
        """
        price = self.of(*dict.fromkeys((usage.model or asked, asked))) if usage.total else None
        return None if price is None else price.of(usage)

    def costs(self, spent: Mapping[str, Sequence[Usage]], asked: str) -> dict[str, float | None]:
        """Dollars by purpose: 0 without calls, None if the cost of any call is unknown."""
        return {purpose: total([self.cost(usage, asked) for usage in calls]) for purpose, calls in spent.items()}


NO_PRICES = Prices()


def total(costs: Sequence[float | None]) -> float | None:
    """The sum; None if a part is unknown.

    >>> total([0.25, 0.5]), total([]), total([0.25, None])
    (0.75, 0.0, None)
    """
    known = [cost for cost in costs if cost is not None]
    return sum(known, 0.0) if len(known) == len(costs) else None


def open_prices(settings: PriceSettings) -> Prices:
    """The prices of a configuration. Reads the tables' files once a process, so not on an event loop."""
    packaged = tables.packaged() if settings.tables else ()
    return Prices(settings.models, lambda name: next(filter(None, (table.find(name) for table in packaged)), None))
