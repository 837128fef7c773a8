"""Where fitted maps are kept: one immutable JSON file a version, and one small file that says which version is active where.

    FOLDER/maps/<version>.json    written once, never overwritten
    FOLDER/active.json            which version a route or a model uses; replaced atomically

Beside the folder a registry may have a shared store (`SharedMaps`, e.g. a database), which several processes see: what is added and
activated goes there, and both are read. A file that is damaged or of a newer schema is an error that names it; nothing is repaired
or overwritten. This is the only module of the package that touches files and the only one that asks for the time.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

from .errors import MapFileError
from .fitted import FittedMap
from .maps.base import CalibrationMap, IdentityMap

SCHEMA = 1
"""Schema version of both kinds of files."""

MAX_AGE = timedelta(days=90)
"""A map older than this causes a warning, since models behind an API change."""

MIN_SAMPLES = 100
"""A map fitted on fewer records causes a warning."""

_VERSION = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")

Scope = Literal["exact", "model", "route", "default", "identity"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`version` is active for this route and model; None stands for any."""

    route: str | None
    model: str | None
    version: str


@dataclass(frozen=True, slots=True)
class ActiveMap:
    """The map that a request is calibrated with.

    Attributes
    ----------
    map : CalibrationMap
        The identity where no version is active.
    version : str or None
        None for the identity: the answer is uncalibrated and must be called so.
    scope : {"exact", "model", "route", "default", "identity"}
        At which step of the fallback the map was found.
    warnings : tuple[str, ...]
        Sentences for the operator: old, fitted on few records, skipped because it was fitted for another signal, unusable.
    fitted : FittedMap or None
        The map with its provenance; None for the identity.
    problem : str or None
        Why the map that is assigned cannot be used; the identity stands in for it.
    """

    map: CalibrationMap
    version: str | None
    scope: Scope
    warnings: tuple[str, ...] = ()
    fitted: FittedMap | None = None
    problem: str | None = None


UNCALIBRATED = ActiveMap(IdentityMap(), None, "identity")


def choose(
    assignments: Mapping[tuple[str | None, str | None], Sequence[str]],
    load: Callable[[str], FittedMap],
    *,
    route: str,
    model: str,
    fits: Callable[[FittedMap], bool] = lambda _: True,
) -> ActiveMap:
    """The map for a request: for its route and model, else model, else route, else the default, else the identity.

    At each step the first version for the request's signal counts. If there is none, the versions are skipped with a
    warning: their input has another meaning.

    Raises
    ------
    MapFileError
        From `load`.
    """
    skipped: list[str] = []
    steps: tuple[tuple[Scope, str | None, str | None], ...] = (
        ("exact", route, model),
        ("model", None, model),
        ("route", route, None),
        ("default", None, None),
    )
    for scope, for_route, for_model in steps:
        here = [(version, load(version)) for version in assignments.get((for_route, for_model), ())]
        for version, fitted in here:
            if fits(fitted):
                return ActiveMap(fitted.map, version, scope, tuple(skipped), fitted)
        skipped += [
            f"map {version} was fitted for the signal {fitted.provenance.signal or 'unknown'} and is skipped"
            for version, fitted in here
        ]
    return ActiveMap(IdentityMap(), None, "identity", tuple(skipped))


class SharedMaps(Protocol):
    """Maps in a store that several processes use, in addition to those in the folder."""

    def read(self, version: str) -> str | None:
        """The JSON text of a version; None if there is no such version."""
        ...

    def versions(self) -> Sequence[str]:
        """Names of all versions."""
        ...

    def add(self, version: str, content: str) -> bool:
        """Store a version; False if the name is taken."""
        ...

    def assignments(self) -> Sequence[tuple[str | None, str | None, str]]:
        """For each active version: its route (None: any), model (None: any) and name."""
        ...

    def activate(self, version: str, *, route: str | None, model: str | None, in_place_of: Sequence[str]) -> None:
        """Make a version active for a route and a model, in place of other versions."""
        ...


