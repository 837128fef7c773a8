"""`config.yaml` as frozen settings: every key with a description, a unit and a default. `docs/config.md` is generated from these files."""

from .budgets import Budget
from .faults import refused
from .prices import ModelPrice, Prices
from .reading import load, load_known, read_mapping
from .routes import Mode, Policy, Promises, ReaderModel, Route, Sampling, StoreText
from .sections import Section
from .settings import Audit, Drift, Log, Settings, Tracing
from .upstreams import (
    Circuit,
    EmbeddedUpstream,
    GroupUpstream,
    HttpUpstream,
    LiteLLMUpstream,
    Upstream,
)

__all__ = [
    "Audit",
    "Budget",
    "Circuit",
    "Drift",
    "EmbeddedUpstream",
    "GroupUpstream",
    "HttpUpstream",
    "LiteLLMUpstream",
    "Log",
    "Mode",
    "ModelPrice",
    "Policy",
    "Prices",
    "Promises",
    "ReaderModel",
    "Route",
    "Sampling",
    "Section",
    "Settings",
    "StoreText",
    "Tracing",
    "Upstream",
    "load",
    "load_known",
    "read_mapping",
    "refused",
]
