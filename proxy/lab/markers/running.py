"""Going through a file: what is in it, measuring the answers that are not measured yet, and keeping what a judge said."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ....lexicon.text.language import language_of
from ....lexicon.text.sentences import sentences
from ...audit.engine import Engine
from ...audit.queries import recorded_answers
from ...types import Json
from .. import answers
from ..answers import UNWATCHED, Item, Looked, Pace, WithSamples
from ..collecting import Outcome
from ..datasets import BadRow
from ..ledger import Ledger
from .analysis import Gathered
from .measuring import Judge, asserting
from .rows import Answered, MeasuredAnswer, OneSentence, Row, parse_row, sentences_of

Words = Literal["own", "served"]
"""Of an answer of the audit: the draft's words, or those that the client got (shadow: would have got)."""
Read = Callable[[], Iterator[tuple[int, Row | BadRow]]]
"""Reads all rows once, with their numbers; called twice."""


@dataclass(frozen=True, slots=True)
class ToMeasure:
    """What a first pass over the rows finds, and what measuring them takes.

    Attributes:
        comparisons: sentences of the answers that are left, times their further answers.
        fewest, most: further answers of an answer; None where there is no answer.
    """

    rows: Looked
    comparisons: int
    fewest: int | None
    most: int | None


def look(read: Read, kept: Container[str]) -> ToMeasure:
    """Read all rows once and keep none."""
    comparisons = 0
    drawn: set[int] = set()

    def see(row: WithSamples, is_left: bool) -> None:
        nonlocal comparisons
        drawn.add(len(row.samples))
        if is_left:
            comparisons += len(asserting(row.answer)[0]) * len(row.samples)

    looked = answers.look(read(), kept, see)
    return ToMeasure(looked, comparisons, min(drawn, default=None), max(drawn, default=None))


def from_audit(engine: Engine, since: float, words: Words, route: str | None) -> Iterator[tuple[int, Row]]:
    """The recorded answers of an audit, each route a dataset: the model's own words, or those that were served, against the other samples.

    Raises:
        StoreError: the store cannot be read.
    """
    for number, of in enumerate(recorded_answers(engine, since=since, route=route), start=1):
        others = list(of.samples)
        if of.draft in others:
            others.remove(of.draft)
        yield (
            number,
            Answered(
                question=of.question, answer=of.draft if words == "own" else of.answer, samples=tuple(others),
                model=of.model, dataset=of.route, response=of.id, correct=of.correct,
            ),
        )  # fmt: skip


def kept_in(path: Path | None) -> dict[str, MeasuredAnswer]:
    """What a ledger has already, by key.

    Raises:
        InputError: it holds something else.
    """
    return answers.kept_in(path, parse_row, MeasuredAnswer)


async def gather(
    read: Read, judge: Judge, kept: Mapping[str, MeasuredAnswer], ledger: Ledger | None, pace: Pace = UNWATCHED
) -> tuple[Gathered, Outcome]:
    """The sentences of all rows; answers that are not kept are measured."""
    gathered = Gathered()

    async def one(item: Item[Answered]) -> None:
        if language_of(item.row.answer, item.row.question) != "en":
            gathered.unread += len(sentences(item.row.answer))
            return
        measured = await judge(item.row)
        if ledger is not None:
            ledger.finish(item.key, _kept_row(measured))
        _add(gathered, measured, item.line)

    outcome = await answers.work_through(_left(read, kept, gathered), one, pace)
    return gathered, outcome


def _kept_row(measured: MeasuredAnswer) -> Json:
    row: Json = measured.model_dump(exclude_none=True, exclude_defaults=True)
    return row | {"sentences": [one.model_dump(exclude_none=True) for one in measured.sentences]}


def _left(read: Read, kept: Mapping[str, MeasuredAnswer], gathered: Gathered) -> Iterator[Item[Answered]]:
    """The answers that are to be measured; all other rows go straight to the sentences."""
    for line, key, row in answers.keyed(read()):
        if isinstance(row, BadRow):
            continue
        if not isinstance(row, Answered):
            _add(gathered, row, line)
        elif key in kept:
            _add(gathered, kept[key].model_copy(update=row.given), line)
        else:
            yield Item(line, key, row)


def _add(gathered: Gathered, row: OneSentence | MeasuredAnswer, line: int) -> None:
    gathered.add(*sentences_of(row, line), row.unasserting if isinstance(row, MeasuredAnswer) else 0)
