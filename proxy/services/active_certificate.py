"""The valid certificate of a route, for requests, watcher, dashboard and command line."""

from __future__ import annotations

import re

import structlog

from ...calibration.promises.certificate import Certificate
from ..audit.engine import Engine
from ..audit.maps import Damaged, StoredCertificates
from ..audit.operators import read_alarms
from ..audit.store import hash_key
from ..config import Route, Settings
from ..errors import StoreError
from ..monitoring.promises import ID_LENGTH
from ..outcomes import Uncovered
from ..types import Standing

log = structlog.get_logger(__name__)
_BROKEN = re.compile(r"promise \d+")
"""The kinds of alarms of broken promises (`hedgerow.proxy.monitoring.promises`)."""


class ActiveCertificates:
    """The certificates of routes, by map and signal, from a copy of the store that `refresh` updates.

    Args:
        engine: the audit store; None: nothing is stored.
    """

    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine
        self._stored: tuple[Certificate, ...] = ()
        self._damaged: tuple[Damaged, ...] = ()
        self._altered: frozenset[str] = frozenset()
        self._withdrawn: frozenset[tuple[str, str]] = frozenset()
        self._unreadable = False

    def refresh(self, settings: Settings) -> None:
        """Read the certificates of all routes with promises. Blocks on the store: call it in a worker thread."""
        if self._engine is None or not any(route.promises and route.calibrates for route in settings.routes):
            return
        try:
            certificates, damaged = StoredCertificates(self._engine, hash_key(settings.audit)).read_all()
            standing = read_alarms(self._engine, standing=True)
        except StoreError as error:
            if not self._unreadable:
                log.error("certificates_unreadable", reason=str(error))
            self._unreadable = True
            return
        key = hash_key(settings.audit)
        self._altered = frozenset(each.id for each in certificates if each.check_seal(key) != "valid")
        self._withdrawn = frozenset((a.route, a.map_id or "") for a in standing if _BROKEN.fullmatch(a.kind))
        for one in damaged:
            if one not in self._damaged:
                log.error("certificate_damaged", certificate=one.id, reason=one.reason)
        self._stored, self._damaged, self._unreadable = tuple(certificates), tuple(damaged), False

    def standing(self, route: Route, map_id: str | None, signal: str) -> Standing | None:
        """The certificate that covers the route's answers with this map and signal; None if the route makes no promises."""
        if route.promises is None:
            return None
        named = route.promises.certificate

        def is_meant(one: Certificate | Damaged) -> bool:
            return one.id == named or (named == "auto" and one.route in ("", route.name))

        candidates = [each for each in self._stored if is_meant(each)]
        if not candidates and any(map(is_meant, self._damaged)):
            return Standing(None, Uncovered.CERTIFICATE_ALTERED)
        if not candidates:
            return Standing(None, Uncovered.UNREADABLE_STORE if self._unreadable else Uncovered.NO_CERTIFICATE)
        faults = [(self._fault(each, route, map_id, signal), each) for each in candidates]
        decisive = (None, Uncovered.WITHDRAWN)  # if the newest matching one is withdrawn, no older one replaces it
        fault, newest = next((pair for pair in faults if pair[0] in decisive), faults[0])
        if fault is None:
            return Standing(newest)
        return Standing(None, fault, newest if fault is Uncovered.WITHDRAWN else None)

    def _fault(self, certificate: Certificate, route: Route, map_id: str | None, signal: str) -> Uncovered | None:
        if certificate.id in self._altered:
            return Uncovered.CERTIFICATE_ALTERED
        if certificate.route not in ("", route.name):
            return Uncovered.OTHER_ROUTE
        if certificate.map_id != map_id or certificate.signal not in ("", signal):
            return Uncovered.OTHER_MAP
        withdraws = route.promises is not None and route.promises.on_broken == "withdraw"
        return (
            Uncovered.WITHDRAWN if withdraws and (route.name, certificate.id[:ID_LENGTH]) in self._withdrawn else None
        )
