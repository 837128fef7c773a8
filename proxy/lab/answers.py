"""Recorded answers, each with further answers to the same question: read twice, measured one at a time.

Measured rows are kept in a ledger under a key made from their content, so that no judge is paid for twice.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, StrictStr, ValidationError

from ..config.reading import in_words
from ..errors import InputError, ProxyError
from ..types import Json
from .collecting import Outcome, work_off
from .datasets import BadRow, Text
from .ledger import read_ledger

SHOWN = 5
"""Number of bad rows that are kept with their reasons; further ones are only counted."""


def _text(item: object) -> object:
    return item.get("text") if isinstance(item, dict) else item


Share = Annotated[float, Field(strict=True, ge=0.0, le=1.0)]
SampleText = Annotated[StrictStr, BeforeValidator(_text)]


def why_refused(error: ValidationError, wanted: str) -> str:
    """The first error of a row, in words; `wanted` describes a valid row."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"'{where}' is missing; {wanted}"
    if where == "samples" and first["type"] == "too_short":
        return "'samples' is empty: confidence needs one further answer at least"
    return f"'{where}': {in_words(first)}" if where else f"{in_words(first)}; {wanted}"


class WithSamples(BaseModel):
    """The fields of every row that can be measured: the answer, and at least one further answer of the same model."""

    question: Text = ""
    answer: StrictStr
    samples: Annotated[tuple[SampleText, ...], Field(min_length=1)]


Row = TypeVar("Row")
Measured = TypeVar("Measured")
Answered = TypeVar("Answered", bound=WithSamples)


@dataclass(frozen=True, slots=True)
class Item(Generic[Answered]):
    """An answer that is still to be measured."""

    line: int
    key: str
    row: Answered


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of a first pass over the rows.

    Attributes:
        rows: number of usable rows.
        left: number of these that are not measured yet.
        bad: the first bad rows.
        n_bad: number of bad rows.
    """

    rows: int
    left: int
    bad: tuple[BadRow, ...]
    n_bad: int


@dataclass(frozen=True, slots=True)
class Pace:
    """Number of answers measured at once; callbacks after each, and for each failure (line, reason)."""

    concurrency: int = 1
    on_done: Callable[[], None] = lambda: None
    on_failure: Callable[[int, str], None] = lambda _line, _why: None


UNWATCHED = Pace()


def keyed(rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, str, Row]]:
    """Line, key and row; the key is "" for a row that is not to be measured. Equal answers get different keys: each of them counts."""
    seen: Counter[bytes] = Counter()
    for line, row in rows:
        key = ""
        if isinstance(row, WithSamples):
            said = json.dumps([row.question, row.answer, row.samples])
            digest = hashlib.sha256(said.encode()).digest()[:12]
            seen[digest] += 1
            key = f"{digest.hex()}.{seen[digest]}"
        yield line, key, row


def look(
    rows: Iterable[tuple[int, object]], kept: Container[str], see: Callable[[WithSamples, bool], None] | None = None
) -> Looked:
    """Read all rows once, without keeping them; `see` receives each answer, and whether it must still be measured."""
    usable = left = n_bad = 0
    bad: list[BadRow] = []
    for _, key, row in keyed(rows):
        if isinstance(row, BadRow):
            n_bad += 1
            bad += [row] if len(bad) < SHOWN else []
            continue
        usable += 1
        if isinstance(row, WithSamples):
            left += key not in kept
            if see is not None:
                see(row, key not in kept)
    return Looked(usable, left, tuple(bad), n_bad)


def kept_in(path: Path | None, parse: Callable[[Json], object], kind: type[Measured]) -> dict[str, Measured]:
    """The measured rows of a ledger by key; empty without a file.

    Raises:
        LedgerError: a line is not a row.
        InputError: a row is not a measured row.
    """
    if path is None or not path.exists():
        return {}
    return {
        row["key"]: _measured(path, parse, kind, row) for row in read_ledger(path) if isinstance(row.get("key"), str)
    }


def _measured(path: Path, parse: Callable[[Json], object], kind: type[Measured], row: Json) -> Measured:
    try:
        read = parse(row)
    except ValueError as refused:
        raise InputError(f"{path}: a kept row cannot be used ({refused}); name another file with --out") from refused
    if not isinstance(read, kind):
        raise InputError(f"{path}: a kept row holds nothing that was measured; name another file with --out")
    return read


async def work_through(
    items: Iterable[Item[Answered]], measure: Callable[[Item[Answered]], Awaitable[None]], pace: Pace
) -> Outcome:
    """Measure every item; a failed one is reported and left for the next run."""

    def failed(item: Item[Answered], failure: ProxyError) -> None:
        pace.on_failure(item.line, f"{failure.code}: {failure.message}")

    return await work_off(items, measure, concurrency=pace.concurrency, on_done=pace.on_done, on_failure=failed)
