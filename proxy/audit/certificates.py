"""Certificates of promises in the audit store: append-only, in one chain of seals under the audit's hash key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ...calibration.promises.certificate import Certificate, CertificateError
from ..errors import StoreError
from .engine import transaction
from .operators import note_change
from .tables import certificates

_LOCK = 4_207_302
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
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
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
