"""What commands share: the configuration, points in time, rows at fault, a progress bar, and stopping with one sentence."""

from __future__ import annotations

import getpass
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from hedgerow.calibration.errors import CalibrationError
from hedgerow.proxy.config import Route, Settings, load
from hedgerow.proxy.errors import ConfigError, HedgerowError, InputError

if TYPE_CHECKING:
    from rich.progress import Progress

ConfigPath = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")]
CONFIG = Path("config.yaml")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def stop(message: str, code: int = 2) -> NoReturn:
    """End with one sentence on standard error. 2: bad input or configuration; 1: a check that failed."""
    typer.echo(f"hedgerow: {message}", err=True)
    raise typer.Exit(code)


def configuration(path: Path) -> Settings:
    """The settings in a file; where they cannot be used, one line a fault, and the end."""
    try:
        return load(path)
    except ConfigError as error:
        stop(str(error))


@contextmanager
def one_sentence(*, on_interrupt: str = "stopped") -> Iterator[None]:
    """End with one sentence where something fails that a user can mend: 2 for input and settings, 1 for what an upstream or store did."""
    try:
        yield
    except (ConfigError, InputError, CalibrationError) as error:
        stop(str(error))
    except HedgerowError as error:
        stop(str(error), code=1)
    except OSError as error:
        stop(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except KeyboardInterrupt:
        stop(on_interrupt, code=1)


def calibrating_route(settings: Settings, name: str | None) -> Route:
    """The named route, or the first that calibrates."""
    routes = [route for route in settings.routes if route.mode != "off" or route.allow_override]
    if name is not None:
        routes = [route for route in settings.routes if route.name == name]
    if not routes:
        known = ", ".join(route.name for route in settings.routes)
        stop(
            f"no route is called {name!r}; the routes are {known}"
            if name
            else "no route calibrates; name one with --route"
        )
    return routes[0]


def moment(text: str) -> float:
    """Seconds since 1970 of "14d" (ago), "36h", or a date like 2026-11-01 (UTC); anything else ends the command."""
    if (span := _SPAN.fullmatch(text)) is not None:
        return time.time() - float(span[1]) * _SECONDS[span[2]]
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        stop(f"Invalid --since value {text!r}. Use a date (2026-11-21) or a span such as 14d or 6h.")
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def whoami() -> str:
    """The account that runs the command, as the record of changes keeps it."""
    try:
        return f"cli:{getpass.getuser()}"[:64]
    except (OSError, KeyError, ImportError):  # an account without a name, as in many containers
        return "cli"


def show_faults(faults: Sequence[str], shown: int = 5) -> None:
    """Print what is wrong with the first lines of a file, and count the rest."""
    for fault in faults[:shown]:
        typer.echo(fault, err=True)
    if len(faults) > shown:
        typer.echo(f"and {len(faults) - shown} more", err=True)


def unreadable(path: Path, error: Exception) -> NoReturn:
    """End because a file cannot be read."""
    stop(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def progress_bar() -> Progress:
    """A progress bar on standard error that leaves nothing behind."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
