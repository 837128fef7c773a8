"""Where fitted maps are kept: one immutable JSON file a version, and one small file that says which version is active where.

    FOLDER/maps/<version>.json    written once, never overwritten
    FOLDER/active.json            which version a route or a model uses; replaced atomically

A file that is damaged or of a newer schema is an error that names it; nothing is repaired or overwritten. This is the only
module of the package that touches files and the only one that asks for the time.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from hedgerow.calibration.errors import MapFileError
from hedgerow.calibration.fitted import FittedMap
from hedgerow.calibration.maps.base import CalibrationMap
from hedgerow.calibration.maps.identity import IdentityMap

SCHEMA = 1
"""Schema of both kinds of file."""

MAX_AGE = timedelta(days=90)
"""A map older than this draws a warning: models behind an API change."""

MIN_SAMPLES = 100
"""A map fitted on fewer records draws a warning."""

_VERSION = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")

Scope = Literal["exact", "model", "route", "default", "identity"]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Version `version` is active for this route and model; None stands for any."""

    route: str | None
    model: str | None
    version: str


@dataclass(frozen=True, slots=True)
class ActiveMap:
    """What a request is calibrated with.

    Attributes
    ----------
    map : CalibrationMap
        The identity where no version is active.
    version : str or None
        None for the identity: the answer is uncalibrated and must be called so.
    scope : {"exact", "model", "route", "default", "identity"}
        At which step of the fallback the map was found.
    warnings : tuple[str, ...]
        Sentences for the operator: old, fitted on few records, passed over because it was fitted for another signal.
    """

    map: CalibrationMap
    version: str | None
    scope: Scope
    warnings: tuple[str, ...] = ()


