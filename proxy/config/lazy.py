"""Loading what a table names: our own modules that are imported only where a configuration uses them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_object(target: str) -> Any:
    """What "package.module:name" names; the module is imported now."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
