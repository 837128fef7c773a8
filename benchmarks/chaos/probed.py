"""`hedgerow serve` with two probes: on SIGUSR2 the process writes how many tasks its event loop has, and it notes for how long its event loop was held up.
Started by `serving`, in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

from hedgerow.proxy.cli import app
from hedgerow.proxy.gateway.protocol import Http11

TASKS_FILE, HELD_FILE, PATIENCE_S = "CHAOS_TASKS_FILE", "CHAOS_HELD_FILE", "CHAOS_PATIENCE_S"
"""Environment: where the names of tasks go; where the seconds go; how long a client may be silent in the middle of a request (30 and 60 s otherwise)."""
LOOK_S = 0.01


def _write_tasks(_number: int, _frame: object) -> None:
    place = Path(os.environ[TASKS_FILE])
    names = [task.get_name() for task in asyncio.all_tasks() if not task.done()]
    new = place.with_suffix(".new")
    new.write_text("\n".join(sorted(names)))
    new.replace(place)


async def note_held(place: Path) -> None:
    """Write the most seconds of processor time that this process has spent between two looks of its event loop; from the beginning where the file is
    gone. Unlike the time of the clock it is not longer where other processes use the machine.
    """
    worst = -1.0
    while True:
        before = time.process_time()
        await asyncio.sleep(LOOK_S)
        held = time.process_time() - before
        if not place.exists() or held > worst:  # noqa: ASYNC240 # a moment, in memory
            worst = held
            place.write_text(str(worst))  # noqa: ASYNC240


_made, _running = Http11.connection_made, set[asyncio.Task[None]]()


def _first(self: Http11, transport: asyncio.Transport) -> None:
    """The first connection begins the probe of the loop."""
    Http11.connection_made = _made  # type: ignore[method-assign]
    _running.add(self.loop.create_task(note_held(Path(os.environ[HELD_FILE])), name="probe"))
    _made(self, transport)


if __name__ == "__main__":
    Http11.HEAD_S = Http11.IDLE_S = float(os.environ[PATIENCE_S])
    Http11.connection_made = _first  # type: ignore[method-assign]
    signal.signal(signal.SIGUSR2, _write_tasks)
    app()
