"""Settings of budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hedgerow.proxy.config.sections import Section

Limit = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Budget(Section):
    """What the requests of routes that calibrate may spend in a day, which ends at midnight UTC (docs/costs.md)."""

    route: str | None = None
    """Pattern over the names of routes; each that matches has this budget for itself. Unset: all routes share one."""
    key: str | None = None
    """Pattern over the names of keys; each that matches has this budget for itself, and requests without a named key have none. Unset: all requests
    share one."""
    unit: Literal["tokens", "dollars"] = "tokens"
    """What is counted. Dollars are those of calls whose price is known."""
    soft: Limit | None = None
    """From here on requests draw fewer answers. Unset: nowhere."""
    hard: Limit | None = None
    """What would go beyond is passed on plain, with the reason `over_budget`. Unset: nothing is."""
    samples: Annotated[int, Field(ge=2, le=100)] | None = None
    """Answers drawn for a request beyond `soft`. Unset: half of the route's `sampling.n`. Never fewer than its `min_n`."""

    @model_validator(mode="after")
    def _limits_something(self) -> Budget:
        if self.soft is None and self.hard is None:
            raise ValueError("needs `soft`, `hard` or both")
        if self.soft is not None and self.hard is not None and self.soft > self.hard:
            raise ValueError(f"soft is {self.soft:g}, beyond hard ({self.hard:g})")
        return self
