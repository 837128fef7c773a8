"""Writes prices.json here, what LiteLLM says that calls cost, and the shipped table of prices. Run: python tests/goldens/make_prices.py."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # the table in the package, not the one on the network

import litellm
from litellm.types.utils import CompletionTokensDetailsWrapper, PromptTokensDetailsWrapper, Usage

from hedgerow.proxy.spending.prices import SHIPPED, Price, of_entry

HERE = Path(__file__).parent
ORIGIN = f"LiteLLM {version('litellm')}"
MODELS = (
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4.1-nano",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-5.1",
    "gpt-5.2",
    "gpt-5.4",
    "gpt-5.5",
    "o3",
    "o4-mini",
    "claude-haiku-4-5",
    "claude-sonnet-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-5",
    "claude-opus-4-6",
    "gemini/gemini-2.5-pro",
    "gemini/gemini-2.5-flash",
    "gemini/gemini-2.5-flash-lite",
    "gemini/gemini-3.1-pro-preview",
    "mistral/mistral-large-latest",
    "mistral/mistral-medium-latest",
    "mistral/mistral-small-latest",
    "deepseek/deepseek-chat",
    "xai/grok-4.3",
)
"""What is shipped: models in wide use."""
CALLS = (
    {"prompt": 1200, "completion": 340},
    {"prompt": 5000, "completion": 800, "cached": 4096},
    {"prompt": 2000, "completion": 900, "reasoning": 640},
    {"prompt": 300_000, "completion": 1000, "cached": 100_000},
)
WRITES = {"prompt": 6000, "completion": 500, "cached": 1000, "written": 4000}
"""A call that writes into the cache too; for providers that charge for it."""


def cost(model: str, call: dict[str, int]) -> float:
    """What LiteLLM says that a call costs, in dollars."""
    usage = Usage(
        prompt_tokens=call["prompt"],
        completion_tokens=call["completion"],
        total_tokens=call["prompt"] + call["completion"],
        prompt_tokens_details=PromptTokensDetailsWrapper(
            cached_tokens=call.get("cached", 0), cache_creation_tokens=call.get("written", 0)
        ),
        completion_tokens_details=CompletionTokensDetailsWrapper(reasoning_tokens=call.get("reasoning", 0)),
        cache_creation_input_tokens=call.get("written", 0),
        cache_read_input_tokens=call.get("cached", 0),
    )
    return sum(litellm.cost_per_token(model=model, usage_object=usage))


def entry(price: Price) -> dict[str, Any]:
    """A price as the shipped table has it."""
    kinds = ("prompt", "completion", "cached", "written", "reasoning")
    values: dict[str, Any] = {kind: value for kind in kinds if (value := getattr(price, kind)) is not None}
    longer = {str(tokens): entry(more) for tokens, more in price.longer}
    return values | ({"longer": longer} if longer else {})


def write(path: Path, content: Any) -> None:
    """One entry a line."""
    path.write_text(json.dumps(content).replace("}, ", "},\n ") + "\n", encoding="utf-8")


if __name__ == "__main__":
    prices = {model: price for model in MODELS if (price := of_entry(litellm.model_cost[model], ORIGIN))}
    today = datetime.now(UTC).date().isoformat()
    write(
        SHIPPED, {"source": ORIGIN, "date": today, "models": {model: entry(price) for model, price in prices.items()}}
    )
    calls = {model: (*CALLS, WRITES) if price.written else CALLS for model, price in prices.items()}
    golden = [{"model": m, **call, "dollars": cost(m, call)} for m, made in calls.items() for call in made]
    write(HERE / "prices.json", {"origin": f"{ORIGIN}: cost_per_token", "calls": golden})
