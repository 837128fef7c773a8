"""Measures the confidence in recorded answers, and in the claims of long ones, as the proxy does but without a server.

An upstream is asked only where a language model is the judge. Rows come as JSON; errors in a row name the expected
fields.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...calibration import Beta
from ...lexicon.reading.local import read as read_answer
from ...lexicon.text.claims import Claim
from ..clustering import asked_support, stated_support
from ..clustering.clusterer import JudgedClusterer, RuleClusterer
from ..clustering.likely import LikelyPairs
from ..clustering.stated_support import RatedSupport
from ..clustering.support import SentenceSupport, beta_of
from ..config import Route, Settings
from ..config.kinds import JUDGES
from ..config.reading import in_words
from ..pipeline.claims import claims_of
from ..protocols import Clusterer, FindsClaims, Supporter
from ..services.services import open_upstream
from ..signals.semantic import SemanticSignal
from ..types import Clustering, Json, Sample, Usage
from ..upstreams.asking import ClustererFactory, RouteContext, SupporterFactory

Model = TypeVar("Model", bound=BaseModel)
Texts = Annotated[list[str], Field(min_length=1)]
JudgeKind = Literal["none", "local", "llm"]


class BadInput(ValueError):
    """A row cannot be measured; the message says why."""


class SampledAnswers(BaseModel):
    """A question and several answers to it; `logprobs` are allowed and not used."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    question: str = ""
    samples: Texts


class LongAnswer(SampledAnswers):
    """A long answer, and other answers to the same question.

    Attributes:
        claims: if they are already known.
        stated: how sure the model that gave the answer says it is of each of `claims`, in [0, 1].
    """

    answer: str
    claims: Texts | None = None
    stated: list[Annotated[float, Field(ge=0.0, le=1.0)]] | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded question, for which a judge is asked."""

    question: str
    model: str = ""
    id: str = "recorded"
    headers: Mapping[str, str] = field(default_factory=dict)
    answering_model: str = ""
    answered_by: str = ""
    on_lost: None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """What compares answers, and what measures the claims in them."""

    clusterer: ClustererFactory
    supporter: SupporterFactory

    def clusterer_of(self, question: str) -> Clusterer:
        """The clusterer for one question."""
        return self.clusterer(Recorded(question), _not_counted)

    def supporter_of(self, question: str) -> Supporter:
        """The measure of claims for one question."""
        return self.supporter(Recorded(question), _not_counted)


def by_rules_and_words() -> Judging:
    """Rules and shared words only: no model."""
    clusterer, supporter = RuleClusterer(), SentenceSupport()
    return Judging(lambda _asker, _spent: clusterer, lambda _asker, _spent: supporter)


def by_local_judge() -> Judging:
    """Rules, then words for a short answer in a long one; claims by shared words."""
    clusterer, supporter = JudgedClusterer(LikelyPairs()), SentenceSupport()
    return Judging(lambda _asker, _spent: clusterer, lambda _asker, _spent: supporter)


@asynccontextmanager
async def by_language_model(settings: Settings, route: Route) -> AsyncIterator[Judging]:
    """A route's `judge.model` at its `judge.upstream`, asked once per row; on a route with `judge.claims: stated` the
    model that answers rates the claims.

    Raises:
        ConfigError: the upstream cannot be opened.
    """
    name = route.judge.upstream or route.upstream
    upstream = await open_upstream(name, settings.upstreams)
    try:
        context = RouteContext(route, {name: upstream, route.upstream: upstream}, _no_map)
        of_claims = stated_support if route.judge.claims == "stated" else asked_support
        yield Judging(JUDGES["llm"].load()(context), of_claims.build(context))
    finally:
        await upstream.aclose()


def _no_map(_model: str, _signal: str) -> NoReturn:
    raise AssertionError("recorded answers are measured before any map")


def _not_counted(_usage: Usage) -> None:
    """Token usage is not recorded, since nothing is served."""


async def confidence(row: object, judging: Judging) -> tuple[Json, str | None]:
    """The confidence in the answers of a row.

    Returns the representative sample, its raw confidence, the groups of samples by meaning (indices into `samples`),
    and why the judge could not compare the answers (None if it could). Empty samples agree with nothing.

    Raises:
        BadInput: the row does not have the form of `SampledAnswers`.
        StepFailed: the route's judge is strict, and failed.
    """
    read = _read(SampledAnswers, row)
    clustering = await judging.clusterer_of(read.question).cluster(read.question, read.samples)
    beta = await SemanticSignal().measure(read.question, [Sample(text) for text in read.samples], clustering)
    draft = read.samples[clustering.draft_index]
    if not draft.strip():
        beta = Beta.floored(0, len(read.samples))
    measured = {"draft": draft, **_figures(beta), "groups": [list(cluster) for cluster in clustering.clusters]}
    return measured, _failure(clustering)


def _failure(clustering: Clustering) -> str | None:
    prefix = "judge_failed:"
    return next((name.removeprefix(prefix) for name in clustering.decided_by if name.startswith(prefix)), None)


async def claims(row: object, judging: Judging) -> tuple[Json, str | None]:
    """The confidence in each claim of an answer.

    Returns each claim with its raw confidence (`WORTH` observations per sample) and what measured it, and why the judge
    could not (None if it could). Given claims are measured as they are; otherwise they are found by the model that rates
    them, or in the answer's sentences, list items and table cells. Confidences that the model stated in given claims are weighed beside the
    words, and nobody is asked. Empty samples are ignored.

    Raises:
        BadInput: the row does not have the form of `LongAnswer`, or no sample has text.
        StepFailed: the route's judge is strict, and failed.
    """
    read = _read(LongAnswer, row)
    if not (others := [text for text in read.samples if text.strip()]):
        raise BadInput("samples: all are empty. The claims of an answer are compared with other answers.")
    if read.stated is not None and len(read.stated) != len(read.claims or ()):
        raise BadInput("stated: must have one number for each of 'claims'.")
    supporter = judging.supporter_of(read.question) if read.stated is None else RatedSupport(read.stated)
    found: Sequence[Claim] = [_given(text) for text in read.claims or ()]
    if read.claims is None:
        by_model = None
        if isinstance(supporter, FindsClaims):
            by_model = await supporter.find_claims(read.question, read.answer)
        found, _, supporter = by_model or (claims_of(read_answer(read.answer, read.question)), (), supporter)
    supports = await supporter.measure_claims(read.question, found, others, read.answer) if found else []
    measured = [
        {"text": claim.text, **_figures(beta_of(of.mean, len(others))), "by": of.by}
        for claim, of in zip(found, supports, strict=True)
    ]
    failures = (of.by.partition(":")[2] for of in supports)
    return {"claims": measured}, next(filter(None, failures), None)


def _given(text: str) -> Claim:
    return Claim(text, "", 0, len(text), "sentence", None)


def _figures(beta: Beta) -> dict[str, Any]:
    return {"mean": round(beta.mean, 6), "alpha": round(beta.alpha, 6), "beta": round(beta.beta, 6)}


def _read(model: type[Model], row: object) -> Model:
    try:
        return model.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        wanted = ", ".join(f"'{name}'" for name, field in model.model_fields.items() if field.is_required())
        raise BadInput(f"{where}{in_words(first)}. Each line is an object with {wanted}.") from error
