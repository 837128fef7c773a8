"""A growing file of rows, and its journal.

`FILE` holds one complete row a question. Answers that arrive one by one are first appended to `FILE.part`, so that nothing paid for is lost
if the process is killed or the upstream fails between two answers. Both files are append-only, with one writing process at a time.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from ..errors import InputError
from ..types import Json


class LedgerError(InputError):
    """The file holds other rows than those that would be appended."""


class Ledger:
    """The rows of one collection; a context manager that holds both files open.

    Args:
        path: the file; created if it does not exist.
        how: how its rows are made, stored in each row ("drawn", "graded"): `{"n": 10, ...}`. It must be the same for all rows of a file,
            else they cannot be evaluated together.
        entry: name of the field that holds `how`.

    Raises:
        LedgerError: the file holds other rows, rows made in another way, or is being written by another process.
        OSError: a file cannot be read or written.
    """

    def __init__(self, path: Path, how: Json, entry: str = "drawn") -> None:
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._how, self._entry = how, entry
        self.done: set[str] = set()
        self._answers: defaultdict[str, list[Json]] = defaultdict(list)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab", buffering=0)
        self._journal: BinaryIO | None = None
        try:
            self._read()
        except (LedgerError, OSError):
            self._file.close()
            raise

    def _read(self) -> None:
        """Read existing rows and the journal."""
        if not _locked(self._file):
            raise LedgerError(f"{self._path}: another process is writing it")
        for number, row in _whole_rows(self._path):
            self.done.add(self._key(number, row))
        for _, row in _whole_rows(self._part):
            if isinstance(row, dict) and row.get(self._entry) == self._how and row.get("key") not in self.done:
                self._answers[row["key"]] += row["answers"]

    def _key(self, number: int, row: object) -> str:
        """The key of an existing row; checks that it was made in the same way."""
        if (
            not isinstance(row, dict)
            or not isinstance(row.get("key"), str)
            or not isinstance(row.get(self._entry), dict)
        ):
            raise LedgerError(f"{self._path}: line {number} was not written by this command; name another file")
        before = row[self._entry]
        changed = [name for name in {**self._how, **before} if self._how.get(name) != before.get(name)]
        if changed:
            name = changed[0]
            raise LedgerError(
                f"{self._path}: line {number} was {self._entry} with {name} {before.get(name)!r}, now it is {self._how.get(name)!r}; "
                "name another file, or go back to the old settings"
            )
        return str(row["key"])

    def answers(self, key: str) -> Sequence[Json]:
        """Answers so far to an unfinished question."""
        return tuple(self._answers[key]) if key in self._answers else ()

    def keep(self, key: str, answers: Sequence[Json]) -> None:
        """Store answers to an unfinished question in the journal."""
        if self._journal is None:
            self._journal = self._part.open("ab", buffering=0)
        self._answers[key] += answers
        _append(self._journal, {"key": key, self._entry: self._how, "answers": list(answers)})

    def finish(self, key: str, row: Json) -> None:
        """Append the row of a finished question."""
        _append(self._file, {"key": key, **row, self._entry: self._how})
        self.done.add(key)
        self._answers.pop(key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both files; a journal whose questions are all finished is removed."""
        self._file.close()
        if self._journal is not None:
            self._journal.close()
        if not self._answers:
            self._part.unlink(missing_ok=True)


def _locked(file: BinaryIO) -> bool:
    """Whether this process has locked the file for writing; True on systems without file locks."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _append(file: BinaryIO, row: Json) -> None:
    """Append a line with one write: a killed process leaves a complete line or a last line without an end."""
    file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _whole_rows(path: Path) -> list[tuple[int, object]]:
    """Every row with its line number. A last line without an end was left by a killed process and is removed.

    Raises:
        LedgerError: another line is not JSON.
    """
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("rb+") as file:
            file.truncate(whole)
    rows = []
    for number, line in enumerate(data[:whole].splitlines(), start=1):
        try:
            rows.append((number, json.loads(line)))
        except ValueError as error:
            raise LedgerError(f"{path}: line {number} is not valid JSON; name another file") from error
    return rows
