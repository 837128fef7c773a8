"""`hedgerow grade`: grade every recorded answer as right or wrong."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from ...grading.rules import RULES, Grader
from ...lab.collecting import Outcome
from ...lab.datasets import BadRow, read_objects
from ...lab.grading import grade_all, key_of, open_judge, sampled
from ...lab.ledger import Ledger
from ...types import Json
from ..shared.files import no_row, readable
from ..shared.messages import agree, counted, one_sentence, say, stop
from ..shared.options import CONFIG, ConfigPath, Yes
from ..shared.progress import advancing
from ..shared.settings import configuration

By = Literal["alias", "numeric", "choice", "judge"]


def grade(
    answers: Annotated[Path, typer.Argument(help="JSONL of answers, as `hedgerow collect` writes it.")],
    out: Annotated[Path, typer.Option("--out", help="The same rows with `correct`; existing ones are kept.")],
    by: Annotated[By, typer.Option(help="The rule, or a language model as judge.")] = "alias",
    upstream: Annotated[str | None, typer.Option(help="With --by judge: the judge's upstream.")] = None,
    model: Annotated[str, typer.Option(help="With --by judge: the judge's model.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="With --by judge: calls under way at once.")] = 4,
    yes: Yes = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Grade the answer that the proxy would word, row by row. Resumable: a judge is never paid twice."""
    rows = _rows(answers)
    if not rows:
        no_row(answers, "answers, as `hedgerow collect` writes them")
    graded: list[Json] = []
    how = {"by": by, "model": model} if by == "judge" else {"by": by}
    with one_sentence(), Ledger(out, how, "graded") as ledger:
        todo = [(key, row) for key, row in rows if key not in ledger.done]
        if by == "judge" and todo and not yes:
            agree(f"{counted(len(todo), 'answer')} to grade, one call each. Go on?")
        graders: AbstractAsyncContextManager[Grader]
        if by == "judge":
            graders, at_once = _judge(upstream, model, config), concurrency
        else:
            graders, at_once = nullcontext(RULES[by]), 1
        outcome = asyncio.run(_grade_all(todo, ledger, graders, at_once, graded))
    for reason, count in Counter(row["grade"]["reason"] for row in graded).most_common():
        say(f"{count:6d}  {reason}", err=True)
    _differ(graded)
    if outcome.failed or outcome.dead:
        stop(
            f"{len(todo) - outcome.done} of {len(rows)} answers are not graded yet; run the same command to continue",
            code=1,
        )
    say(f"{out}: {counted(len(rows), 'answer')} graded; next: hedgerow fit --data {out}")


def _differ(graded: list[Json]) -> None:
    """Say where grades differ from those in the file, with three of them."""
    own = [row for row in graded if row["correct"] is not None and "own" in row["grade"]]
    differ = [row for row in own if row["grade"]["own"] != row["correct"]]
    if differ:
        say(f"{len(differ)} of {counted(len(own), 'grade')} differ from the file's own, for example:", err=True)
    for row in differ[:3]:
        asked, said = sampled(row).question, "right" if row["grade"]["own"] else "wrong"
        say(f"  {asked[:80]!r}: the file says {said}, --by says {'right' if row['correct'] else 'wrong'}", err=True)


def _rows(path: Path) -> list[tuple[str, Json]]:
    """Rows by key; ends the command at a row that cannot be graded, before anything is spent."""
    rows: dict[str, Json] = {}
    with readable(path):
        for number, content in read_objects(path):
            if isinstance(content, BadRow):
                stop(f"{path}: line {number}: {content.reason}")
            try:
                rows.setdefault(key_of(content, sampled(content)), content)
            except ValueError as refused:
                stop(f"{path}: line {number}: {refused}")
    return list(rows.items())


def _judge(upstream: str | None, model: str, config: Path) -> AbstractAsyncContextManager[Grader]:
    settings = configuration(config)
    name = upstream or settings.routes[0].upstream
    if name not in settings.upstreams:
        stop(f"no upstream is called {name!r}; the upstreams are {', '.join(settings.upstreams)}")
    return open_judge(name, settings.upstreams, model)


async def _grade_all(
    rows: list[tuple[str, Json]],
    ledger: Ledger,
    graders: AbstractAsyncContextManager[Grader],
    concurrency: int,
    graded: list[Json],
) -> Outcome:
    async with graders as grader:
        with advancing("Grading", len(rows)) as bar:
            return await grade_all(
                rows, grader, ledger,
                concurrency=concurrency, on_graded=graded.append, on_done=bar.advance,
                on_failure=lambda item, failure: bar.note(f"{item[1].get('id', item[0])}: {failure.code}: {failure.message}"),
            )  # fmt: skip
