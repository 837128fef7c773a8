"""`hedgerow grade`: say of every recorded answer whether it is right."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer

from hedgerow.proxy.cli.common import CONFIG, ConfigPath, configuration, one_sentence, progress_bar, stop, unreadable
from hedgerow.proxy.clustering.clusterer import RuleClusterer
from hedgerow.proxy.grading import RULES, Grader
from hedgerow.proxy.lab.collecting import Outcome, work_off
from hedgerow.proxy.lab.datasets import UNREADABLE, BadRow, read_objects
from hedgerow.proxy.lab.grading import grade_row, key_of, open_judge, sampled
from hedgerow.proxy.lab.ledger import Ledger
from hedgerow.proxy.types import Json

By = Literal["alias", "numeric", "choice", "judge"]


def grade(
    answers: Annotated[Path, typer.Argument(help="JSONL of answers, as `hedgerow collect` writes it.")],
    out: Annotated[Path, typer.Option("--out", help="The same rows with `correct`; what it has already is kept.")],
    by: Annotated[By, typer.Option(help="The rule, or a language model as judge.")] = "alias",
    upstream: Annotated[str | None, typer.Option(help="With --by judge: the judge's upstream.")] = None,
    model: Annotated[str, typer.Option(help="With --by judge: the judge's model.")] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="With --by judge: calls under way at once.")] = 4,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")] = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Grade the answer that the proxy would word, row by row. Resumable: a judge is never paid twice."""
    rows = _rows(answers)
    reasons: Counter[str] = Counter()
    how = {"by": by, "model": model} if by == "judge" else {"by": by}
    with one_sentence(), Ledger(out, how, "graded") as ledger:
        todo = [(key, row) for key, row in rows if key not in ledger.done]
        if by == "judge" and todo and not yes:
            typer.confirm(f"{len(todo)} answers to grade, one call each. Go on?", abort=True, err=True)
        workers = concurrency if by == "judge" else 1  # rules gain nothing by more, and one keeps the order
        outcome = asyncio.run(_grade_all(todo, ledger, _grader(by, upstream, model, config), workers, reasons))
    for reason, count in reasons.most_common():
        typer.echo(f"{count:6d}  {reason}", err=True)
    if outcome.failed or outcome.dead:
        stop(
            f"{len(todo) - outcome.done} of {len(rows)} answers are not graded yet; run the same command to continue",
            code=1,
        )
    typer.echo(f"{out}: {len(rows)} answers graded; next: hedgerow fit --data {out}")


def _rows(path: Path) -> list[tuple[str, Json]]:
    """Rows by their keys; ends the command at a row that cannot be graded, before anything is spent."""
    rows: dict[str, Json] = {}
    try:
        for number, content in read_objects(path):
            if isinstance(content, BadRow):
                stop(f"{path}: line {number}: {content.reason}")
            rows.setdefault(key_of(content, sampled(content)), content)
    except UNREADABLE as error:
        unreadable(path, error)
    except ValueError as refused:
        stop(f"{path}: line {number}: {refused}")
    return list(rows.items())


def _grader(by: By, upstream: str | None, model: str, config: Path) -> AbstractAsyncContextManager[Grader]:
    """The grader, open while it is needed."""
    if by == "judge":
        settings = configuration(config)
        name = upstream or settings.routes[0].upstream
        if name not in settings.upstreams:
            stop(f"no upstream is called {name!r}; the upstreams are {', '.join(settings.upstreams)}")
        return open_judge(name, settings.upstreams[name], model)
    return nullcontext(RULES[by])


async def _grade_all(
    rows: list[tuple[str, Json]],
    ledger: Ledger,
    opening: AbstractAsyncContextManager[Grader],
    concurrency: int,
    reasons: Counter[str],
) -> Outcome:
    with progress_bar() as progress:
        task = progress.add_task("Grading", total=len(rows))
        async with opening as grader:

            async def one(item: tuple[str, Json]) -> None:
                graded = await grade_row(item[1], grader=grader, equivalence=RuleClusterer())
                reasons[graded["grade"]["reason"]] += 1
                ledger.finish(item[0], graded)

            return await work_off(
                rows, one, concurrency=concurrency,
                on_done=lambda: progress.advance(task),
                on_failure=lambda item, failure: progress.console.print(
                    f"{item[1].get('id', item[0])}: {failure.code}: {failure.message}", markup=False, highlight=False, soft_wrap=True
                ),
            )  # fmt: skip
