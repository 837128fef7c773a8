"""The paper's construction of a lexicon from models (RALC D.1), as one resumable procedure.

A writer puts each phrase into statements that no one can verify; evaluators score how confident the sentences sound; a Beta is
fitted to the scores of a phrase. Every answer becomes a record, and what is on record is never asked again. Models come in as
callables: nothing here knows where they live.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from ...calibration.scores import fit_likelihood
from ..errors import LexiconError
from .entries import Frame, Hedge

STATEMENTS = (
    "The committee met on the second Tuesday of that month.",
    "The old mill was painted green before the flood.",
    "Her brother took the earlier train.",
    "The parcel was left with the neighbour downstairs.",
    "The second draft was longer than the first.",
    "The visitors asked for the room facing the garden.",
    "The gate had been locked since the morning.",
    "His grandfather kept bees behind the house.",
    "The recipe called for two spoons of honey.",
    "The violinist had played in that hall before.",
    "The ferry left a quarter of an hour late.",
    "The letter was written by someone in a hurry.",
)
"""Twelve statements whose truth no reader can know, so that only the wording can be judged."""


Ask = Callable[[str], Awaitable[str]]
Score = Callable[[str, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to build. Defaults are the paper's: 20 sentences, 3 passes of every evaluator."""

    phrases: tuple[str, ...]
    evaluators: tuple[str, ...]
    sentences: int = 20
    passes: int = 3

    def __post_init__(self) -> None:
        if not (self.phrases and self.evaluators and self.sentences >= 1 and self.passes >= 1):
            raise LexiconError("a build needs at least one phrase, one evaluator, one sentence and one pass")


@dataclass(frozen=True, slots=True)
class Written:
    """A sentence by the writer; `text` is None if it lacks the phrase, and then it is not scored."""

    phrase: str
    index: int
    text: str | None


@dataclass(frozen=True, slots=True)
class Scored:
    """One evaluator's score of one sentence in [0, 1]; None if its answer has no number from 0 to 100."""

    phrase: str
    index: int
    evaluator: str
    run: int
    score: float | None


Record = Written | Scored


@dataclass(frozen=True, slots=True)
class Cost:
    """The remaining cost: number of calls, and tokens of prompts and answers at four characters each."""

    writes: int
    scores: int
    tokens: int


def writing_prompt(phrase: str, statement: str) -> str:
    """The writer's prompt."""
    return (
        f'Rewrite the statement so that it contains the words "{phrase}" exactly as they stand here. Add no other word that '
        f"makes it sound more or less certain. Answer with the rewritten statement alone.\n\nStatement: {statement}"
    )


def scoring_prompt(sentence: str) -> str:
    """An evaluator's prompt."""
    return (
        "How confident does the speaker of this sentence sound? Judge the wording alone and not whether the sentence is true. "
        "0 means no confidence at all, 50 means as likely wrong as right, 100 means complete confidence. "
        f"Answer with one number from 0 to 100.\n\nSentence: {sentence}"
    )


_SCALE = re.compile(r"\b0\s*+(?:-|–|to|and)\s*+100\b")
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}+(?:\.\d++)?+(?![\d.]*\w)")


def parse_score(text: str) -> float | None:
    """The first number of an answer divided by 100, ignoring a mention of the scale; None if it is outside 0 to 100.

    Examples
    --------
    >>> parse_score("Score: 85/100"), parse_score("From 0 to 100: 85"), parse_score("It sounds sure."), parse_score("850")
    (0.85, 0.85, None, None)
    """
    number = _NUMBER.search(_SCALE.sub("", text))
    value = float(number.group()) if number else 101.0
    return value / 100 if value <= 100 else None


