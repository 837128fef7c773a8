"""Named keys in a store, made as an operator's tools make them."""

from __future__ import annotations

import time
from typing import Any

from hedgerow.proxy.audit import keys
from hedgerow.proxy.audit.engine import open_engine
from hedgerow.proxy.config import Audit
from hedgerow.proxy.types import Key


def new_key(url: str, name: str, **settings: Any) -> str:
    """Make a key in the store at an address; its secret."""
    engine = open_engine(Audit(url=url))
    try:
        made = keys.create(engine, Key(name, **settings), actor="test")
    finally:
        engine.dispose()
    assert made is not None
    return made[1]


def on_store(url: str, function: Any, *arguments: Any, **named: Any) -> Any:
    """What a function of `hedgerow.proxy.audit` does to the store at an address."""
    engine = open_engine(Audit(url=url))
    try:
        return function(engine, *arguments, **named)
    finally:
        engine.dispose()


def in_one_day(needed_s: float = 30.0) -> None:
    """Wait, if less than that is left of this day (UTC), at whose end budgets begin anew."""
    if (left := 86_400 - time.time() % 86_400) < needed_s:
        time.sleep(left + 0.1)


def in_one_minute(needed_s: float = 10.0) -> None:
    """Wait, if less than that is left of this minute of the clock."""
    if (left := 60 - time.time() % 60) < needed_s:
        time.sleep(left + 0.1)
