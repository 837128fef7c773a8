"""`hedgerow collect`: ask a file of questions through a route's upstream and store the answers."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Annotated

import anyio.to_thread
import structlog
import typer
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn

from ...config import Settings
from ...lab.collecting import Cost, Outcome, Plan, asked_at, cost
from ...lab.collecting import collect as draw_answers
from ...lab.datasets import BadRow
from ...lab.ledger import Ledger
from ...lab.questions import Question, in_order_of, read_questions
from ...spending.prices import Prices, open_prices
from ..shared.files import readable, report_bad
from ..shared.messages import confirm, counted, one_sentence, say, stop
from ..shared.options import CONFIG, ConfigPath, ModelToAsk, RouteOrFirst, SkipBad, Yes
from ..shared.progress import advancing
from ..shared.settings import calibrating_route, configuration


def collect(
    questions: Annotated[Path, typer.Argument(help="JSONL or CSV of questions with their right answers.")],
    out: Annotated[Path, typer.Option("--out", help="JSONL of answers; existing ones are not asked again.")],
    route: RouteOrFirst = None,
    model: ModelToAsk = "",
    system: Annotated[str, typer.Option(help="A system message before every question.")] = "",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Number of questions to ask, in random order by --seed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="With --limit: of the order.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Number of parallel questions.")] = 4,
    rate: Annotated[float | None, typer.Option(min=0.01, help="Maximum number of calls a minute.")] = None,
    logprobs: Annotated[
        bool, typer.Option(help="Ask for log-probabilities too; always where the signal is token.")
    ] = False,
    unlabelled: Annotated[bool, typer.Option(help="Also ask questions without a right answer.")] = False,
    separator: Annotated[str, typer.Option(help="In a CSV: separator of the right answers in one cell.")] = "|",
    skip_bad: SkipBad = False,
    yes: Yes = False,
    config: ConfigPath = CONFIG,
) -> None:
    """Draw answers to a file of questions, as a route would. Resumable: run it again after whatever stopped it."""
    settings = configuration(config)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))  # failures are printed
    chosen = calibrating_route(settings, route)
    asked = load_questions(questions, separator, unlabelled, skip_bad)
    asked = asked if limit is None else in_order_of(seed, asked)[:limit]
    with one_sentence(on_interrupt=f"stopped; what came is in {out}, run the same command to continue"):
        plan = Plan(chosen, model, system, logprobs or chosen.signal in ("token", "combined"))
        with Ledger(out, plan.drawn) as ledger:
            run = run_plan(settings, plan, asked, ledger, concurrency=concurrency, rate=rate, yes=yes)
            outcome = asyncio.run(run)
    conclude(outcome, out, len(asked))


def load_questions(path: Path, separator: str, unlabelled: bool, skip_bad: bool) -> list[Question]:
    """The questions of a file; prints errors of other rows, and ends the command unless they may be skipped."""
    with readable(path):
        rows = list(read_questions(path, separator=separator, need_gold=not unlabelled))
    bad = [row for row in rows if isinstance(row, BadRow)]
    unlabelled_too = any("right answer" in row.reason for row in bad)
    report_bad(
        path, bad, skip_bad, hint="; --unlabelled asks those without a right answer too" if unlabelled_too else ""
    )
    questions = [row for row in rows if isinstance(row, Question)]
    if not questions:
        stop(f"{path}: contains no question")
    return questions


async def run_plan(
    settings: Settings,
    plan: Plan,
    questions: list[Question],
    ledger: Ledger,
    *,
    concurrency: int,
    rate: float | None,
    yes: bool,
) -> Outcome:
    """Show the cost, ask for confirmation, then collect with a progress bar and a line for every failure."""
    todo = [question for question in questions if question.key not in ledger.done]
    if not todo:
        return Outcome()
    async with asked_at(plan.route.upstream, settings.upstreams, per_minute=rate) as upstream:
        left = cost(plan, todo, ledger, at_once=upstream.honours_n)
        prices = await anyio.to_thread.run_sync(open_prices, settings.prices)
        _confirm(left, prices, len(questions) - len(todo), len(todo), yes)
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with advancing("Collecting", len(todo), *columns) as bar:
            return await draw_answers(
                plan, todo, upstream, ledger,
                concurrency=concurrency, on_done=bar.advance,
                on_failure=lambda question, failure: bar.note(f"line {question.line}: {failure.code}: {failure.message}"),
            )  # fmt: skip


def _confirm(spent: Cost, prices: Prices, done: int, left: int, yes: bool) -> None:
    had = f"{done} questions are there already; " if done else ""
    confirm(
        f"{had}{left} to ask: {counted(spent.calls, 'call')} for {counted(spent.answers, 'answer')}, about {spent.prompt_tokens:,} tokens of questions "
        f"and, at {spent.answer_tokens} an answer, {spent.tokens:,} tokens of answers: {spent.in_dollars(prices)}",
        yes,
    )


def conclude(outcome: Outcome, out: Path, asked: int) -> None:
    """Print one line on the result; exits with status 1 if questions are left."""
    if outcome.dead:
        stop(
            f"the upstream failed again and again and was given up; {out} keeps what came, run the same command to continue",
            code=1,
        )
    if outcome.failed:
        stop(f"{outcome.failed} of {asked} questions are not answered yet; the same command asks them again", code=1)
    say(f"{out}: answers to {counted(asked, 'question')}; next: hedgerow grade {out} --out GRADED")
