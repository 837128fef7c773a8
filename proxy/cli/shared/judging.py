"""What commands share that measure recorded answers by rules, the shipped judge or a language model: who judges, what that costs, what is kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import typer

from ...config import Route, Settings
from ...lab.answers import Looked, Pace
from ...lab.ledger import Ledger
from ...lab.reading import JudgeKind
from ...types import Json
from .files import report_bad
from .messages import stop
from .options import CONFIG
from .progress import advancing
from .settings import calibrating_route, configuration

Judge = Annotated[
    JudgeKind,
    typer.Option(
        "--judge",
        help="Who reads beside rules and words. none: nobody; local: the shipped judge (English; extra `judge`); llm: the model and upstream of the route's `judge`, one call a line (claims on a route with `judge.claims: stated`: the model that answers).",
    ),
]
RouteName = Annotated[
    str | None, typer.Option("--route", help="With --judge llm: whose judge. Default: the first route that calibrates.")
]
RouteOfAudit = Annotated[
    str | None,
    typer.Option(
        "--route",
        help="With --judge llm: whose judge, by default the first route that calibrates. With --audit: answers of this route only.",
    ),
]
Made = TypeVar("Made", covariant=True)
ENTRY = "measured"
"""The entry of a kept row that says how it was measured."""


@dataclass(frozen=True, slots=True)
class Way:
    """How answers are measured: by whom, and where that is kept."""

    judge: JudgeKind
    route: str | None = None
    config: Path = CONFIG
    out: Path | None = None
    concurrency: int = 1
    yes: bool = False

    def judged_by(self) -> tuple[Settings, Route]:
        """With `llm`: the configuration, and the route whose judge is asked."""
        settings = configuration(self.config)
        return settings, calibrating_route(settings, self.route)

    @contextmanager
    def ledger(self) -> Iterator[Ledger | None]:
        """What keeps the measured rows, open; None where nothing is kept."""
        if self.out is None:
            yield None
            return
        how: Json = {"judge": self.judge}
        if self.judge == "llm":
            how["model"] = self.judged_by()[1].judge.model or ""
        with Ledger(self.out, how, ENTRY) as ledger:
            yield ledger


class Judges(Protocol[Made]):
    """A module that makes something which measures, for each of `JudgeKind`."""

    def by_rules_and_words(self) -> Made:
        """Without a model."""
        ...

    def by_local_judge(self) -> Made:
        """By the shipped judge."""
        ...

    def by_language_model(self, settings: Settings, route: Route) -> AbstractAsyncContextManager[Made]:
        """By the judge of a route."""
        ...


@asynccontextmanager
async def judging(judges: Judges[Made], way: Way) -> AsyncIterator[Made]:
    """What measures, open while it is needed."""
    if way.judge == "none":
        yield judges.by_rules_and_words()
    elif way.judge == "local":
        yield judges.by_local_judge()
    else:
        async with judges.by_language_model(*way.judged_by()) as made:
            yield made


def check(looked: Looked, name: str, skip_bad: bool, *, nothing: str) -> None:
    """Say which rows cannot be used; end the command unless they may be skipped, and where no row is left."""
    report_bad(looked.bad, skip_bad, of=looked.n_bad)
    if not looked.rows:
        stop(f"{name}: {nothing}")


@contextmanager
def paced(way: Way, name: str, left: int) -> Iterator[Pace]:
    """A progress bar, and a line for each answer that could not be measured."""
    with advancing(f"Measuring {name}", left) as bar:
        at_once = way.concurrency if way.judge == "llm" else 1
        yield Pace(at_once, bar.advance, lambda line, why: bar.note(f"line {line}: {why}"))
