"""Fitted maps with the assignments of active ones, and certificates of promises, in the store, for every process that shares it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ...calibration.promises.certificate import Certificate, CertificateError
from ..errors import StoreError
from .engine import transaction
from .operators import note_change
from .tables import active_maps, certificates, maps


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


# Certificates of promises: append-only, in one chain of seals under the audit's hash key.

_CERTIFICATES_LOCK = 4_207_304
"""PostgreSQL: the advisory lock for adding certificates. (SQLite has one writer anyway.)"""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A stored certificate that cannot be read.

    Attributes:
        route: its route; "" for any.
    """

    id: str
    route: str
    reason: str


class StoredCertificates:
    """The certificates of a store. All methods raise `StoreError` if it cannot be read or written.

    Args:
        key: the audit's hash key (`hash_key`); empty if none is configured.
    """

    def __init__(self, engine: sa.Engine, key: bytes) -> None:
        self._engine = engine
        self._key = key

    def add(self, certificate: Certificate, *, actor: str) -> Certificate:
        """Append a certificate to the chain and record who did it. Returns it with its seal.

        Raises:
            StoreError: also if its id is taken.
        """
        c = certificates.c
        with transaction(self._engine, "write") as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_CERTIFICATES_LOCK)))
            if connection.execute(sa.select(c.id).where(c.id == certificate.id)).first():
                raise StoreError(
                    f"certificate {certificate.id} exists already; stored certificates are never overwritten"
                )
            last = connection.execute(sa.select(c.seq, c.content).order_by(c.seq.desc()).limit(1)).first()
            seq, before = (0, "") if last is None else (last[0], _seal_of(last[1]))
            sealed = certificate.sealed(self._key, before)
            row = {"seq": seq + 1, "id": sealed.id, "created_at": sealed.issued_at.timestamp(), "route": sealed.route}
            connection.execute(
                sa.insert(certificates).values(row | {"map_id": sealed.map_id, "content": sealed.to_json()})
            )
            wishes = "; ".join(promise.wish.sentence for promise in sealed.promises)
            route = sealed.route or None
            note_change(
                connection, actor=actor, what="certificate", route=route, before=None, after=sealed.id, note=wishes
            )
        return sealed

    def get(self, name: str) -> Certificate | None:
        """A certificate by its id; None if there is none. Its seal is not checked.

        Raises:
            CertificateError: what is stored is not a certificate.
        """
        with transaction(self._engine) as connection:
            wanted = sa.select(certificates.c.content).where(certificates.c.id == name)
            content = connection.execute(wanted).scalar()
        return None if content is None else Certificate.from_json(content)

    def read_all(self, route: str | None = None) -> tuple[Sequence[Certificate], Sequence[Damaged]]:
        """Certificates, newest first, and damaged ones; with `route`, those for it or for any route."""
        c = certificates.c
        wanted = sa.select(c.id, c.route, c.content).order_by(c.seq.desc())
        if route is not None:
            wanted = wanted.where(c.route.in_(("", route)))
        with transaction(self._engine) as connection:
            rows = connection.execute(wanted).all()
        readable: list[Certificate] = []
        damaged: list[Damaged] = []
        for name, of, content in rows:
            try:
                readable.append(Certificate.from_json(content))
            except CertificateError as error:
                damaged.append(Damaged(name, of, str(error)))
        return readable, damaged

    def verify(self) -> list[str]:
        """Faults of the chain, one clause each, oldest first; empty if there are none.

        The seal of each certificate covers that of the previous one, so that an altered, missing or moved one is found; removal of the newest is
        not.
        """
        with transaction(self._engine) as connection:
            c = certificates.c
            rows = connection.execute(sa.select(c.seq, c.id, c.content).order_by(c.seq)).all()
        faults, expected, before = [], 1, ""
        for seq, name, content in rows:
            if seq != expected:
                faults.append(f"certificate {expected} of the chain is missing")
            try:
                certificate = Certificate.from_json(content)
            except CertificateError as error:
                faults.append(f"certificate {name}: {error}")
                expected, before = seq + 1, ""
                continue
            state = certificate.check_seal(self._key)
            if state == "needs_key":
                faults.append(f"certificate {name}: sealed with a key; set audit.hash_key to check it")
            elif state == "altered" or certificate.id != name:
                faults.append(f"certificate {name}: altered, or sealed with another hash_key")
            elif seq == expected and certificate.previous != before:
                faults.append(f"certificate {name}: the one before it was replaced")
            expected, before = seq + 1, certificate.seal
        return faults


def _seal_of(content: str) -> str:
    """The seal of a stored certificate; "" if it is damaged, which `verify` finds."""
    try:
        return Certificate.from_json(content).seal
    except CertificateError:
        return ""
