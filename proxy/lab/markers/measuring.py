"""The confidence of each sentence of an answer by consistency (Liu & Cohan, appendix B.5): does each further answer bear it out, leave it open, or
contradict it? By rules and words, by the shipped judge, or by a language model.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial

from ....lexicon import load
from ....lexicon.text.claims import Claim
from ....lexicon.text.sentences import sentences
from ...clustering.judged_support import read_claims
from ...clustering.local import LocalJudge, reads
from ...clustering.support import borne_out
from ...computing import compute
from ...config import Route, Settings
from ...errors import StepFailed, UpstreamError
from ...rewriting.asserting import asserts
from ...rewriting.strip import Strippers
from .. import reading
from ..faithfulness.assertions import Assertion
from ..faithfulness.contradiction import ByJudge, by_words, said_in
from .rows import Answered, MeasuredAnswer, MeasuredSentence

Verdicts = Sequence[Sequence[bool | None]]
"""For each sentence and each further answer: it bears it out, contradicts it, or neither (None)."""
Compare = Callable[[str, Sequence[str], Sequence[str]], Verdicts]
Judge = Callable[[Answered], Awaitable[MeasuredAnswer]]
INCONSISTENT = {True: 0.0, None: 0.5, False: 1.0}
"""What each further answer adds to the inconsistency of a sentence: yes, n/a, no of appendix B.5."""


def confidence_of(verdicts: Sequence[bool | None]) -> float:
    """conf(s) = 1 - mean over further answers of their inconsistency with the sentence.

    Examples:
        >>> confidence_of([True, True, None, False])
        0.625
    """
    return 1.0 - sum(INCONSISTENT[verdict] for verdict in verdicts) / len(verdicts)


def by_rules_and_words() -> Judge:
    """No model."""
    return partial(_in_thread, verdicts_by_words)


def by_local_judge() -> Judge:
    """The shipped judge, after the rules where an answer is one sentence.

    Raises:
        InputError: it cannot run here.
    """
    return partial(_in_thread, partial(verdicts_by_judge, reading.shipped_judge()))


@asynccontextmanager
async def by_language_model(settings: Settings, route: Route) -> AsyncIterator[Judge]:
    """A route's judge, asked once an answer.

    Raises:
        ConfigError: its upstream cannot be opened.
    """
    async with reading.by_language_model(settings, route) as judging:
        yield partial(_asked, judging)


async def _in_thread(compare: Compare, row: Answered) -> MeasuredAnswer:
    return await compute(_measured, compare, row)


def _measured(compare: Compare, row: Answered) -> MeasuredAnswer:
    originals, bare = asserting(row.answer)
    return _of(row, originals, compare(row.question, bare, row.samples) if bare else [])


async def _asked(judging: reading.Judging, row: Answered) -> MeasuredAnswer:
    originals, bare = await compute(asserting, row.answer)
    if not bare:
        return _of(row, [], [])
    claims = [Claim(text, "", 0, len(text), "sentence") for text in bare]
    try:
        supports = await judging.supporter_of(row.question).measure_claims(
            row.question, claims, row.samples, row.answer
        )
    except StepFailed as failure:  # a route whose judge is strict
        raise UpstreamError(str(failure), code=failure.reason) from failure
    for of in supports:
        if why := of.by.partition(":")[2]:
            raise UpstreamError(f"the judge did not decide: {why}", code=why)
    return _of(row, originals, [of.borne_out for of in supports])


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


def _of(row: Answered, originals: Sequence[str], verdicts: Verdicts) -> MeasuredAnswer:
    measured = [
        MeasuredSentence(text=text, confidence=round(confidence_of(of), 6))
        for text, of in zip(originals, verdicts, strict=True)
    ]
    unasserting = len(sentences(row.answer)) - len(measured)
    return MeasuredAnswer(
        sentences=tuple(measured),
        unasserting=unasserting,
        **row.given,
    )


def verdicts_by_words(question: str, said: Sequence[str], others: Sequence[str]) -> Verdicts:
    """By the rules and words alone."""
    denied = by_words(question, _assertions(said), others)
    held = borne_out(question, said, others)
    return [_both(of_one, of_other) for of_one, of_other in zip(denied, held, strict=True)]


def _both(denied: Sequence[bool], held: Sequence[bool | None]) -> list[bool | None]:
    return [False if no else yes for no, yes in zip(denied, held, strict=True)]


def verdicts_by_judge(judge: LocalJudge, question: str, said: Sequence[str], others: Sequence[str]) -> Verdicts:
    """By the shipped judge; by words where it does not read the language. An answer of one sentence goes through the rules first; a further answer
    that does not contradict it then bears it out, unless it punts: answers to one question that both stand say the same of what was asked.
    """
    if not all(reads(text, question) for text in (*said, *others)):
        return verdicts_by_words(question, said, others)
    if len(said) > 1:
        return [of.by for of in read_claims(judge, question, said, others)]
    silent = [said_in(other, question) is None for other in others]
    (denied,) = ByJudge(judge)(question, _assertions(said), others)
    return [[None if nothing else not no for nothing, no in zip(silent, denied, strict=True)]]


def _assertions(said: Sequence[str]) -> list[Assertion]:
    return [Assertion(text, 1.0, of_several=len(said) > 1) for text in said]
