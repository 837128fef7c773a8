"""Rewords answers at given confidences with the pipeline's own function: `hedgerow rewrite` prints what a route serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from ...calibration import Beta
from ...calibration.errors import CalibrationError
from ...calibration.registry import UNCALIBRATED
from ..config import Route, Settings
from ..config.reading import in_words
from ..errors import InputError
from ..outcomes import Status
from ..pipeline.given import Given, in_sentences, word_given
from ..pipeline.job import job_of
from ..pipeline.result import Result, Run, beta_figures, sentence_figures
from ..pipeline.steps import RouteWording
from ..services.factories import route_wording
from ..services.services import open_pipelines
from ..types import EDITOR, Json
from ..upstreams.asking import RouteContext

DEFAULT_ROUTE = Route(name="rewrite", upstream="none", mode="on")
"""A route with default settings."""
WANTED = (
    "each line is an object with answer (text), alpha and beta (numbers > 0), and, where they are known, question (text) and claims "
    "(a list of objects with text, alpha and beta; the text stands in the answer)"
)


class GivenClaim(BaseModel):
    """The calibrated confidence in a sentence of an answer, or in a part of one."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    text: str
    alpha: float
    beta: float


class GivenAnswer(BaseModel):
    """An answer with its calibrated confidence, and with those of its claims if it is long."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    question: str | None = None
    answer: str
    alpha: float
    beta: float
    claims: tuple[GivenClaim, ...] | None = None

    @classmethod
    def of(cls, row: object) -> GivenAnswer:
        """Read a row.

        Raises:
            InputError: it does not have this form.
        """
        try:
            return cls.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise InputError(f"{where + ': ' if where else ''}{in_words(first)}; {WANTED}") from error

    def given(self) -> Given:
        """The confidences in the form that the pipeline uses.

        Raises:
            InputError: a number is not a parameter of a Beta, or a claim is not in the answer.
        """
        try:
            claims = [(claim.text, Beta(claim.alpha, claim.beta)) for claim in self.claims or ()]
            return Given(Beta(self.alpha, self.beta), in_sentences(self.answer, claims) if claims else None)
        except CalibrationError as error:
            raise InputError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Reworder:
    """A route's rewording, without its sampling and measuring."""

    route: Route
    wording: RouteWording

    async def reword(self, answer: GivenAnswer) -> Result:
        """The result of a request whose answer and confidences are given.

        Raises:
            InputError: the confidences cannot be used.
        """
        given = answer.given()
        asked = (
            [{"role": "user", "content": answer.question}] if answer.question else []
        )  # without a question there is no message, not an empty one
        body = {"model": "", "messages": asked}
        run = Run(job_of(self.route, "/chat/completions", body, {}))
        await word_given(run, self.wording, answer.answer, given)
        return run.result


def default_reworder(route: Route = DEFAULT_ROUTE) -> Reworder:
    """Rewords answers as a route does that uses no model for it.

    Raises:
        ConfigError: the route's lexicon cannot be used.
    """
    return Reworder(route, route_wording(RouteContext(route, {}, lambda _model, _signal: UNCALIBRATED)))


@asynccontextmanager
async def open_reworder(settings: Settings | None, route: Route) -> AsyncIterator[Reworder]:
    """Rewords answers as a route of a configuration does, or as the default route.

    Its upstreams are opened if an editor or a stronger model is asked.

    Raises:
        ConfigError: what the route names is missing or cannot be used.
    """
    asks_a_model = route.rewriting.by != "local" or (route.policy and route.policy.escalate_to)
    if settings is None or not asks_a_model:
        yield default_reworder(route)
        return
    async with open_pipelines(settings.model_copy(update={"routes": (route,)})) as opened:
        yield Reworder(route, opened.steps[route.name])


def figures(result: Result) -> Json:
    """The result as JSON: text, who worded it or left it (`editor`, `local`; null if no wording was due), status and reason, ids of the hedges in it,
    perceived confidence.
    """
    words = result.rewording
    of_sentences = [sentence_figures(sentence) for sentence in words.sentences] if words else []
    hedges = [each["hedge"] for each in of_sentences if each["hedge"]] or [words.hedge if words else None]
    return {
        "text": result.whole_text,
        "by": None if words is None or words.rewriter is None else EDITOR if words.rewriter == EDITOR else "local",
        "status": result.status,
        "reason": result.reason,
        "hedges": [hedge for hedge in hedges if hedge] if result.status == Status.HEDGED else [],
        "perceived": beta_figures(result.perceived_confidence),
        **({"sentences": of_sentences} if of_sentences else {}),
    }
