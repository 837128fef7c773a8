"""Fitted maps in the audit store, with the assignments of active maps, for every process that shares the store."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import sqlalchemy as sa

from .engine import transaction
from .tables import active_maps, maps


class StoredMaps:
    """The maps of a store, as `hedgerow.calibration.registry.SharedMaps` describes them. All methods raise `StoreError`."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def read(self, version: str) -> str | None:
        """The JSON text of a version; None if there is no such version."""
        with transaction(self._engine) as connection:
            content = connection.execute(sa.select(maps.c.content).where(maps.c.version == version)).scalar()
        return None if content is None else str(content)

    def versions(self) -> Sequence[str]:
        """Names of all versions, sorted."""
        with transaction(self._engine) as connection:
            return list(connection.execute(sa.select(maps.c.version).order_by(maps.c.version)).scalars())

    def add(self, version: str, content: str) -> bool:
        """Store a version; False if the name is taken."""
        digest = hashlib.sha256(content.encode()).hexdigest()
        row = {"version": version, "content": content, "sha256": digest, "created_at": time.time()}
        with transaction(self._engine, "write") as connection:
            if connection.execute(sa.select(maps.c.version).where(maps.c.version == version)).first():
                return False
            connection.execute(sa.insert(maps).values(row))
        return True

    def assignments(self) -> Sequence[tuple[str | None, str | None, str]]:
        """Assignments: route (None: any), model (None: any) and their active version."""
        with transaction(self._engine) as connection:
            a = active_maps.c
            rows = connection.execute(sa.select(a.route, a.model, a.version).order_by(a.updated_at))
            return [(route or None, model or None, version) for route, model, version in rows]

    def activate(self, version: str, *, route: str | None, model: str | None, in_place_of: Sequence[str]) -> None:
        """Make a version active for a route and a model (None: any), replacing others."""
        place = {"route": route or "", "model": model or ""}
        here = (active_maps.c.route == place["route"]) & (active_maps.c.model == place["model"])
        with transaction(self._engine, "write") as connection:
            connection.execute(sa.delete(active_maps).where(here, active_maps.c.version.in_([version, *in_place_of])))
            connection.execute(sa.insert(active_maps).values(**place, version=version, updated_at=time.time()))
