"""Settings of prices."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .sections import Section

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(Section):
    """What the tokens of some models cost, in US dollars per million."""

    model: str
    """Pattern for the model's name in the request or the answer (`*` and `?`, in any case). The first match counts."""
    prompt: Dollars
    """Price of prompt tokens."""
    completion: Dollars
    """Price of completion tokens."""
    cached: Dollars | None = None
    """Price of prompt tokens read from the provider's cache. Unset: as `prompt`."""
    written: Dollars | None = None
    """Price of prompt tokens written to the provider's cache. Unset: as `prompt`."""
    reasoning: Dollars | None = None
    """Price of hidden reasoning tokens. Unset: as `completion`."""


class Prices(Section):
    """What tokens cost (docs/costs.md). A model without a price has no cost."""

    models: tuple[ModelPrice, ...] = ()
    """Your own prices; they have precedence over the tables."""
    tables: bool = True
    """Whether to use tables for other models: LiteLLM's, if its package is installed, then the short one of this package."""
