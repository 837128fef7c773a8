"""Measuring a file of answers, one row at a time, by rules and words, by the shipped judge or by a language model; what a judge said is kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio.to_thread

from hedgerow.proxy.clustering.local import LocalJudge, missing
from hedgerow.proxy.config import Route, Settings
from hedgerow.proxy.errors import InputError, ProxyError
from hedgerow.proxy.lab.collecting import Outcome, work_off
from hedgerow.proxy.lab.datasets import BadRow
from hedgerow.proxy.lab.faithfulness.asking import open_judge, told_by
from hedgerow.proxy.lab.faithfulness.assertions import Unread, assertions
from hedgerow.proxy.lab.faithfulness.contradiction import ByJudge, Tell, by_words
from hedgerow.proxy.lab.faithfulness.figures import Gathered
from hedgerow.proxy.lab.faithfulness.rows import Answered, Measured, Told, parse_row, read_rows
from hedgerow.proxy.lab.ledger import Ledger, read_ledger
from hedgerow.proxy.types import Json

Teller = Callable[[Answered], Awaitable[Told]]


@dataclass(frozen=True, slots=True)
class Item:
    """A row that is still to be measured."""

    line: int
    key: str
    row: Answered


def by_rules_and_words() -> Teller:
    """No model: the lexicon's reader, rules and words."""
    return partial(_told, by_words)


def by_local_judge() -> Teller:
    """The lexicon's reader, and the shipped judge after the rules.

    Raises:
        InputError: it cannot run here.
    """
    if (lacking := missing()) is not None:
        raise InputError(f"--judge local: {lacking}")
    return partial(_told, ByJudge(LocalJudge()))


@asynccontextmanager
async def by_language_model(settings: Settings, route: Route) -> AsyncIterator[Teller]:
    """A language model reads both.

    Raises:
        ConfigError: the upstream cannot be opened.
    """
    async with open_judge(settings, route) as ask:
        yield partial(told_by, ask)


async def _told(tell: Tell, row: Answered) -> Told:
    return await anyio.to_thread.run_sync(told_here, tell, row)


def told_here(tell: Tell, row: Answered) -> Told:
    """What is found of a row without a language model. Blocks.

    Raises:
        Unread: its answer cannot be read.
    """
    found = assertions(row.answer, row.question)
    if not found:
        return Told((), (), ())
    table = tell(row.question, found, row.samples)
    return Told(tuple(one.text for one in found), tuple(one.decisiveness for one in found), tuple(table))


@dataclass(frozen=True, slots=True)
class Looked:
    """What a first pass over the file finds.

    Attributes:
        rows: those that can be used.
        left: of these, those that are neither measured nor in the ledger.
        bad: the first rows at fault, and how many there are.
    """

    rows: int
    left: int
    bad: tuple[BadRow, ...]
    n_bad: int


SHOWN = 5


def look(path: Path, kept: dict[str, Measured]) -> Looked:
    """Read all rows once and keep none."""
    rows = left = n_bad = 0
    bad: list[BadRow] = []
    for _, key, row in _keyed(path):
        if isinstance(row, BadRow):
            n_bad += 1
            bad += [row] if len(bad) < SHOWN else []
            continue
        rows += 1
        left += isinstance(row, Answered) and key not in kept
    return Looked(rows, left, tuple(bad), n_bad)


def kept_in(path: Path | None) -> dict[str, Measured]:
    """What a ledger has already, by key.

    Raises:
        LedgerError: it holds something else.
    """
    if path is None or not path.exists():
        return {}
    return {row["key"]: _measured(row) for row in read_ledger(path) if isinstance(row.get("key"), str)}


def _measured(row: Json) -> Measured:
    read = parse_row(row)
    if not isinstance(read, Measured):
        raise InputError("a kept row holds no figures; name another file with --out")
    return read


async def measure(
    path: Path,
    teller: Teller,
    kept: dict[str, Measured],
    ledger: Ledger | None,
    *,
    concurrency: int = 1,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[int, str], None] = lambda _line, _why: None,
) -> tuple[Gathered, Outcome]:
    """Measure every row that is not kept; rows that fail are reported and left for the next time."""
    gathered = Gathered()

    async def one(item: Item) -> None:
        try:
            told = await teller(item.row)
        except Unread as unread:
            gathered.unread += 1
            on_failure(item.line, str(unread))
            return
        measured = told.of(item.row)
        if ledger is not None:
            ledger.finish(item.key, _kept_row(measured, told))
        gathered.add(measured)

    def failed(item: Item, failure: ProxyError) -> None:
        on_failure(item.line, f"{failure.code}: {failure.message}")

    items = _left(path, kept, gathered)
    outcome = await work_off(items, one, concurrency=concurrency, on_done=on_done, on_failure=failed)
    return gathered, outcome


def _left(path: Path, kept: dict[str, Measured], gathered: Gathered) -> Iterator[Item]:
    """The rows that are to be measured; those that were go straight to the figures."""
    for line, key, row in _keyed(path):
        if isinstance(row, Measured):
            gathered.add(row)
        elif isinstance(row, Answered):
            if key in kept:
                gathered.add(kept[key].model_copy(update=row.told))
            else:
                yield Item(line, key, row)


def _keyed(path: Path) -> Iterator[tuple[int, str, Answered | Measured | BadRow]]:
    """Line, key and row. Equal rows have different keys: each of them counts."""
    seen: Counter[bytes] = Counter()
    for line, row in read_rows(path):
        digest = b""
        if isinstance(row, Answered):
            said = json.dumps([row.question, row.answer, row.samples])
            digest = hashlib.sha256(said.encode()).digest()[:12]
            seen[digest] += 1
        yield line, f"{digest.hex()}.{seen[digest]}", row


def _kept_row(measured: Measured, told: Told) -> Json:
    row: Json = {name: value for name, value in measured.told.items() if value not in ("", None)}
    row |= {"decisiveness": list(measured.decisiveness), "confidence": list(measured.confidence), "k": measured.k}
    return row | {"punt": measured.punt, "assertions": list(told.texts)}
