"""`config.yaml` as frozen settings: every key with a description, a unit and a default. `docs/config.md` is generated from these files."""

from hedgerow.proxy.config.budgets import Budget
from hedgerow.proxy.config.faults import refused
from hedgerow.proxy.config.prices import ModelPrice, Prices
from hedgerow.proxy.config.reading import load, load_known, read_mapping
from hedgerow.proxy.config.routes import Mode, Policy, Promises, ReaderModel, Route, Sampling, StoreText
from hedgerow.proxy.config.sections import Section
from hedgerow.proxy.config.settings import Audit, Drift, Log, Settings, Tracing
from hedgerow.proxy.config.upstreams import (
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
