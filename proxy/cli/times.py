"""Points in time as people type them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

from hedgerow.proxy.cli.common import stop

_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def moment(text: str) -> float:
    """Seconds since 1970 of "14d" (ago), "36h", or a date like 2026-11-01 (UTC); anything else ends the command."""
    if (span := _SPAN.fullmatch(text)) is not None:
        return time.time() - float(span[1]) * _SECONDS[span[2]]
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        stop(f"--since {text!r} is no time; write 14d, 36h or a date like 2026-11-01")
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
