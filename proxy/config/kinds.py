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


_OWN = "there is one vetted list; for other words make a lexicon of your own (`hedgerow lexicon new`)"
REMOVED = {
    "rewriting.rewriter": "it is now `rewriting.by`: `local` (was `template`), `editor` (was `decide` or `llm`) or `auto`",
    **dict.fromkeys(("rewriting.by: direct_beta", "rewriting.by: hedged_qa"), "use `auto`, `editor` or `local`"),
    **dict.fromkeys(("rewriting.register", "rewriting.registers"), f"`rewriting.voice` is what is left; {_OWN}"),
    **dict.fromkeys(("rewriting.wordings", "rewriting.boosters", "rewriting.never", "rewriting.shortlist"), _OWN),
    "rewriting.k": "leave it out; an editor is shown 5 hedges",
    "rewriting.temperature": "leave it out; an editor is asked at 0",
    "sampling.adaptive": "use `sampling.stop_early`",
    "sampling.batch": "leave it out; `stop_early` draws three answers at a time",
    "sampling.tolerance": "leave it out; `stop_early` allows a change of .2",
    "map: adaptive": "fit a map of another kind (`hedgerow fit`), and save answers with `sampling.stop_early`",
    **dict.fromkeys(("equivalence: embeddings", "equivalence: nli"), "use `local` or `llm`"),
    **dict.fromkeys(("judge.claims: local", "judge.claims: auto"), "use `stated`, `llm` or `none`"),
    "linguistic.reader: embeddings": "use `local` or `models`",
    "linguistic.passes": "leave it out; each model is asked three times",
    "grading.max_pending": "leave it out; 100 answers may wait",
    "grading.calls": "leave it out; two are asked at a time",
    "review.order: spread": "use `mixed` or `random`",
}
"""What the configuration no longer has, by key or "key: value", and what to do instead: the reader of the file says it (docs/decisions/0015)."""


# Import the modules named in tables, only if a configuration uses them.


def load_object(target: str) -> Any:
    """Import and return "package.module:name"."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
