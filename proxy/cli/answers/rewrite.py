"""`hedgerow rewrite`: word an answer at a given confidence as a route would, for a person or one JSON object a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import anyio
import orjson
import typer

from ....calibration import Beta
from ...config import Route, Settings
from ...errors import InputError
from ...lab.rewording import DEFAULT_ROUTE, WANTED, GivenAnswer, figures, open_reworder
from ...outcomes import Reason, Status
from ...pipeline.result import Result
from ..shared.lines import json_lines
from ..shared.messages import one_sentence, say, show_text, stop
from ..shared.options import RouteOrFirst
from ..shared.settings import calibrating_route, configuration


def rewrite(
    answer: Annotated[str | None, typer.Argument(help="The answer to word. Left out with --json.")] = None,
    question: Annotated[str, typer.Option("--question", "-q", help="What was asked.")] = "",
    confidence: Annotated[
        float | None, typer.Option(help="Calibrated probability that the answer is right, between 0 and 1.")
    ] = None,
    observations: Annotated[
        float, typer.Option(min=0.1, help="Number of samples behind the confidence: alpha + beta.")
    ] = 10.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Read one JSON object a line from standard input, and print one.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="Word as a route of this configuration. Default: no settings.")
    ] = None,
    route: RouteOrFirst = None,
    lexicon: Annotated[Path | None, typer.Option(help="A lexicon file instead of the route's.")] = None,
    languages: Annotated[
        str | None, typer.Option(help="Languages to hedge, such as en,de. Default: those of the route.")
    ] = None,
) -> None:
    """Word an answer at a confidence. With --json: reads {question, answer, alpha, beta, claims} a line, prints {text, status, reason, hedges, perceived}."""
    settings = None if config is None else configuration(config)
    chosen = _with(DEFAULT_ROUTE if settings is None else calibrating_route(settings, route), lexicon, languages)
    with one_sentence():
        if as_json:
            anyio.run(_filter, settings, chosen)
        else:
            anyio.run(_one, settings, chosen, _answer(answer, question, confidence, observations))


def _with(route: Route, lexicon: Path | None, languages: str | None) -> Route:
    """The route with the options of the command line."""
    given = {"languages": tuple(languages.split(","))} if languages else {}
    rewriting = route.rewriting.model_copy(update=given)
    return route.model_copy(update={"rewriting": rewriting, "lexicon": str(lexicon or route.lexicon)})


async def _one(settings: Settings | None, route: Route, answer: GivenAnswer) -> None:
    """Print the text on standard output and the outcome on standard error."""
    async with open_reworder(settings, route) as reworder:
        result = await reworder.reword(answer)
    show_text(result.whole_text or "")
    say(_note(result), err=True)


async def _filter(settings: Settings | None, route: Route) -> None:
    async with open_reworder(settings, route) as reworder:
        for number, row in _rows():
            try:
                result = await reworder.reword(GivenAnswer.of(row))
            except InputError as error:
                stop(f"line {number}: {error}")
            show_text(orjson.dumps(figures(result)).decode())


def _answer(answer: str | None, question: str, confidence: float | None, observations: float) -> GivenAnswer:
    if answer is None or confidence is None:
        stop(
            'give an answer and --confidence, e.g. hedgerow rewrite "Jupiter." --confidence 0.6; or --json and one JSON object a line on standard input'
        )
    if not 0.0 < confidence < 1.0:
        stop(f"--confidence {confidence:g} is not between 0 and 1")
    beta = Beta.from_mean(confidence, observations)
    return GivenAnswer(question=question, answer=answer, alpha=beta.alpha, beta=beta.beta)


def _note(result: Result) -> str:
    """One line on the outcome."""
    outcome, perceived = figures(result), result.perceived_confidence
    parts = [f"{result.status}" + (f" with {', '.join(outcome['hedges'])}" if outcome["hedges"] else "")]
    if result.reason == Reason.NOT_MEASURED:
        parts.append("a long answer is worded by the confidence in its claims: give them with --json")
    elif result.status != Status.HEDGED and result.reason is not None:
        parts.append(Reason(result.reason).sentence if result.reason in list(Reason) else result.reason)
    if perceived is not None:
        parts.append(f"perceived confidence {perceived.mean:.2f}")
    return "; ".join(part.rstrip(".") for part in parts)


def _rows() -> Iterator[tuple[int, object]]:
    for number, row in json_lines(sys.stdin.buffer):
        if not isinstance(row, dict):
            stop(f"line {number} is not a JSON object; {WANTED}")
        yield number, row
