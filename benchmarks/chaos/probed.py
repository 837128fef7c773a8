"""`hedgerow serve` with probes: on SIGUSR2 the process writes how many tasks its event loop has, it notes for how long its event loop was held up, and it
believes in the trouble that a file names: a disk that fails, or a clock that is wrong. Started by `serving`, in a process of its own.
"""

from __future__ import annotations

import asyncio
import builtins
import fcntl
import io
import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from hedgerow.proxy.cli import app
from hedgerow.proxy.gateway.protocol import Http11

TASKS_FILE, HELD_FILE, PATIENCE_S = "CHAOS_TASKS_FILE", "CHAOS_HELD_FILE", "CHAOS_PATIENCE_S"
TROUBLE_FILE = "CHAOS_TROUBLE_FILE"
"""Environment: where the names of tasks go; where the seconds go; how long a client may be silent in the middle of a request (30 and 60 s otherwise);
what is wrong.
"""
LOOK_S = 0.01
FILE_OPERATIONS = (
    (os, "open write fsync ftruncate fstat dup listdir scandir mkdir unlink rename replace stat"),
    (fcntl, "flock"),
    (io, "open"),
    (builtins, "open"),
)
STANDARD_ERROR = 2


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


class Trouble:
    """What is wrong now, as the file says: `errno` of file operations in `folders` and of the log, and `ahead_s` of the clock."""

    def __init__(self, place: str) -> None:
        self._place, self._stat, self._now, self._read = place, os.stat, time.time, Path(place).read_text
        self._stamp, self._looked = 0, 0.0
        self._told: dict[str, Any] = {}

    def told(self) -> dict[str, Any]:
        """The file's content; looked at twenty times a second."""
        if time.monotonic() >= self._looked + 0.05:
            self._looked = float("inf")  # to look at it is a file operation too
            with suppress(
                OSError, ValueError
            ):  # not there yet, or half written: what was read last holds until the next look
                if (stamp := self._stat(self._place).st_mtime_ns) != self._stamp:
                    self._told, self._stamp = json.loads(self._read()), stamp
            self._looked = time.monotonic()
        return self._told

    def begin(self) -> None:
        """Put the trouble in place of the real operations."""
        for module, names in FILE_OPERATIONS:
            for name in names.split():
                setattr(module, name, self._failing(getattr(module, name)))
        time.time = lambda: self._now() + self.told().get("ahead_s", 0.0)

    def _failing(self, real: Any) -> Any:
        def call(what: Any = ".", *rest: Any, **more: Any) -> Any:
            told = self.told()
            if (number := told.get("errno")) and self._concerns(what, told["folders"]):
                raise OSError(number, os.strerror(number), str(what))
            return real(what, *rest, **more)

        return call

    @staticmethod
    def _concerns(what: Any, folders: list[str]) -> bool:
        if isinstance(what, int):
            if what == STANDARD_ERROR:
                return True
            try:
                what = os.readlink(f"/proc/self/fd/{what}")
            except OSError:
                return False
        return isinstance(what, str | os.PathLike) and str(what).startswith(tuple(folders))


if __name__ == "__main__":
    Http11.HEAD_S = Http11.IDLE_S = float(os.environ[PATIENCE_S])
    Http11.connection_made = _first  # type: ignore[method-assign]
    Trouble(os.environ[TROUBLE_FILE]).begin()
    signal.signal(signal.SIGUSR2, _write_tasks)
    app()
