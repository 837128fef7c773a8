"""A file of rows while it grows, and the journal beside it.

`FILE` holds one whole row a question. Answers that come one by one go to `FILE.part` first, as they come, so that a process that is killed,
or an upstream that dies between two answers to one question, loses nothing that was paid for. Both files are only ever appended to, by one
process at a time.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from hedgerow.proxy.errors import InputError
from hedgerow.proxy.types import Json


class LedgerError(InputError):
    """The file holds something else than what would be appended to it."""


class Ledger:
    """The rows of one collection; a context manager that holds both files open.

    Args:
        path: the file; made where there is none.
        how: how its rows are made, as one entry of each of them ("drawn", "graded"): `{"n": 10, ...}`. All rows of a file must be made
            in one way, else they say nothing together.
        entry: the name of that entry.

    Raises:
        LedgerError: the file is there and holds other rows, rows that were made otherwise, or is being written by another process.
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
        """What is there already."""
        if not _locked(self._file):
            raise LedgerError(f"{self._path}: another process is writing it")
        for number, row in _whole_rows(self._path):
            self.done.add(self._key(number, row))
        for _, row in _whole_rows(self._part):
            if isinstance(row, dict) and row.get(self._entry) == self._how and row.get("key") not in self.done:
                self._answers[row["key"]] += row["answers"]

    def _key(self, number: int, row: object) -> str:
        """The key of a row that this collection may be added to."""
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
        """What has come for a question that is not done yet."""
        return tuple(self._answers[key]) if key in self._answers else ()

    def keep(self, key: str, answers: Sequence[Json]) -> None:
        """Write down answers to a question that is not done yet."""
        if self._journal is None:
            self._journal = self._part.open("ab", buffering=0)
        self._answers[key] += answers
        _append(self._journal, {"key": key, self._entry: self._how, "answers": list(answers)})

    def finish(self, key: str, row: Json) -> None:
        """Write down the row of a question that is done."""
        _append(self._file, {"key": key, **row, self._entry: self._how})
        self.done.add(key)
        self._answers.pop(key, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close both files; a journal in which nothing is left that the file has not is removed."""
        self._file.close()
        if self._journal is not None:
            self._journal.close()
        if not self._answers:
            self._part.unlink(missing_ok=True)


def read_ledger(path: Path) -> list[Json]:
    """Every whole row of a ledger that is not open.

    Raises:
        LedgerError: it holds something else.
    """
    return [row for _, row in _whole_rows(path) if isinstance(row, dict)]


def _locked(file: BinaryIO) -> bool:
    """Whether this process is now the only one that writes the file; where the system has no locks, it is taken for that."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _append(file: BinaryIO, row: Json) -> None:
    """One line in one write: what a killed process leaves is a whole line or one without an end."""
    file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _whole_rows(path: Path) -> list[tuple[int, object]]:
    """Every row with its line number. A last line without an end is what a killed process left; it is cut off.

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
