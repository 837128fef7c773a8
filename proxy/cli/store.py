"""Opening the audit store for a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hedgerow.proxy.audit.engine import Engine, open_existing
from hedgerow.proxy.cli.common import configuration, stop
from hedgerow.proxy.config import Settings
from hedgerow.proxy.errors import StoreError


@contextmanager
def open_audit(config: Path) -> Iterator[tuple[Settings, Engine]]:
    """The configuration and its audit store. Where there is none, or it cannot be used, one sentence and exit code 2; none is created."""
    settings = configuration(config)
    try:
        engine = open_existing(settings.audit)
        try:
            yield settings, engine
        finally:
            engine.dispose()
    except StoreError as error:
        stop(str(error))
