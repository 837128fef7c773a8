"""The active calibration map of a route, for requests, drift watcher, dashboard, admin API and command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import structlog

from ...calibration import ActiveMap, FittedMap, MapRegistry
from ...calibration.errors import CalibrationError
from ...calibration.registry import UNCALIBRATED, Assignment, choose, scopes
from ..audit.engine import Engine, open_engine, sqlite_file
from ..audit.maps import StoredMaps
from ..config import Route, Settings
from ..errors import ConfigError
from ..types import CLAIM_SIGNAL, Standing
from .active_certificate import ActiveCertificates

Scopes = dict[tuple[str | None, str | None], tuple[str, ...]]
log = structlog.get_logger(__name__)


class ActiveMaps:
    """The active maps of routes, by model and signal, from a copy of the store that `refresh` updates.

    A missing or damaged map counts as no map: answers are uncalibrated, with a warning that has the reason.

    Attributes:
        certificates: the certificates of answers that these maps calibrate; read together with them.
    """

    def __init__(self, registry: MapRegistry, certificates: ActiveCertificates | None = None) -> None:
        self.registry = registry
        self.certificates = certificates or ActiveCertificates(None)
        self._assignments: tuple[Assignment, ...] = ()
        self._scopes: dict[bool, Scopes] = {}
        self._fitted: dict[str, FittedMap | CalibrationError] = {}
        self._unreadable: str | None = None

    def refresh(self, settings: Settings) -> None:
        """Read the assignments and every map that they or the routes name. Blocks on files and the store: call it in a worker thread.

        Raises:
            StoreError: the store cannot be read; the previous copy stays in use.
        """
        self.certificates.refresh(settings)
        try:
            assignments, unreadable = self.registry.assignments(), None
        except CalibrationError as error:
            assignments, unreadable = (), str(error)
        named = {route.map for route in settings.routes} - {"auto", "identity"}
        fitted = {version: self._read(version) for version in named.union(a.version for a in assignments)}
        self._assignments, self._unreadable, self._fitted = assignments, unreadable, fitted
        of_answers = [a for a in assignments if self._signal_of(a.version) != CLAIM_SIGNAL]
        self._scopes = {True: scopes(assignments), False: scopes(of_answers)}

    def log_unusable(self) -> None:
        """Log what cannot be used: a proxy does, a command says what concerns it."""
        if self._unreadable is not None:
            log.error("maps_unreadable", reason=self._unreadable)
        for version, problem in self._fitted.items():
            if isinstance(problem, CalibrationError):
                log.error("map_unusable", map=version, reason=str(problem))

    def active(self, route: Route, model: str, signal: str) -> ActiveMap:
        """The map that calibrates a route's answers of a model with this signal.

        A map fitted for another signal is skipped with a warning; a map of unknown signal counts as one for the route's signal. A version that
        the route names is for the route's signal; claims of long answers keep the map that is assigned to them.
        """
        if route.map == "identity":
            return UNCALIBRATED
        assignments: Scopes = self._scopes.get(signal == CLAIM_SIGNAL, {})
        if route.map != "auto" and (signal == route.signal or self._signal_of(route.map) == signal):
            assignments = {(None, None): (route.map,)}
        fits = partial(_fits, signal=signal, unknown_fits=signal == route.signal)
        try:
            active = choose(assignments, self._load, route=route.name, model=model, fits=fits)
        except CalibrationError as error:
            return replace(UNCALIBRATED, warnings=(str(error),), problem=str(error))
        if self._unreadable is not None and active.version is None and route.map == "auto":
            warnings = (*active.warnings, self._unreadable)
            return replace(active, warnings=warnings, problem=self._unreadable)
        return self.registry.warned(active)

    def standing(self, route: Route, map_id: str | None, signal: str) -> Standing | None:
        """The certificate that covers the route's answers with this map and signal; None if the route makes no promises."""
        return self.certificates.standing(route, map_id, signal)

    def standing_of(self, route: Route) -> Standing | None:
        """The same for the route's usual answers: with its own signal, and the map of any model that has a certificate."""
        if route.promises is None or not route.calibrates:
            return None
        maps = {active.version for active in self.of_route(route).values()}
        standings = [self.standing(route, version, route.signal) for version in sorted(maps, key=str)]
        return next((each for each in standings if each is not None and each.certificate is not None), standings[0])

    def of_route(self, route: Route, signal: str | None = None) -> dict[str, ActiveMap]:
        """The maps of a route by model, for its own or another signal: models with their own assignment, and "" for all other models."""
        signal = signal or route.signal
        if route.model is not None:
            return {route.model: self.active(route, route.model, signal)}
        models = {a.model for a in self._assignments if a.model is not None and a.route in (None, route.name)}
        return {model: self.active(route, model, signal) for model in ("", *sorted(models))}

    def check(self, route: Route, version: str | None) -> None:
        """Check that a route can use a map before it is set.

        Raises:
            ConfigError: there is no such map, it cannot be read, or it was fitted for another signal.
        """
        if version in (None, "identity", "auto"):
            return
        active = self.active(route.model_copy(update={"map": version}), route.model or "", route.signal)
        if active.problem is not None:
            raise ConfigError(active.problem)
        if active.version is None:
            raise ConfigError(f"route {route.name} measures the signal {route.signal}: {active.warnings[0]}")

    def problems(self, settings: Settings) -> dict[str, str]:
        """By route, the reason why its map cannot be used."""
        problems = {}
        for route in settings.routes:
            for active in self.of_route(route).values():
                if active.problem is not None and route.calibrates:
                    problems[route.name] = active.problem
        return problems

    def _signal_of(self, version: str) -> str | None:
        try:
            return self._load(version).provenance.signal
        except CalibrationError:
            return None

    def _load(self, version: str) -> FittedMap:
        if version not in self._fitted:
            self._fitted[version] = self._read(version)
        fitted = self._fitted[version]
        if isinstance(fitted, CalibrationError):
            raise fitted
        return fitted

    def _read(self, version: str) -> FittedMap | CalibrationError:
        try:
            return self.registry.load(version)
        except CalibrationError as error:
            return error


def _fits(fitted: FittedMap, signal: str, *, unknown_fits: bool) -> bool:
    fitted_for = fitted.provenance.signal
    return fitted_for == signal or (fitted_for == "" and unknown_fits)


def stored_maps(settings: Settings, engine: Engine | None) -> ActiveMaps:
    """The active maps of the configured folder and of a store.

    Raises:
        StoreError: the store cannot be read.
    """
    registry = MapRegistry(settings.maps.folder, StoredMaps(engine) if engine is not None else None)
    maps = ActiveMaps(registry, ActiveCertificates(engine))
    maps.refresh(settings)
    return maps


@contextmanager
def open_maps(settings: Settings, *, create: bool = False) -> Iterator[ActiveMaps]:
    """The active maps outside a serving process: from the folder, and from the audit store if it exists or `create` is set.

    Raises:
        StoreError: the store cannot be opened or read.
    """
    file = sqlite_file(settings.audit)
    engine = open_engine(settings.audit) if create or file is None or file.exists() else None
    try:
        yield stored_maps(settings, engine)
    finally:
        if engine is not None:
            engine.dispose()
