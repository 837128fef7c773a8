"""Opening the audit store for a command, and who does what with it."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...audit.engine import Engine, open_existing
from ...config import Settings
from ...errors import StoreError
from .messages import stop
from .settings import configuration


@contextmanager
def open_audit(config: Path) -> Iterator[tuple[Settings, Engine]]:
    """The configuration and its audit store. Where there is none, or it cannot be used, one sentence says so, with the file, and exit code 2.
    None is created.
    """
    settings = configuration(config)
    try:
        engine = open_existing(settings.audit)
        try:
            yield settings, engine
        finally:
            engine.dispose()
    except StoreError as error:
        stop(f"{config}: {error}")


def whoami() -> str:
    """The account that runs the command, as the record of changes keeps it."""
    try:
        return f"cli:{getpass.getuser()}"[:64]
    except (OSError, KeyError, ImportError):  # an account without a name, as in many containers
        return "cli"
