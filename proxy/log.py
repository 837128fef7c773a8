"""What an operator is told: an event and its fields, `log.warning("drift_alarm", route="bench")`. Codes and figures, never a user's text.

Where lines go, and how they look, is set once for a process (`hedgerow.proxy.monitoring.logs`). Until then they go to `logging`, as those of any
library do. A logging library of others would be imported by every start, with all that it can draw on terminals.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from typing import Any, Literal

Level = Literal["debug", "info", "warning", "error"]
Fields = dict[str, Any]
"""What a line says: `event`, and whatever else is known. An exception stands under `exc_info`."""
Write = Callable[[Level, Fields], None]

SEVERITY: dict[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
CAUSES = 5
"""How many exceptions of a chain are logged."""
_logger = logging.getLogger("hedgerow")


def without_words(error: BaseException | None) -> str:
    """An exception and its causes: their kinds and where they came from. A message may quote what was said, so only those of the
    machine (files, modules, memory) are kept.
    """
    parts: list[str] = []
    while error is not None and len(parts) < CAUSES:
        words = f": {error}" if isinstance(error, ImportError | OSError | MemoryError) else ""
        frames = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"{frames}{type(error).__qualname__}{words}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n\nwhich came of this:\n\n".join(parts)


def to_logging(level: Level, fields: Fields) -> None:
    """Hand a line to `logging`."""
    error = fields.pop("exc_info", None)
    line = " ".join(f"{name}={value}" for name, value in fields.items())
    _logger.log(SEVERITY[level], line if error is None else f"{line}\n{without_words(error)}")


class _Outlet:
    """Where the lines of this process go, and the least severity of those that go there."""

    write: Write = staticmethod(to_logging)
    least = SEVERITY["debug"]


def write_to(write: Write, least: Level = "debug") -> None:
    """Give all lines that are at least so severe to a function."""
    _Outlet.write, _Outlet.least = staticmethod(write), SEVERITY[least]


def debug(event: str, **fields: Any) -> None:
    """What helps to find a fault."""
    _tell("debug", event, fields)


def info(event: str, **fields: Any) -> None:
    """What happened as it should."""
    _tell("info", event, fields)


def warning(event: str, **fields: Any) -> None:
    """What an operator may have to look at."""
    _tell("warning", event, fields)


def error(event: str, **fields: Any) -> None:
    """What went wrong."""
    _tell("error", event, fields)


def exception(event: str, **fields: Any) -> None:
    """What went wrong, with the exception that is being handled."""
    _tell("error", event, fields | {"exc_info": sys.exception()})


def _tell(level: Level, event: str, fields: Fields) -> None:
    if SEVERITY[level] >= _Outlet.least:
        _Outlet.write(level, {**fields, "event": event})
