"""The tables of signals, judges, rewriters and upstreams, used by configuration, documents and the pipeline's factories.

To add a kind, write a file with a `build` (for an upstream: a settings class) and one line here. Its module is imported when a route uses it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...calibration.kinds import Kind, table

_SIGNALS, _CLUSTERING, _REWRITING = "hedgerow.proxy.signals", "hedgerow.proxy.clustering", "hedgerow.proxy.rewriting"

SIGNALS = table(
    Kind("semantic", "how many answers agree", f"{_SIGNALS}.semantic:build"),
    Kind("token", "how probable the answers' words were", f"{_SIGNALS}.token:build", needs_logprobs=True),
    Kind("linguistic", "how confident the answer sounds", f"{_SIGNALS}.linguistic:build"),
    Kind("consistency", "how many answers support each of its sentences", f"{_SIGNALS}.consistency:build"),
    Kind("p_true", "what the model answers when asked whether it is right", f"{_SIGNALS}.p_true:build"),
    Kind("combined", "`semantic` and `token`, weighed", f"{_SIGNALS}.combine:build", needs_logprobs=True),
)
"""`build(context)` returns a function (request, callback for token usage) -> signal."""

JUDGES = table(
    Kind("rules", "rules alone", f"{_CLUSTERING}.clusterer:build"),
    Kind("local", "words of a short answer in a long one after the rules", f"{_CLUSTERING}.likely:build"),
    Kind("llm", "one call to a language model after the rules", f"{_CLUSTERING}.llm:build"),
)
"""`build(context)` returns a function (request, callback for token usage) -> clusterer."""

REWRITERS = table(
    Kind("auto", "`editor`, while its model replies as asked, else `local`", f"{_REWRITING}.local:LocalRewriter"),
    Kind("editor", "a chat model that replies with edits and notes", f"{_REWRITING}.local:LocalRewriter"),
    Kind("local", "no model call", f"{_REWRITING}.local:LocalRewriter"),
)
"""Made for every route: `services/factories.py`."""

UPSTREAMS = table(
    Kind("openai", "a server that speaks the OpenAI protocol", "hedgerow.proxy.config.upstreams:HttpUpstream"),
    Kind("litellm", "any provider that LiteLLM knows", "hedgerow.proxy.config.upstreams:LiteLLMUpstream"),
    Kind("embedded", "a small model in this process", "hedgerow.proxy.config.upstreams:EmbeddedUpstream"),
    Kind("group", "several of these, balanced and in a chain", "hedgerow.proxy.config.upstreams:GroupUpstream"),
)
"""By `provider`: the settings of an upstream, a section whose `opens` names the function that opens it."""


# Import the modules named in tables, only if a configuration uses them.


def load_object(target: str) -> Any:
    """Import and return "package.module:name"."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
