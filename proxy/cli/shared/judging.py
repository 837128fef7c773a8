"""What commands share that measure recorded answers by rules and words, or by a language model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, TypeVar

import typer

from ...config import Route, Settings
from ...lab.reading import JudgeKind
from .options import CONFIG
from .settings import calibrating_route, configuration

Judge = Annotated[
    JudgeKind,
    typer.Option(
        "--judge",
        help="Who reads beside rules and words. none: nobody; local: fitted weights of words, for a short answer beside a long one; llm: the model and upstream of the route's `judge`, one call a line (claims on a route with `judge.claims: stated`: the model that answers).",
    ),
]
RouteName = Annotated[
    str | None, typer.Option("--route", help="With --judge llm: whose judge. Default: the first route that calibrates.")
]
Made = TypeVar("Made", covariant=True)


@dataclass(frozen=True, slots=True)
class Way:
    """By whom answers are measured."""

    judge: JudgeKind
    route: str | None = None
    config: Path = CONFIG

    def judged_by(self) -> tuple[Settings, Route]:
        """With `llm`: the configuration, and the route whose judge is asked."""
        settings = configuration(self.config)
        return settings, calibrating_route(settings, self.route)


class Judges(Protocol[Made]):
    """A module that makes something which measures, for each of `JudgeKind`."""

    def by_rules_and_words(self) -> Made:
        """Without a model."""
        ...

    def by_local_judge(self) -> Made:
        """By fitted weights of words after the rules."""
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
