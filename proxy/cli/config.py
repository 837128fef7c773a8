"""`hedgerow config`: checking a configuration, hashing keys."""

from __future__ import annotations

import hashlib
from pathlib import Path

import typer

from hedgerow.proxy.cli.common import ConfigPath, configuration, stop
from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.services.services import check_services

app = typer.Typer(no_args_is_help=True, help="Check the configuration; hash client keys.")


@app.command()
def check(config: ConfigPath = Path("config.yaml")) -> None:
    """Check a configuration file, and that what it names is there; says nothing else."""
    settings = configuration(config)
    try:
        check_services(settings)
    except ConfigError as error:
        stop(str(error))
    routes = ", ".join(f"{route.name} ({route.mode})" for route in settings.routes)
    typer.echo(f"{config}: fine; routes: {routes}")


@app.command("hash-key")
def hash_key() -> None:
    """Read a client key from standard input and print its hash for `keys:`; the key itself is kept nowhere."""
    key = typer.get_text_stream("stdin").readline().strip()
    if not key:
        stop("no key on standard input")
    typer.echo(hashlib.sha256(key.encode()).hexdigest())
