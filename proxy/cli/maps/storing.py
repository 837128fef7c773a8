"""Where a fitted map is stored, and what it is active for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....calibration import FittedMap
from ..shared.messages import one_sentence
from ..shared.registry import map_registry


@dataclass(frozen=True, slots=True)
class Storing:
    """Where a fitted map goes, and what it is active for.

    Attributes:
        config, folder: where it is stored, as of `map_registry`.
        version: its name; None: one is made from its parts.
        activate: whether it is used from now on.
        route, model: what it is active for then; None: every one.
    """

    config: Path
    folder: Path | None
    version: str | None
    activate: bool
    route: str | None
    model: str | None

    def store(self, name: str, fitted: FittedMap, *, activate: bool) -> str:
        """Store a map, and have it used where `activate` is set; returns where it is stored."""
        with one_sentence(), map_registry(self.folder, self.config, create=True) as registry:
            place = registry.add(name, fitted)
            if activate:
                registry.activate(name, route=self.route, model=self.model)
        return place