def remaining(plan: Plan, records: Iterable[Record]) -> Cost:
    """The remaining cost of a build if every sentence is usable."""
    records = list(records)
    written = {(r.phrase, r.index): r for r in records if isinstance(r, Written)}
    scored = {(r.phrase, r.index, r.evaluator, r.run) for r in records if isinstance(r, Scored)}
    writes = scores = characters = 0
    for phrase in plan.phrases:
        for index in range(plan.sentences):
            statement = STATEMENTS[index % len(STATEMENTS)]
            known = written.get((phrase, index))
            if known is None:
                writes += 1
                characters += len(writing_prompt(phrase, statement)) + len(statement)
            elif known.text is None:
                continue
            open_runs = sum(
                (phrase, index, e, run) not in scored for e in plan.evaluators for run in range(plan.passes)
            )
            scores += open_runs
            characters += open_runs * (len(scoring_prompt(statement + phrase)) + 4)
    return Cost(writes, scores, characters // 4)


async def construct(
    plan: Plan, records: Iterable[Record], write: Ask, score: Score, report: Callable[[Record], None], *, concurrency: int = 4
) -> None:  # fmt: skip
    """Request everything that is not recorded, and report every answer on arrival.

    Parameters
    ----------
    plan : Plan
    records : iterable of Record
        What earlier runs reported.
    write : callable, prompt -> answer
    score : callable, (evaluator, prompt) -> answer
    report : callable
        Gets each new record at once: store it, and a build that was stopped goes on where it was.
    concurrency : int
        Sentences in work at a time.

    Raises
    ------
    Whatever `write` or `score` raises; records reported before stay good.
    """
    records = list(records)
    written = {(r.phrase, r.index): r for r in records if isinstance(r, Written)}
    scored = {(r.phrase, r.index, r.evaluator, r.run) for r in records if isinstance(r, Scored)}
    places = asyncio.Semaphore(concurrency)

    async def build_sentence(phrase: str, index: int) -> None:
        async with places:
            sentence = written.get((phrase, index))
            if sentence is None:
                sentence = Written(phrase, index, await _write(phrase, STATEMENTS[index % len(STATEMENTS)], write))
                report(sentence)
            if sentence.text is None:
                return
            for evaluator in plan.evaluators:
                for run in range(plan.passes):
                    if (phrase, index, evaluator, run) not in scored:
                        answer = await score(evaluator, scoring_prompt(sentence.text))
                        report(Scored(phrase, index, evaluator, run, parse_score(answer)))

    for phrase in plan.phrases:
        await asyncio.gather(*(build_sentence(phrase, index) for index in range(plan.sentences)))


async def _write(phrase: str, statement: str, write: Ask) -> str | None:
    """The writer's first line if it contains the phrase."""
    lines = [line.strip() for line in (await write(writing_prompt(phrase, statement))).splitlines() if line.strip()]
    sentence = lines[0].removeprefix("Statement:").strip().strip('"') if lines else ""
    return sentence if phrase.casefold() in sentence.casefold() else None


def entries(
    plan: Plan, records: Iterable[Record], frames: Callable[[str], tuple[Frame, ...]]
) -> tuple[tuple[Hedge, ...], tuple[str, ...]]:
    """The fitted hedges, and the phrases for which no score could be used.

    Parameters
    ----------
    plan : Plan
    records : iterable of Record
    frames : callable, phrase -> frames
        Ways of saying a phrase; a built hedge without frames is only read.
    """
    scores: dict[str, list[float]] = defaultdict(list)
    for record in records:
        if isinstance(record, Scored) and record.score is not None:
            scores[record.phrase].append(record.score)
    built = []
    for phrase in plan.phrases:
        if phrase in scores:
            basis = f"{len(scores[phrase])} scores by {', '.join(plan.evaluators)}"
            id = re.sub(r"[^a-z0-9]+", "-", phrase.casefold()).strip("-")
            built.append(Hedge(id, phrase, fit_likelihood(scores[phrase]), "modelled", 0, frames(phrase), basis=basis))
    return tuple(built), tuple(phrase for phrase in plan.phrases if phrase not in scores)
