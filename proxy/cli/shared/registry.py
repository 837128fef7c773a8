"""The maps that a command works with: those of a folder, or those of the configuration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ....calibration import MapRegistry
from ....calibration.errors import CalibrationError
from ...errors import StoreError
from ...services.active_map import open_maps
from .messages import stop
from .settings import configuration, named_route


def check_route(route: str | None, folder: Path | None, config: Path) -> None:
    """End the command where the configuration has no such route; a folder of its own goes with no configuration."""
    if route is not None and folder is None and config.exists():
        named_route(configuration(config), route)


@contextmanager
def map_registry(folder: Path | None, config: Path, *, create: bool = False) -> Iterator[MapRegistry]:
    """The maps in a folder, else those of the configuration: its audit store and its folder, else the folder `maps`. What goes wrong with
    them inside the block is one sentence, and the end.

    Args:
        create: make the audit store where there is none.
    """
    try:
        if folder is not None or not config.exists():
            yield MapRegistry(folder or Path("maps"))
            return
        with open_maps(configuration(config), create=create) as maps:
            yield maps.registry
    except StoreError as error:
        stop(f"{config}: {error}")
    except (CalibrationError, OSError) as error:
        stop(str(error))
