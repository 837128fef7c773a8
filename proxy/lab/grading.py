"""Grade recorded answers: the draft that the proxy would have worded is graded."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

from ..clustering.clusterer import RuleClusterer
from ..config import Upstream as UpstreamSettings
from ..errors import ProxyError
from ..grading.rules import Grader, JudgeGrader, choices_in
from ..protocols import Clusterer
from ..types import Json
from .collecting import Outcome, work_off
from .forms import NAMES, in_one_form, label_of
from .ledger import Ledger
from .prompting import open_prompting
from .rows import Sampled, parse_row


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


async def grade_all(
    rows: Iterable[tuple[str, Json]],
    grader: Grader,
    ledger: Ledger,
    *,
    concurrency: int = 1,
    on_graded: Callable[[Json], None] = lambda _row: None,
    on_done: Callable[[], None] = lambda: None,
    on_failure: Callable[[tuple[str, Json], ProxyError], None] = lambda _item, _failure: None,
) -> Outcome:
    """Grade rows by key, several at a time; each grade is written to the ledger before it counts."""

    async def work(item: tuple[str, Json]) -> None:
        key, row = item
        graded = await grade_row(row, grader=grader, equivalence=RuleClusterer())
        ledger.finish(key, graded)
        on_graded(graded)

    return await work_off(rows, work, concurrency=concurrency, on_done=on_done, on_failure=on_failure)


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
