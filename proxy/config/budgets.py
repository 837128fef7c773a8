"""Settings of budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .sections import Section

Limit = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Budget(Section):
    """What requests of calibrating routes may spend in a day, until midnight UTC (docs/costs.md)."""

    route: str | None = None
    """Pattern for route names; each matching route has its own budget. Unset: all routes share one."""
    key: str | None = None
    """Pattern for key names; each matching key has its own budget, and requests without a named key have none. Unset: all requests share
    one."""
    unit: Literal["tokens", "dollars"] = "tokens"
    """The unit. Dollars include only calls with a known price."""
    soft: Limit | None = None
    """Amount from which requests draw fewer answers. Unset: no such limit."""
    hard: Limit | None = None
    """Maximum amount; requests that would exceed it are passed through, with the reason `over_budget`. Unset: no such limit."""
    samples: Annotated[int, Field(ge=2, le=100)] | None = None
    """Number of answers for a request over `soft`. Unset: half of the route's `sampling.n`. Never fewer than its `min_n`."""

    @model_validator(mode="after")
    def _limits_something(self) -> Budget:
        if self.soft is None and self.hard is None:
            raise ValueError("needs `soft`, `hard` or both")
        if self.soft is not None and self.hard is not None and self.soft > self.hard:
            raise ValueError(f"soft is {self.soft:g}, beyond hard ({self.hard:g})")
        return self
