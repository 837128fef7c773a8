"""Check at the start which models edit answers as asked. Imported only if a route calibrates."""

from __future__ import annotations

from collections.abc import Mapping

from ..config import Settings
from ..pipeline.steps import RoutePipeline
from ..rewriting.editor_check import Checking, check
from .upstreams import singles


async def check_editors(settings: Settings, steps: Mapping[str, RoutePipeline]) -> None:
    """Try each model that is known and can be called without a client's key, once; the others are tried by the first answer that needs a mark."""
    for route in settings.routes:
        editor = steps[route.name].editor if route.name in steps else None
        if editor is None or editor.is_trusted:
            continue
        asker = Checking(editor.prompting.model or route.model or "")
        is_known = bool(asker.model) and has_key(settings, editor.upstream)
        if is_known and editor.readiness.state(editor.key(asker)) == "unknown":
            await check(editor, asker)


def has_key(settings: Settings, upstream: str) -> bool:
    """Whether an upstream is called with a key of its own; else the client's key passes through."""
    single = singles(settings.upstreams)
    return all(getattr(single[name], "api_key", None) is not None for name in settings.members(upstream))