class MapRegistry:
    """The maps in a folder, and in a shared store if there is one. A missing folder counts as empty.

    Parameters
    ----------
    folder : Path
    shared : SharedMaps or None
        Takes what is added and activated. Of two versions with one name the folder's counts; of two assignments to the same route and
        model the shared one.
    max_age : timedelta
        Age from which `warnings` warns.
    min_samples : int
        Number of records below which `warnings` warns.
    clock : callable
        The time in UTC; tests pass their own.
    """

    def __init__(
        self,
        folder: Path | str,
        shared: SharedMaps | None = None,
        *,
        max_age: timedelta = MAX_AGE,
        min_samples: int = MIN_SAMPLES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder = Path(folder)
        self._shared = shared
        self._max_age = max_age
        self._min_samples = min_samples
        self._clock = clock
        self._filed: tuple[Assignment, ...] = ()
        self._stamp: tuple[int, int, int] | None = None
        self._loaded: dict[str, FittedMap] = {}

    def active(self, *, route: str, model: str, signal: str | None = None) -> ActiveMap:
        """The map for a request, see `choose`. A changed `active.json` is noticed at the next call.

        Raises
        ------
        MapFileError
            If a file cannot be read. Nothing falls back silently.
        """

        def fits(fitted: FittedMap) -> bool:
            return signal is None or fitted.provenance.signal in ("", signal)

        active = choose(scopes(self.assignments()), self.load, route=route, model=model, fits=fits)
        return self.warned(active)

    def warned(self, active: ActiveMap) -> ActiveMap:
        """An active map with the warnings about its age and its number of records."""
        if active.version is None or active.fitted is None:
            return active
        return replace(active, warnings=(*active.warnings, *self._warnings(active.version, active.fitted)))

    def assignments(self) -> tuple[Assignment, ...]:
        """Every active version with its route and model; later ones override earlier ones.

        Raises
        ------
        MapFileError
            If `active.json` cannot be read.
        """
        shared = self._shared.assignments() if self._shared is not None else ()
        return (*self._read_filed(), *(Assignment(*row) for row in shared))

    def _read_filed(self) -> tuple[Assignment, ...]:
        path = self.folder / "active.json"
        try:
            status = path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise MapFileError(
                f"{path}: cannot be read: {error.strerror}; the folder of the maps must be a folder"
            ) from error
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._stamp:
            self._filed = _parse_assignments(path)
            self._stamp = stamp
        return self._filed

    def versions(self) -> tuple[str, ...]:
        """Names of all stored versions, sorted."""
        filed = {path.stem for path in (self.folder / "maps").glob("*.json")}
        return tuple(sorted(filed.union(self._shared.versions() if self._shared is not None else ())))

    def load(self, version: str) -> FittedMap:
        """A stored version.

        Raises
        ------
        MapFileError
            If there is no such version, or it is damaged or of a newer schema.
        """
        if version not in self._loaded:
            self._loaded[version] = _parse_map(*self._read(version))
        return self._loaded[version]

    def _read(self, version: str) -> tuple[str, str]:
        """The location of a version, and its text."""
        path = self._path(version)
        try:
            return str(path), path.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            text = self._shared.read(version) if self._shared is not None else None
            if text is not None:
                return f"map {version} in the audit store", text
            also = " or in the audit store" if self._shared is not None else ""
            raise MapFileError(
                f"there is no map {version} in {path.parent}{also}; `hedgerow maps list` lists them"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(path, error) from error

    def add(self, version: str, fitted: FittedMap) -> str:
        """Store a fitted map under a new version name; returns its location.

        Raises
        ------
        MapFileError
            If the version exists already, or its name is not made of a-z, 0-9, dot, dash and underscore.
        """
        path = self._path(version)
        text = _text({"schema": SCHEMA, "version": version, **fitted.to_dict()})
        if self._shared is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                _put(path, text, os.link)  # a hard link fails if the name is taken
            except FileExistsError:
                raise MapFileError(f"{path}: exists already; stored maps are never overwritten") from None
            return str(path)
        if path.exists() or not self._shared.add(version, text):
            raise MapFileError(f"map {version} exists already; stored maps are never overwritten")
        return "the audit store"

    def activate(self, version: str, *, route: str | None = None, model: str | None = None) -> None:
        """Make a stored version active for a route, a model, both, or (neither given) as the default.

        This replaces only versions of the same signal: whole answers and claims of long ones have separate maps.
        """
        signal = self.load(version).provenance.signal
        if self._shared is not None:
            here = [of for *place, of in self._shared.assignments() if tuple(place) == (route, model)]
            others = [of for of in here if self._signal_of(of) in (signal, None)]
            return self._shared.activate(version, route=route, model=model, in_place_of=others)
        kept = [
            a
            for a in self._read_filed()
            if (a.route, a.model) != (route, model) or self._signal_of(a.version) not in (signal, None)
        ]
        rows = [
            {"route": a.route, "model": a.model, "version": a.version}
            for a in (*kept, Assignment(route, model, version))
        ]
        self.folder.mkdir(parents=True, exist_ok=True)
        _put(self.folder / "active.json", _text({"schema": SCHEMA, "active": rows}), os.replace)
        return None

    def _signal_of(self, version: str) -> str | None:
        """The signal that a version was fitted for; None if it cannot be read."""
        try:
            return self.load(version).provenance.signal
        except MapFileError:
            return None

    def _path(self, version: str) -> Path:
        if not _VERSION.fullmatch(version):
            raise MapFileError(
                f"{version!r} is not a version name: use a-z, 0-9, dot, dash and underscore, at most 128"
            )
        return self.folder / "maps" / f"{version}.json"

    def _warnings(self, version: str, fitted: FittedMap) -> tuple[str, ...]:
        warnings = []
        age = self._clock() - fitted.provenance.fitted_at
        if age > self._max_age:
            warnings.append(f"map {version} is {age.days} days old (warned from {self._max_age.days})")
        if fitted.provenance.n < self._min_samples:
            warnings.append(
                f"map {version} was fitted on {fitted.provenance.n} records (warned below {self._min_samples})"
            )
        return tuple(warnings)


def read_file(path: Path) -> FittedMap:
    """A map from a file outside a registry.

    Raises
    ------
    MapFileError
        If it cannot be read or is not a map.
    """
    try:
        return _parse_map(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def scopes(assignments: Iterable[Assignment]) -> dict[tuple[str | None, str | None], tuple[str, ...]]:
    """The active versions by route and model, the latest first."""
    versions: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
    for a in assignments:
        versions[a.route, a.model] = (a.version, *versions.get((a.route, a.model), ()))
    return versions


def _parse(name: str, text: str) -> dict[str, Any]:
    """A JSON object of a known schema; `name` is its origin, for error messages."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise MapFileError(f"{name}: not valid JSON: {reason}") from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(schema, int) or isinstance(schema, bool):
        raise MapFileError(f"{name}: not a JSON object with a schema number, as `hedgerow fit` writes it")
    if schema > SCHEMA:
        raise MapFileError(f"{name}: schema {schema} is newer than this version understands ({SCHEMA})")
    return content


def _parse_map(name: str, text: str) -> FittedMap:
    content = _parse(name, text)
    try:
        return FittedMap.from_dict(content)
    except (KeyError, TypeError, ValueError) as error:
        raise MapFileError(f"{name}: not a stored map: {error!r}") from error


def _parse_assignments(path: Path) -> tuple[Assignment, ...]:
    try:
        content = _parse(str(path), path.read_text(encoding="utf-8"))
        rows = [(row["route"], row["model"], row["version"]) for row in content["active"]]
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    except (KeyError, TypeError) as error:
        raise MapFileError(f"{path}: not a list of active versions: {error!r}") from error
    for route, model, version in rows:
        if not (isinstance(route, str | None) and isinstance(model, str | None) and isinstance(version, str)):
            raise MapFileError(f"{path}: route, model and version must be strings: {route!r}, {model!r}, {version!r}")
    return tuple(Assignment(*row) for row in rows)


def _unreadable(path: Path, error: OSError | UnicodeDecodeError) -> MapFileError:
    why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
    return MapFileError(f"{path}: cannot be read: {why}")


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def _put(path: Path, text: str, place: Callable[[str, Path], None]) -> None:
    """Write a file atomically: the text is on disk beside it before `place` gives it its name, and nothing stays there if that fails."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        place(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
