"""Import the modules named in tables, only if a configuration uses them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load_object(target: str) -> Any:
    """Import and return "package.module:name"."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
