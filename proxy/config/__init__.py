"""`config.yaml` as frozen settings: every key with a description, a unit and a default. `docs/config.md` is generated from these files."""

from hedgerow.proxy.config.reading import load, read_mapping, refused
from hedgerow.proxy.config.routes import Mode, Policy, Promises, ReaderModel, Route, Sampling, StoreText
from hedgerow.proxy.config.sections import Section
from hedgerow.proxy.config.settings import Audit, Drift, Log, Settings, Tracing
from hedgerow.proxy.config.upstreams import EmbeddedUpstream, HttpUpstream, LiteLLMUpstream, Upstream

__all__ = [
    "Audit",
    "Drift",
    "EmbeddedUpstream",
    "HttpUpstream",
    "LiteLLMUpstream",
    "Log",
    "Mode",
    "Policy",
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
    "read_mapping",
    "refused",
]
