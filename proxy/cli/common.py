"""What commands share: reading the configuration, and stopping with one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from hedgerow.proxy.config import Settings

ConfigPath = Annotated[Path, typer.Option("--config", "-c", help="The configuration file.")]


def stop(message: str, code: int = 2) -> NoReturn:
    """End with one sentence on standard error. 2: bad input or configuration; 1: a check that failed."""
    typer.echo(f"hedgerow: {message}", err=True)
    raise typer.Exit(code)


def configuration(path: Path) -> Settings:
    """The settings in a file; where they cannot be used, one line a fault, and the end."""
    from hedgerow.proxy.config import load
    from hedgerow.proxy.errors import ConfigError

    try:
        return load(path)
    except ConfigError as error:
        stop(str(error))