class MapRegistry:
    """The maps in a folder. A folder that does not exist is an empty registry; it is made by the first `add`.

    Parameters
    ----------
    folder : Path
    max_age : timedelta
        Age from which `active` warns.
    min_samples : int
        Number of records below which `active` warns.
    clock : callable
        The time in UTC; tests pass their own.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        max_age: timedelta = MAX_AGE,
        min_samples: int = MIN_SAMPLES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.folder = Path(folder)
        self._max_age = max_age
        self._min_samples = min_samples
        self._clock = clock
        self._assignments: tuple[Assignment, ...] = ()
        self._stamp: tuple[int, int, int] | None = None
        self._loaded: dict[str, FittedMap] = {}

    def active(self, *, route: str, model: str, signal: str | None = None) -> ActiveMap:
        """The map for a request: exact route and model, then the model, then the route, then the default, then identity.

        Parsed files are kept; a changed `active.json` is noticed at the next call (one `stat`). A version that was fitted
        for another signal than `signal` is passed over with a warning: its input means something else.

        Raises
        ------
        MapFileError
            If a file cannot be read. Nothing falls back silently.
        """
        by_scope = {(a.route, a.model): a.version for a in self.assignments()}
        passed_over: list[str] = []
        steps: tuple[tuple[Scope, str | None, str | None], ...] = (
            ("exact", route, model),
            ("model", None, model),
            ("route", route, None),
            ("default", None, None),
        )
        for scope, for_route, for_model in steps:
            version = by_scope.get((for_route, for_model))
            if version is None:
                continue
            fitted = self.load(version)
            if signal is not None and fitted.provenance.signal not in ("", signal):
                passed_over.append(f"map {version} was fitted for the signal {fitted.provenance.signal}, not {signal}")
                continue
            return ActiveMap(fitted.map, version, scope, (*passed_over, *self._warnings(version, fitted)))
        return ActiveMap(IdentityMap(), None, "identity", tuple(passed_over))

    def assignments(self) -> tuple[Assignment, ...]:
        """Every active version with its route and model."""
        path = self.folder / "active.json"
        try:
            status = path.stat()
        except FileNotFoundError:
            return ()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._stamp:
            self._assignments = _parse_assignments(path)
            self._stamp = stamp
        return self._assignments

    def versions(self) -> tuple[str, ...]:
        """Names of all stored versions, sorted."""
        return tuple(sorted(path.stem for path in (self.folder / "maps").glob("*.json")))

    def load(self, version: str) -> FittedMap:
        """A stored version.

        Raises
        ------
        MapFileError
            If there is no such version, or its file is damaged or of a newer schema.
        """
        if version not in self._loaded:
            path = self._path(version)
            self._loaded[version] = _parse_map(path)
        return self._loaded[version]

    def add(self, version: str, fitted: FittedMap) -> Path:
        """Store a fitted map under a new version name.

        Raises
        ------
        MapFileError
            If the version exists already, or its name is not made of a-z, 0-9, dot, dash and underscore.
        """
        path = self._path(version)
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_new(path, {"schema": SCHEMA, "version": version, **fitted.to_dict()})
        return path

    def activate(self, version: str, *, route: str | None = None, model: str | None = None) -> None:
        """Make a stored version the active one for a route, a model, both, or (neither given) as the default."""
        self.load(version)
        kept = [a for a in self.assignments() if (a.route, a.model) != (route, model)]
        self._write_active([*kept, Assignment(route, model, version)])

    def deactivate(self, *, route: str | None = None, model: str | None = None) -> None:
        """Take back what is active for exactly this route and model; the fallback order decides from then on."""
        self._write_active([a for a in self.assignments() if (a.route, a.model) != (route, model)])

    def _write_active(self, assignments: list[Assignment]) -> None:
        rows = [{"route": a.route, "model": a.model, "version": a.version} for a in assignments]
        self.folder.mkdir(parents=True, exist_ok=True)
        _replace_file(self.folder / "active.json", {"schema": SCHEMA, "active": rows})

    def _path(self, version: str) -> Path:
        if not _VERSION.fullmatch(version):
            raise MapFileError(f"{version!r} is no version name: use a-z, 0-9, dot, dash and underscore, at most 128")
        return self.folder / "maps" / f"{version}.json"

    def _warnings(self, version: str, fitted: FittedMap) -> tuple[str, ...]:
        found = []
        age = self._clock() - fitted.provenance.fitted_at
        if age > self._max_age:
            found.append(f"map {version} is {age.days} days old (warned from {self._max_age.days})")
        if fitted.provenance.n < self._min_samples:
            found.append(
                f"map {version} was fitted on {fitted.provenance.n} records (warned below {self._min_samples})"
            )
        return tuple(found)


def _read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a schema that this code knows."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MapFileError(f"{path}: no such map file") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise MapFileError(f"{path}: cannot be read: {error}") from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(schema, int) or isinstance(schema, bool):
        raise MapFileError(f"{path}: no JSON object with a schema number")
    if schema > SCHEMA:
        raise MapFileError(f"{path}: schema {schema} is newer than this version understands ({SCHEMA})")
    return content


def _parse_map(path: Path) -> FittedMap:
    content = _read_json(path)
    try:
        return FittedMap.from_dict(content)
    except (KeyError, TypeError, ValueError) as error:
        raise MapFileError(f"{path}: no stored map: {error!r}") from error


def _parse_assignments(path: Path) -> tuple[Assignment, ...]:
    content = _read_json(path)
    try:
        rows = [(row["route"], row["model"], row["version"]) for row in content["active"]]
    except (KeyError, TypeError) as error:
        raise MapFileError(f"{path}: no list of active versions: {error!r}") from error
    for route, model, version in rows:
        if not (isinstance(route, str | None) and isinstance(model, str | None) and isinstance(version, str)):
            raise MapFileError(f"{path}: a route, model or version is no string: {route!r}, {model!r}, {version!r}")
    return tuple(Assignment(*row) for row in rows)


def _temporary(path: Path, content: dict[str, Any]) -> Path:
    """The content in a file beside `path`, on disk before anything points to it."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, sort_keys=False, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def _replace_file(path: Path, content: dict[str, Any]) -> None:
    os.replace(_temporary(path, content), path)


def _write_new(path: Path, content: dict[str, Any]) -> None:
    """Write `path` at once and only if it does not exist (a hard link fails where the name is taken)."""
    temporary = _temporary(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise MapFileError(f"{path}: exists already; stored maps are never overwritten") from None
    finally:
        temporary.unlink()
