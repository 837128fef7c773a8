"""Measure a file of answers, one row at a time, by rules and words, by the shipped judge or by a language model; a model's results are kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Container, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from ...computing import compute
from ...config import Route, Settings
from ...types import Json
from .. import answers
from ..answers import UNWATCHED, Item, Looked, Pace
from ..collecting import Outcome
from ..ledger import Ledger
from ..reading import shipped_judge
from .asking import judged_by, open_judge
from .assertions import Unread, assertions
from .contradiction import ByJudge, Compare, by_words
from .figures import Gathered
from .rows import Answered, Judged, Measured, parse_row, read_rows

Judge = Callable[[Answered], Awaitable[Judged]]


def by_rules_and_words() -> Judge:
    """Measure without a model: the lexicon's reader, rules and words."""
    return partial(_in_thread, by_words)


def by_local_judge() -> Judge:
    """Measure with the lexicon's reader, and the shipped judge after the rules.

    Raises:
        InputError: it cannot run here.
    """
    return partial(_in_thread, ByJudge(shipped_judge()))


@asynccontextmanager
async def by_language_model(settings: Settings, route: Route) -> AsyncIterator[Judge]:
    """A language model reads the assertions and says which of the further answers contradict them.

    Raises:
        ConfigError: the upstream cannot be opened.
    """
    async with open_judge(settings, route) as ask:
        yield partial(judged_by, ask)


async def _in_thread(compare: Compare, row: Answered) -> Judged:
    return await compute(judge_here, compare, row)


def judge_here(compare: Compare, row: Answered) -> Judged:
    """Measure a row without a language model. Blocks.

    Raises:
        Unread: its answer cannot be read.
    """
    asserted = assertions(row.answer, row.question)
    if not asserted:
        return Judged((), (), ())
    table = compare(row.question, asserted, row.samples)
    return Judged(tuple(one.text for one in asserted), tuple(one.decisiveness for one in asserted), tuple(table))


def look(path: Path, kept: Container[str]) -> Looked:
    """Read all rows once, without keeping them."""
    return answers.look(read_rows(path), kept)


def kept_in(path: Path | None) -> dict[str, Measured]:
    """The measured rows of a ledger, by key.

    Raises:
        InputError: it holds other rows.
    """
    return answers.kept_in(path, parse_row, Measured)


async def measure(
    path: Path, judge: Judge, kept: Mapping[str, Measured], ledger: Ledger | None, pace: Pace = UNWATCHED
) -> tuple[Gathered, Outcome]:
    """Measure every row that is not kept."""
    gathered = Gathered()

    async def one(item: Item[Answered]) -> None:
        try:
            judged = await judge(item.row)
        except Unread as unread:
            gathered.unread += 1
            pace.on_failure(item.line, str(unread))
            return
        measured = judged.of(item.row)
        if ledger is not None:
            ledger.finish(item.key, _kept_row(measured, judged))
        gathered.add(measured)

    outcome = await answers.work_through(_left(path, kept, gathered), one, pace)
    return gathered, outcome


def _left(path: Path, kept: Mapping[str, Measured], gathered: Gathered) -> Iterator[Item[Answered]]:
    """The rows still to be measured; measured ones are added to the figures directly."""
    for line, key, row in answers.keyed(read_rows(path)):
        if isinstance(row, Measured):
            gathered.add(row)
        elif isinstance(row, Answered):
            if key in kept:
                gathered.add(kept[key].model_copy(update=row.given))
            else:
                yield Item(line, key, row)


def _kept_row(measured: Measured, judged: Judged) -> Json:
    row: Json = {name: value for name, value in measured.given.items() if value not in ("", None)}
    row |= {"decisiveness": list(measured.decisiveness), "confidence": list(measured.confidence), "k": measured.k}
    return row | {"punt": measured.punt, "assertions": list(judged.texts)}
