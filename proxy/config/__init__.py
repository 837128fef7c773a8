"""`config.yaml` as frozen settings: every key with a description, a unit and a default. `docs/config.md` is generated from these files."""

from .reading import load, load_known, read_mapping
from .routes import Mode, Policy, Promises, ReaderModel, Route, Sampling, StoreText
from .sections import Section
from .settings import Audit, Budget, Drift, Log, ModelPrice, PriceSettings, Settings, TracingSettings
from .upstreams import CircuitSettings, EmbeddedUpstream, GroupUpstream, HttpUpstream, LiteLLMUpstream, Upstream

__all__ = [
    "Audit",
    "Budget",
    "CircuitSettings",
    "Drift",
    "EmbeddedUpstream",
    "GroupUpstream",
    "HttpUpstream",
    "LiteLLMUpstream",
    "Log",
    "Mode",
    "ModelPrice",
    "Policy",
    "PriceSettings",
    "Promises",
    "ReaderModel",
    "Route",
    "Sampling",
    "Section",
    "Settings",
    "StoreText",
    "TracingSettings",
    "Upstream",
    "load",
    "load_known",
    "read_mapping",
]
