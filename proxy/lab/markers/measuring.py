"""The confidence of each sentence of an answer by consistency (Liu & Cohan, appendix B.5): does each further answer bear it out, leave it open, or
contradict it? By rules and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from ....lexicon import load
from ....lexicon.text.language import language_of
from ....lexicon.text.sentences import sentences
from ...audit.engine import Engine
from ...audit.queries import recorded_answers
from ...clustering.support import borne_out
from ...rewriting.asserting import asserts
from ...rewriting.strip import Strippers
from ..datasets import BadRow
from ..faithfulness.assertions import Assertion
from ..faithfulness.contradiction import by_words
from .analysis import Gathered
from .rows import Answered, MeasuredAnswer, MeasuredSentence, Row, sentences_of

Verdicts = Sequence[Sequence[bool | None]]
"""For each sentence and each further answer: it bears it out, contradicts it, or neither (None)."""
INCONSISTENT = {True: 0.0, None: 0.5, False: 1.0}
"""What each further answer adds to the inconsistency of a sentence: yes, n/a, no of appendix B.5."""


def confidence_of(verdicts: Sequence[bool | None]) -> float:
    """conf(s) = 1 - mean over further answers of their inconsistency with the sentence.

    Examples:
        >>> confidence_of([True, True, None, False])
        0.625
    """
    return 1.0 - sum(INCONSISTENT[verdict] for verdict in verdicts) / len(verdicts)


def gather(
    rows: Iterable[tuple[int, Row | BadRow]], on_row: Callable[[], None] = lambda: None
) -> tuple[Gathered, list[BadRow]]:
    """The sentences of all rows, of answers with the confidence in each; and the rows that cannot be used."""
    gathered, bad = Gathered(), list[BadRow]()
    for line, row in rows:
        on_row()
        if isinstance(row, BadRow):
            bad.append(row)
        elif not isinstance(row, Answered):
            gathered.add(*sentences_of(row, line), row.unasserting if isinstance(row, MeasuredAnswer) else 0)
        elif language_of(row.answer, row.question) != "en":
            gathered.unread += len(sentences(row.answer))
        else:
            measured = measure(row)
            gathered.add(*sentences_of(measured, line), measured.unasserting)
    return gathered, bad


def from_audit(engine: Engine, since: float, route: str | None) -> Iterator[tuple[int, Row]]:
    """The recorded answers of an audit, each route a dataset: the model's own words against the other samples.

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
                question=of.question, answer=of.draft, samples=tuple(others),
                model=of.model, dataset=of.route, response=of.id, correct=of.correct,
            ),
        )  # fmt: skip


def measure(row: Answered) -> MeasuredAnswer:
    """The sentences of an answer that assert something, each with the model's confidence in it."""
    originals, bare = asserting(row.answer)
    verdicts = verdicts_by_words(row.question, bare, row.samples) if bare else []
    measured = [
        MeasuredSentence(text=text, confidence=round(confidence_of(of), 6))
        for text, of in zip(originals, verdicts, strict=True)
    ]
    unasserting = len(sentences(row.answer)) - len(measured)
    return MeasuredAnswer(sentences=tuple(measured), unasserting=unasserting, **row.given)


def asserting(answer: str) -> tuple[list[str], list[str]]:
    """The sentences of an answer that assert something, as they stand and without their words of confidence."""
    stripper = _strippers().of("en")
    originals, bare = [], []
    for sentence in sentences(answer):
        said = stripper.sentence(sentence)
        if asserts(said):
            originals.append(sentence)
            bare.append(said)
    return originals, bare


@cache
def _strippers() -> Strippers:
    return Strippers(load().hedges)


def verdicts_by_words(question: str, said: Sequence[str], others: Sequence[str]) -> Verdicts:
    """By the rules and words alone."""
    denied = by_words(question, _assertions(said), others)
    held = borne_out(question, said, others)
    return [_both(of_one, of_other) for of_one, of_other in zip(denied, held, strict=True)]


def _both(denied: Sequence[bool], held: Sequence[bool | None]) -> list[bool | None]:
    return [False if no else yes for no, yes in zip(denied, held, strict=True)]


def _assertions(said: Sequence[str]) -> list[Assertion]:
    return [Assertion(text, 1.0, of_several=len(said) > 1) for text in said]
