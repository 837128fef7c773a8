"""What tokens cost: against LiteLLM's own arithmetic, by every name that a model goes by, and never a guess."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hedgerow.proxy.config import ModelPrice, PriceSettings
from hedgerow.proxy.spending import prices
from hedgerow.proxy.spending.prices import Price, Table, open_prices
from hedgerow.proxy.types import Usage
from tests.support.tables import cases

GOLDEN: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[3] / "goldens" / "prices.json").read_text(encoding="utf-8")
)["calls"]
SHIPPED = Table(prices.shipped())


def usage_of(call: dict[str, Any]) -> Usage:
    return Usage(**{kind: count for kind, count in call.items() if kind not in ("model", "dollars")})


@cases("call", GOLDEN, ids=lambda call: f"{call['model']} {call['prompt']}")
def test_calls_cost_what_litellm_says(call: dict[str, Any]) -> None:
    """Cached, written and reasoning tokens, and prompts so long that they cost more, by the shipped table."""
    price = SHIPPED.find(call["model"])
    assert price is not None
    assert price.of(usage_of(call)) == pytest.approx(call["dollars"], rel=1e-9)


def test_the_installed_litellm_has_its_table_read_and_is_not_imported() -> None:
    """A model that only the large table knows has a price, in a process that never imports the library."""
    pytest.importorskip("litellm")
    code = (
        "import sys; from hedgerow.proxy.spending.prices import packaged; table = packaged()[0]; "
        "price = table.find('azure/gpt-4o'); print(price.prompt, price.source, 'litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    prompt, source, _version, imported = done.stdout.split()
    assert (float(prompt), source, imported) == (2.5, "LiteLLM", "False")


@cases(
    ("name", "listed"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("OpenAI/GPT-4o", "gpt-4o"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-opus-4-5", "claude-opus-4-5"),
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro"),
        ("google/gemini-2.5-pro-001", "gemini/gemini-2.5-pro"),
        ("mistral-large-2512", "mistral/mistral-large-latest"),
        ("mistral-large", "mistral/mistral-large-latest"),
        ("deepseek-chat", "deepseek/deepseek-chat"),
    ],
)
def test_names_are_matched_as_people_and_providers_write_them(name: str, listed: str) -> None:
    """With or without maker and version, in any case."""
    assert SHIPPED.find(name) is SHIPPED.find(listed) is not None


@cases(
    "name",
    [
        "",
        "any",
        "gpt-4o-minimal",
        "gpt-4",
        "my-gpt-4o",
        "meta-llama/Llama-3.1-8B-Instruct",
        "acme/gpt-4o",
        "ft:gpt-4o:a",
    ],
)
def test_another_model_has_no_price(name: str) -> None:
    """A name that is like a known one is not that one; a model's name at a host that is not its maker may cost anything there."""
    assert SHIPPED.find(name) is None


def test_of_several_versions_the_newest_stands_for_the_bare_name() -> None:
    """A table that lists dated names alone."""
    table = Table({"m-2024-05-13": Price(5, 15), "m-2024-11-20": Price(2.5, 10), "m-2024-08-06": Price(3, 12)})
    assert [table.find(name).prompt for name in ("m", "m-2025-01-01", "m-2024-05-13")] == [2.5, 2.5, 5]  # type: ignore[union-attr]


def test_own_prices_come_first_and_unknown_models_cost_nobody_knows_what() -> None:
    """By pattern, over the name asked for or the one that answered; without tables nothing else has a price."""
    own = ModelPrice(model="team-*", prompt=1, completion=2, cached=0.5)
    usage = Usage(1_000_000, 1_000_000, cached=500_000, model="gpt-4o-2024-08-06")
    prices = open_prices(PriceSettings(models=(own,)))
    assert prices.cost(usage, "Team-large") == 0.5 + 0.25 + 2
    assert prices.cost(usage, "m") == pytest.approx(0.5 * 2.5 + 0.5 * 1.25 + 10)
    alone = open_prices(PriceSettings(models=(own,), tables=False))
    assert alone.cost(usage, "m") is None
    assert alone.cost(usage, "team-large") == 2.75


def test_what_an_upstream_does_not_count_has_no_cost() -> None:
    """No tokens told is not no tokens spent; nothing asked costs nothing."""
    prices = open_prices(PriceSettings())
    costs = prices.costs(
        {"answer": (Usage(model="gpt-4o"),), "samples": (), "judge": (Usage(10, 1, model="gpt-4o"),)}, "x"
    )
    assert costs == {"answer": None, "samples": 0.0, "judge": pytest.approx(35e-6)}
