"""Settings of prices."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hedgerow.proxy.config.sections import Section

Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelPrice(Section):
    """What the tokens of some models cost, in US dollars per million."""

    model: str
    """Pattern over the model's name, as the request or the answer has it (`*` and `?`, in any case). The first that matches counts."""
    prompt: Dollars
    """Of the prompt."""
    completion: Dollars
    """Of the answer."""
    cached: Dollars | None = None
    """Of the prompt, read from the provider's cache. Unset: as `prompt`."""
    written: Dollars | None = None
    """Of the prompt, written into the provider's cache. Unset: as `prompt`."""
    reasoning: Dollars | None = None
    """Thought and not said. Unset: as `completion`."""


class Prices(Section):
    """What tokens cost (docs/costs.md). A model without a price has no cost."""

    models: tuple[ModelPrice, ...] = ()
    """Your own prices; they come before those of the tables."""
    tables: bool = True
    """Whether the tables are asked for models that you do not price: LiteLLM's, where its package is installed, then the short one of this package."""
