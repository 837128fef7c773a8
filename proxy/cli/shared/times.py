"""Points in time as options give them."""

from __future__ import annotations

import time

from ...audit.formats import date_of, seconds_of
from .messages import stop


def moment(text: str, option: str = "--since") -> float:
    """Seconds since 1970 of "14d" (ago), "36h", or a date like 2026-11-01 (UTC); anything else ends the command, which names the option."""
    if (span := seconds_of(text)) is not None:
        return time.time() - span
    if (at := date_of(text)) is None:
        stop(f"Invalid {option} value {text!r}. Use a date (2026-11-21) or a span such as 14d or 6h.")
    return at
