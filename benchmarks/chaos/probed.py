"""`hedgerow serve` with a probe: on SIGUSR2 the process writes how many tasks its event loop has. Started by `serving`, in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from hedgerow.proxy.cli import app
from hedgerow.proxy.gateway.protocol import Http11

TASKS_FILE, PATIENCE_S = "CHAOS_TASKS_FILE", "CHAOS_PATIENCE_S"
"""Environment: where the number goes; how long a client may be silent in the middle of a request (30 and 60 s otherwise)."""


def _write_tasks(_number: int, _frame: object) -> None:
    place = Path(os.environ[TASKS_FILE])
    names = [task.get_name() for task in asyncio.all_tasks() if not task.done()]
    new = place.with_suffix(".new")
    new.write_text("\n".join(sorted(names)))
    new.replace(place)


if __name__ == "__main__":
    Http11.HEAD_S = Http11.IDLE_S = float(os.environ[PATIENCE_S])
    signal.signal(signal.SIGUSR2, _write_tasks)
    app()
