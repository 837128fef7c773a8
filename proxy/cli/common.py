"""What commands share: options, the configuration, points in time, rows at fault, a progress bar, and stopping with one sentence."""

from __future__ import annotations

import getpass
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hedgerow.calibration.errors import CalibrationError
from hedgerow.proxy.config import Route, Settings, load_known
from hedgerow.proxy.errors import ConfigError, HedgerowError, InputError, UpstreamRejected
from hedgerow.proxy.lab.datasets import UNREADABLE, BadRow

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

ConfigPath = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")]
CONFIG = Path("config.yaml")
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Continue without rows that cannot be used.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")]
Actor = Annotated[str | None, typer.Option(help="Who does it, for the record; the user of this shell by default.")]
Note = Annotated[str | None, typer.Option(help="Why, for the record.")]
On = Annotated[
    str | None,
    typer.Option("--on", help="Spread the work over Ray: ray (this machine, or RAY_ADDRESS), or ray://HOST:PORT."),
]
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def stop(message: str, code: int = 2) -> NoReturn:
    """End with one sentence on standard error. 2: bad input or configuration; 1: a check that failed."""
    typer.echo(f"hedgerow: {message}", err=True)
    raise typer.Exit(code)


def configuration(path: Path) -> Settings:
    """The settings in a file; where they cannot be used, one line a fault, and the end. A variable of the environment that is not set is an error
    only where its value is used.
    """
    try:
        return load_known(path)[0]
    except ConfigError as error:
        stop(str(error))


@contextmanager
def one_sentence(*, on_interrupt: str = "stopped") -> Iterator[None]:
    """End with one sentence where something fails that a user can mend: 2 for input and settings, 1 for what an upstream or store did."""
    try:
        yield
    except (ConfigError, InputError, CalibrationError) as error:
        stop(str(error))
    except UpstreamRejected as error:
        stop(error.sentence, code=1)
    except HedgerowError as error:
        stop(str(error), code=1)
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        stop(on_interrupt, code=1)


def calibrating_route(settings: Settings, name: str | None) -> Route:
    """The named route, or the first that calibrates."""
    if name is not None:
        return named_route(settings, name)
    route = next((route for route in settings.routes if route.calibrates), None)
    if route is None:
        stop("no route calibrates; name one with --route")
    return route


def named_route(settings: Settings, name: str) -> Route:
    """The route of this name; where there is none, one sentence, and the end."""
    routes = {route.name: route for route in settings.routes}
    if name not in routes:
        stop(f"no route is called {name!r}; the routes are {', '.join(routes)}")
    return routes[name]


def seconds_of(text: str) -> float | None:
    """How long "14d" or "36h" is; None for anything else."""
    span = _SPAN.fullmatch(text)
    return None if span is None else float(span[1]) * _SECONDS[span[2]]


def moment(text: str, option: str = "--since") -> float:
    """Seconds since 1970 of "14d" (ago), "36h", or a date like 2026-11-01 (UTC); anything else ends the command, which names the option."""
    if (span := seconds_of(text)) is not None:
        return time.time() - span
    if (at := date_of(text)) is None:
        stop(f"Invalid {option} value {text!r}. Use a date (2026-11-21) or a span such as 14d or 6h.")
    return at


def date_of(text: str) -> float | None:
    """Seconds since 1970 of a date like 2026-11-01 (UTC); None for anything else."""
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def whoami() -> str:
    """The account that runs the command, as the record of changes keeps it."""
    try:
        return f"cli:{getpass.getuser()}"[:64]
    except (OSError, KeyError, ImportError):  # an account without a name, as in many containers
        return "cli"


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def show_faults(faults: Sequence[str], shown: int = 5) -> None:
    """Print the first of the things that are wrong, and how many more there are."""
    for fault in faults[:shown]:
        typer.echo(fault, err=True)
    if len(faults) > shown:
        typer.echo(f"and {len(faults) - shown} more", err=True)


def report_bad(
    bad: Sequence[BadRow], skip: bool, *, of: int | None = None, hint: str = "", others: bool = True
) -> None:
    """Print which rows cannot be used, each reason once; ends the command unless they may be skipped. `of`: of how many these are the first;
    `others`: whether there are rows that can be used.
    """
    number, lines = len(bad) if of is None else of, dict[str, list[int]]()
    for row in bad:
        lines.setdefault(row.reason, []).append(row.line)
    faults = list(lines.items())[:5]
    for reason, where in faults:
        typer.echo(f"{_lines(where)}: {reason}", err=True)
    if left := number - sum(len(where) for _, where in faults):
        typer.echo(f"and {left} more", err=True)
    if number and not (skip and others):
        way = f"--skip-bad continues without them{hint}" if others else "no other row is there"
        stop(f"{counted(number, 'row')} cannot be used; {way}")


def _lines(numbers: Sequence[int], named: int = 3) -> str:
    """Which lines: "line 4", "lines 2, 3, 4 and 17 more"."""
    first, left = ", ".join(map(str, numbers[:named])), len(numbers) - named
    return f"line{'s' if len(numbers) > 1 else ''} {first}" + (f" and {left:,} more" if left > 0 else "")


def confirm(cost: str, yes: bool) -> None:
    """Say what something costs, and end the command unless the user agrees."""
    typer.echo(cost, err=True)
    if not yes and not typer.confirm("Go on?", err=True):
        raise typer.Exit(1)


def unreadable(path: Path, error: Exception) -> NoReturn:
    """End because a file cannot be read."""
    stop(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """End with one sentence where a file that is read within is not there or is damaged."""
    try:
        yield
    except UNREADABLE as error:
        unreadable(path, error)


def write_file(path: Path, text: str) -> None:
    """Write a file of text; where it cannot be written, one sentence, and the end."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        stop(f"{path}: cannot be written: {error.strerror}")


def write_page(path: Path, page: str) -> None:
    """Write a report as a page, and say where it is, on standard error: standard output is for figures."""
    write_file(path, page)
    typer.echo(f"Report written to {path}", err=True)


def progress_bar(*columns: ProgressColumn) -> Progress:
    """Progress bars on standard error that leave nothing behind; none where that is not a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


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
        self._progress.console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def advancing(what: str, total: float | None, *columns: ProgressColumn) -> Iterator[Bar]:
    """A progress bar while something is worked off; `total`: its steps, None where they are not known."""
    with progress_bar(*columns) as progress:
        yield Bar(progress, progress.add_task(what, total=total))
