"""Grade recorded answers: the draft that the proxy would have worded is graded."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from ..clustering.clusterer import RuleClusterer
from ..config import Upstream as UpstreamSettings
from ..errors import ProxyError
from ..grading import RULES, Grader, JudgeGrader
from ..grading.choice import choices_in
from ..protocols import Clusterer
from ..types import Json
from .collecting import Outcome, work_off
from .forms import NAMES, in_one_form, label_of
from .ledger import Ledger
from .prompting import open_prompting
from .rows import Sampled, parse_row
from .spreading import HERE, Opening, Place


def sampled(content: Json) -> Sampled:
    """Parse a row that can be graded.

    Raises:
        ValueError: it cannot be graded; the reason is the message.
    """
    row = parse_row(content)
    if not isinstance(row, Sampled) or not all(sample.text for sample in row.samples):
        raise ValueError("expected 'samples' with a text each")
    if not row.gold:
        raise ValueError("expected 'gold': the answers known to be right")
    return row


def key_of(content: Json, row: Sampled) -> str:
    """The row's key in the ledger."""
    key = content.get("key")
    return key if isinstance(key, str) else hashlib.sha256(row.question.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Grading:
    """A way of grading.

    Attributes:
        opening: opens the grader in a worker.
        paid: whether grades cost money, so that none is requested twice.
        concurrency: number of parallel calls, for paid grades.
    """

    opening: Opening[Grader]
    paid: bool = False
    concurrency: int = 1


def by_rule(name: str) -> Grading:
    """Grade by one of `RULES`."""
    return Grading(partial(_ruled, name))


def by_judge(name: str, upstreams: Mapping[str, UpstreamSettings], model: str, concurrency: int) -> Grading:
    """Grade by a language model of one of these upstreams."""
    return Grading(partial(open_judge, name, upstreams, model), paid=True, concurrency=concurrency)


async def grade_all(
    rows: Iterable[tuple[str, Json]],
    grading: Grading,
    ledger: Ledger,
    *,
    place: Place = HERE,
    on_graded: Callable[[Json], None] = lambda _row: None,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[tuple[str, Json], ProxyError], None] = lambda _item, _failure: None,
) -> Outcome:
    """Grade rows by key; each grade is written to the ledger before it counts.

    Rules grade in the order of the rows. Paid grades are requested in parallel, each of them once.
    """
    outcome = Outcome()

    def finish(key: str, graded: Json) -> None:
        ledger.finish(key, graded)
        on_graded(graded)

    async with place.workers(grading.opening) as workers:

        async def pay(item: tuple[str, Json]) -> None:
            finish(*await workers.run(_grade_keyed, item))

        if grading.paid:
            concurrency = grading.concurrency
            return await work_off(rows, pay, concurrency=concurrency, on_done=on_done, on_failure=on_failure)
        async for graded in workers.each(_grade_keyed, rows):
            finish(*graded)
            outcome.done += 1
            on_done()
    return outcome


@asynccontextmanager
async def _ruled(name: str) -> AsyncIterator[Grader]:
    yield RULES[name]


async def _grade_keyed(grader: Grader, item: tuple[str, Json]) -> tuple[str, Json]:
    return item[0], await grade_row(item[1], grader=grader, equivalence=RuleClusterer())


async def grade_row(content: Json, *, grader: Grader, equivalence: Clusterer) -> Json:
    """The row with `correct`, and `grade`, which says how it was graded.

    Raises:
        StepFailed, ProxyError: a judge cannot be asked.
        ValueError: the row cannot be graded.
    """
    row = sampled(content)
    clustering = await equivalence.cluster(row.question, [sample.text for sample in row.samples])
    draft = row.samples[clustering.draft_index].text
    grade = await grader.grade(_with_choices(row.question, content), draft, row.gold, row.wrong)
    own = own_grade(content)
    how = {"draft": clustering.draft_index, "reason": grade.reason} | ({} if own is None else {"own": own})
    return content | {"correct": None if grade.correct is None else grade.correct == 1.0, "grade": how}


def _with_choices(question: str, content: Json) -> str:
    """A question with the row's own choices below it, one a line, where it does not list them itself."""
    listed = in_one_form(content).get("choices")
    if isinstance(listed, dict):
        listed = listed.get("text")
    if not isinstance(listed, list) or choices_in(question):
        return question
    return "\n".join((question, *(f"{chr(ord('A') + at)}) {choice}" for at, choice in enumerate(listed[:26]))))


def own_grade(content: Json) -> bool | None:
    """What the row itself says of its answer (`exact_match`, `acc`, `score`, a label); None where it says nothing."""
    for name in ("exact_match", "acc", "score", *NAMES["correct"]):
        if isinstance(said := label_of(content.get(name)), bool):
            return said
    return None


@asynccontextmanager
async def open_judge(name: str, upstreams: Mapping[str, UpstreamSettings], model: str) -> AsyncIterator[JudgeGrader]:
    """Open a judge's upstream. Its grades raise `ProxyError` if the judge cannot be asked."""
    async with open_prompting(name, upstreams, model) as ask:
        yield JudgeGrader(ask)
