"""Prices of models and costs of calls. A model without a price has an unknown cost, never an estimated one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from ..config import ModelPrice, PriceSettings
from ..types import Usage

# Price tables: LiteLLM's, read as a file if the package is installed, and the short one shipped with Hedgerow.
#
# Names match with or without their maker ("openai/gpt-4o"), with or without a date ("gpt-4o-2024-08-06"), in any case.
# Nothing else is guessed: a name with the same beginning is another model.

SHIPPED = Path(__file__).with_name("prices.json")
LITELLM = "model_prices_and_context_window_backup.json"
"""The table's file in LiteLLM's package. The package is not imported, which would take more than a second."""
MAKERS = {
    "anthropic": "",
    "google": "gemini/",
    "gemini": "gemini/",
    "openai": "",
    "mistral": "mistral/",
    "mistralai": "mistral/",
    "deepseek": "deepseek/",
    "x-ai": "xai/",
    "xai": "xai/",
}
"""Maker or seller of a model (before the slash in its name), and the prefix of its name in LiteLLM's table."""
_PREFIXES = sorted(set(MAKERS.values()) - {""})
_VERSION = re.compile(r"[-@](?:20\d\d-\d\d-\d\d|20\d{6}|\d{4}|00\d|latest)$")
_LONG = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
_FIELDS = {
    "prompt": "input_cost_per_token",
    "completion": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
    "reasoning": "output_cost_per_reasoning_token",
}
_GENERATING = ("chat", "completion", "responses")


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per million tokens of one model, the provider's list price for ordinary calls.

    Attributes:
        cached: of prompt tokens read from the provider's cache; None: as `prompt`.
        written: of prompt tokens written into it; None: as `prompt`.
        reasoning: of hidden reasoning tokens; None: as `completion`.
        source: source of the price.
        longer: prices of calls whose prompts have more tokens than this, largest number first.
    """

    prompt: float
    completion: float
    cached: float | None = None
    written: float | None = None
    reasoning: float | None = None
    source: str = ""
    longer: tuple[tuple[int, Price], ...] = ()

    def of(self, usage: Usage) -> float:
        """Dollars for one call."""
        for tokens, price in self.longer:
            if usage.prompt > tokens:
                return price.of(usage)
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.written is None else self.written
        reasoning = self.completion if self.reasoning is None else self.reasoning
        fresh = max(0, usage.prompt - usage.cached - usage.written)
        read = fresh * self.prompt + usage.cached * cached + usage.written * written
        return (read + max(0, usage.completion - usage.reasoning) * self.completion + usage.reasoning * reasoning) / 1e6


class Table:
    """Prices by model name."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices: dict[str, Price] = {}
        for name in sorted(prices):  # a name without a version means the newest
            self._prices[undated(name.lower())] = prices[name]
        self._prices |= {name.lower(): price for name, price in prices.items()}

    def find(self, name: str) -> Price | None:
        """The price of a model by name; None without one."""
        return next((self._prices[spelt] for spelt in spellings(name) if spelt in self._prices), None)


def undated(name: str) -> str:
    """A name without the date or number of its version.

    >>> undated("gpt-4o-2024-08-06"), undated("claude-opus-4-5-20251101"), undated("mistral-large-2512"), undated("gpt-4o-mini")
    ('gpt-4o', 'claude-opus-4-5', 'mistral-large', 'gpt-4o-mini')
    """
    return _VERSION.sub("", name)


def spellings(name: str) -> Iterator[str]:
    """Possible spellings of a model's name in a table, the most likely first. Fine-tuned models ("ft:gpt-4o:...") have their own entry "ft:gpt-4o"."""
    name = name.lower()
    if name.startswith("ft:"):
        name = ":".join(name.split(":")[:2])
    maker, slash, rest = name.partition("/")
    names = [name]
    if slash and maker in MAKERS:
        names.append(MAKERS[maker] + rest)
    elif not slash:
        names += [prefix + name for prefix in _PREFIXES]
    for each in names:
        yield each
        yield undated(each)


@lru_cache(maxsize=1)
def packaged() -> tuple[Table, ...]:
    """The available tables, in order of precedence; read once a process."""
    litellm = _of_litellm()
    return (*(() if litellm is None else (Table(litellm),)), Table(shipped()))


def shipped() -> dict[str, Price]:
    """The table shipped with Hedgerow."""
    content = orjson.loads(SHIPPED.read_bytes())
    source = f"{content['source']}, {content['date']}"
    return {name: _shipped(entry, source) for name, entry in content["models"].items()}


def _shipped(entry: dict[str, Any], source: str) -> Price:
    longer = {int(tokens): _shipped(price, source) for tokens, price in entry.pop("longer", {}).items()}
    return Price(**entry, source=source, longer=tuple(sorted(longer.items(), reverse=True)))


def _of_litellm() -> dict[str, Price] | None:
    """LiteLLM's table by model name; None if the package or its table is missing."""
    spec = find_spec("litellm")  # finds the package without importing it
    file = Path(spec.origin).with_name(LITELLM) if spec is not None and spec.origin else None
    if file is None or not file.exists():
        return None
    source = f"LiteLLM {metadata.version('litellm')}"
    return {
        name: price for name, entry in orjson.loads(file.read_bytes()).items() if (price := of_entry(entry, source))
    }


def of_entry(entry: dict[str, Any], source: str) -> Price | None:
    """The price in an entry of LiteLLM's table; None if it is not for a text model priced by token."""
    if entry.get("mode") not in _GENERATING:
        return None
    base = _per_million(entry, "")
    if not {"prompt", "completion"} <= base.keys():
        return None
    steps = sorted({int(match[1]) for field in entry if (match := _LONG.fullmatch(field))}, reverse=True)
    longer = tuple((1000 * k, Price(**base | _per_million(entry, f"_above_{k}k_tokens"), source=source)) for k in steps)
    return replace(Price(**base, source=source), longer=longer)


def _per_million(entry: dict[str, Any], suffix: str) -> dict[str, Any]:
    """Dollars per million tokens, for the kinds that have a price in the entry."""
    dollars = {name: entry.get(field + suffix) for name, field in _FIELDS.items()}
    return {name: round(1e6 * value, 9) for name, value in dollars.items() if isinstance(value, int | float)}


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
    known = packaged() if settings.tables else ()
    return Prices(settings.models, lambda name: next(filter(None, (table.find(name) for table in known)), None))
