"""Parse dates and time spans as users write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def seconds_of(text: str) -> float | None:
    """Seconds of a span such as "14d" or "36h"; None for anything else."""
    span = _SPAN.fullmatch(text)
    return None if span is None else float(span[1]) * _SECONDS[span[2]]


def date_of(text: str) -> float | None:
    """Seconds since 1970 of a date like 2026-11-01 (UTC); None for anything else."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
