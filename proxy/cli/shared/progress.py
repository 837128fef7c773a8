"""Progress bars on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .showing import terminal

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID


def progress_bar(*columns: ProgressColumn) -> Progress:
    """Progress bars on standard error that leave nothing behind; none where that is not a terminal. `columns`: what stands behind the name."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = terminal(stderr=True)
    name = TextColumn("{task.description}", markup=False)
    columns = columns or (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(name, *columns, console=console, transient=True, disable=not console.is_terminal)


@dataclass(frozen=True, slots=True)
class Bar:
    """The progress bar of one piece of work."""

    _progress: Progress
    _task: TaskID

    def advance(self, steps: float = 1) -> None:
        """So much more is done."""
        self._progress.advance(self._task, steps)

    def note(self, line: str) -> None:
        """Print a line above the bar, as it is."""
        self._progress.console.print(line, soft_wrap=True)


@contextmanager
def advancing(what: str, total: float | None, *columns: ProgressColumn) -> Iterator[Bar]:
    """A progress bar while something is worked off; `total`: its steps, None where they are not known."""
    with progress_bar(*columns) as progress:
        yield Bar(progress, progress.add_task(what, total=total))
