"""What commands share: reading the configuration, and stopping with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from hedgerow.proxy.audit.engine import Engine
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


@contextmanager
def open_audit(config: Path) -> Iterator[tuple[Settings, Engine]]:
    """The configuration and its audit store. Where there is none, or it cannot be used, one sentence and exit code 2; none is created."""
    from hedgerow.proxy.audit.engine import open_existing
    from hedgerow.proxy.errors import StoreError

    settings = configuration(config)
    try:
        engine = open_existing(settings.audit)
        try:
            yield settings, engine
        finally:
            engine.dispose()
    except StoreError as error:
        stop(str(error))
