"""Going through a file: what is in it, measuring the answers that are not measured yet, and keeping what a judge said."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hedgerow.lexicon.text.language import language_of
from hedgerow.lexicon.text.sentences import sentences
from hedgerow.proxy.audit.engine import Engine
from hedgerow.proxy.audit.recorded import recorded_answers
from hedgerow.proxy.errors import InputError, ProxyError
from hedgerow.proxy.lab.collecting import Outcome, work_off
from hedgerow.proxy.lab.datasets import BadRow
from hedgerow.proxy.lab.ledger import Ledger, read_ledger
from hedgerow.proxy.lab.markers.analysis import Gathered
from hedgerow.proxy.lab.markers.measuring import Teller, asserting
from hedgerow.proxy.lab.markers.rows import Answered, MeasuredAnswer, Row, parse_row, sentences_of
from hedgerow.proxy.types import Json

Read = Callable[[], Iterator[tuple[int, Row | BadRow]]]
"""Reads all rows once, with their numbers; called twice."""
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Looked:
    """What a first pass over the file finds.

    Attributes:
        rows: those that can be used.
        answers: of these, answers that are neither measured nor kept.
        comparisons: sentences of these answers times their further answers.
        fewest, most: further answers of an answer; None where there is none to measure.
        bad: the first rows at fault, and how many there are.
    """

    rows: int = 0
    answers: int = 0
    comparisons: int = 0
    fewest: int | None = None
    most: int | None = None
    bad: tuple[BadRow, ...] = ()
    n_bad: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """An answer that is still to be measured."""

    line: int
    key: str
    row: Answered


def look(read: Read, kept: Mapping[str, MeasuredAnswer]) -> Looked:
    """Read all rows once and keep none."""
    rows = answers = comparisons = n_bad = 0
    bad: list[BadRow] = []
    drawn: set[int] = set()
    for _, key, row in _keyed(read):
        if isinstance(row, BadRow):
            n_bad += 1
            bad += [row] if len(bad) < SHOWN else []
            continue
        rows += 1
        if isinstance(row, Answered):
            drawn.add(len(row.samples))
            if key not in kept:
                answers += 1
                comparisons += len(asserting(row.answer)[0]) * len(row.samples)
    return Looked(rows, answers, comparisons, min(drawn, default=None), max(drawn, default=None), tuple(bad), n_bad)


def from_audit(engine: Engine, since: float) -> Iterator[tuple[int, Row]]:
    """The recorded answers of an audit, each route a dataset: the model's own words against the other samples.

    Raises:
        StoreError: the store cannot be read.
    """
    for number, of in enumerate(recorded_answers(engine, since=since), start=1):
        others = list(of.samples)
        if of.draft in others:
            others.remove(of.draft)
        yield (
            number,
            Answered(
                question=of.question, answer=of.draft, samples=tuple(others),
                model=of.model, dataset=of.route, response=of.id, correct=of.correct,
            ),
        )  # fmt: skip


def kept_in(path: Path | None) -> dict[str, MeasuredAnswer]:
    """What a ledger has already, by key.

    Raises:
        LedgerError: it holds something else.
        InputError: a row of it cannot be used.
    """
    if path is None or not path.exists():
        return {}
    return {row["key"]: _measured(row) for row in read_ledger(path) if isinstance(row.get("key"), str)}


def _measured(row: Json) -> MeasuredAnswer:
    try:
        read = parse_row(row)
    except ValueError as refused:
        raise InputError(f"a kept row cannot be used ({refused}); name another file with --out") from refused
    if not isinstance(read, MeasuredAnswer):
        raise InputError("a kept row holds no measured sentences; name another file with --out")
    return read


async def gather(
    read: Read,
    teller: Teller,
    kept: Mapping[str, MeasuredAnswer],
    ledger: Ledger | None,
    *,
    concurrency: int = 1,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[int, str], None] = lambda _line, _why: None,
) -> tuple[Gathered, Outcome]:
    """The sentences of all rows; answers that are not kept are measured. One that fails is reported and left for the next time."""
    gathered = Gathered()

    async def one(item: Item) -> None:
        if language_of(item.row.answer, item.row.question) != "en":
            gathered.unread += len(sentences(item.row.answer))
            return
        measured = await teller(item.row)
        if ledger is not None:
            ledger.finish(
                item.key,
                measured.model_dump(exclude_none=True, exclude_defaults=True)
                | {"sentences": [s.model_dump(exclude_none=True) for s in measured.sentences]},
            )
        _add(gathered, measured, item.line)

    def failed(item: Item, failure: ProxyError) -> None:
        on_failure(item.line, f"{failure.code}: {failure.message}")

    items = _left(read, kept, gathered)
    outcome = await work_off(items, one, concurrency=concurrency, on_done=on_done, on_failure=failed)
    return gathered, outcome


def _left(read: Read, kept: Mapping[str, MeasuredAnswer], gathered: Gathered) -> Iterator[Item]:
    """The answers that are to be measured; all other rows go straight to the sentences."""
    for line, key, row in _keyed(read):
        if isinstance(row, BadRow):
            continue
        if not isinstance(row, Answered):
            _add(gathered, row, line)
        elif key in kept:
            _add(gathered, kept[key].model_copy(update={name: getattr(row, name) for name in TOLD}), line)
        else:
            yield Item(line, key, row)


TOLD = ("model", "dataset", "response", "split", "correct")
"""What a kept row takes from the line as it is now."""


def _add(gathered: Gathered, row: Row, line: int) -> None:
    if not isinstance(row, Answered):
        gathered.add(*sentences_of(row, line), row.unasserting if isinstance(row, MeasuredAnswer) else 0)


def _keyed(read: Read) -> Iterator[tuple[int, str, Row | BadRow]]:
    """Line, key and row. Equal rows have different keys: each of them counts."""
    seen: Counter[bytes] = Counter()
    for line, row in read():
        digest = b""
        if isinstance(row, Answered):
            said = json.dumps([row.question, row.answer, row.samples])
            digest = hashlib.sha256(said.encode()).digest()[:12]
            seen[digest] += 1
        yield line, f"{digest.hex()}.{seen[digest]}", row
