"""`/v1/feedback`: whether answers, single claims of long ones or single fields of JSON were right, one at a time or many; `/v1/audit`: one row of the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, ValidationError

from ..audit.verdicts import MAX_VERDICTS, Verdict, VerdictResult
from ..config.reading import in_words
from ..errors import BadRequest, NotFound, ProxyError
from ..services.verdicts import record_verdicts
from ..types import Json
from .access import JudgesOf, OperatorOf, ReadsOf, ReloaderOf, ServicesOf, StoreOf

log = structlog.get_logger(__name__)

# `/v1/audit/{id}`: one audit row with its verdicts, and erasing its texts.

audit_router = APIRouter(prefix="/v1/audit")

AnswerId = Annotated[str, Path(alias="id", description="Audit id, or the completion's own id.")]


@audit_router.get("/{id}")
async def audit(name: AnswerId, store: StoreOf, owner: ReadsOf) -> Json:
    """One audit row with its verdicts; with a named key one of its own."""
    row = await store.get(name)
    if row is None or owner not in (None, row["key"]):
        raise unknown(name)
    return row


@audit_router.delete("/{id}")
async def erase(name: AnswerId, store: StoreOf, reloader: ReloaderOf, operator: OperatorOf) -> Json:
    """Erase the texts of one answer, also from the cache of samples; its figures stay. Only for operators."""
    if not await store.erase(name, actor=operator.name or "admin"):
        raise unknown(name)
    await reloader.look()
    log.info("erased", id=name)
    return {"id": name, "erased": True}


def unknown(name: str, param: str | None = None) -> NotFound:
    """The error for an id that no answer has."""
    message = f"no answer has the id {name!r}; take `hedgerow.id` of an answer, or the completion's own `id`"
    return NotFound(message, code="unknown_id", param=param)


router = APIRouter(prefix="/v1/feedback")


def _grade(value: object) -> object:
    if isinstance(value, bool | int | float):
        return value
    raise ValueError("expected true, false or a number from 0 to 1")


Grade = Annotated[StrictBool | StrictInt | StrictFloat, BeforeValidator(_grade)]
WITHOUT_NUL = r"^[^\x00]*$"
"""PostgreSQL cannot store text with a NUL character."""
Position = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,3})$")]


class Feedback(BaseModel):
    """A verdict on an answer, on claims of it, or on both."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[
        str,
        Field(min_length=1, max_length=128, pattern=WITHOUT_NUL, description="Audit id, or the completion's own id."),
    ]
    correct: Annotated[
        Grade | None,
        Field(description="true or false, or a grade from 0 (wrong) to 1 (right); of the answer as a whole."),
    ] = None
    claims: Annotated[
        dict[Position, Grade] | list[Grade | None] | None,
        Field(
            description="The same for claims of a long answer: by their place in the field `claims`, or one each, null for unjudged."
        ),
    ] = None
    fields_: Annotated[
        dict[Annotated[str, Field(max_length=1000, pattern=WITHOUT_NUL)], Grade] | None,
        Field(
            alias="fields", description="The same for fields of a JSON answer, by their places in the field `fields`."
        ),
    ] = None
    source: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,32}$", description="Who says so.")] = "client"
    note: (
        Annotated[
            str, Field(max_length=2000, pattern=WITHOUT_NUL, description="Kept as long as the answer's texts are.")
        ]
        | None
    ) = None
    propensity: (
        Annotated[
            StrictFloat | StrictInt,
            Field(
                gt=0,
                le=1,
                description="Probability with which this answer was drawn to be judged, where you draw at random.",
            ),
        ]
        | None
    ) = None

    def verdicts(self) -> list[Verdict]:
        """The verdicts for the audit: first on the answer, then on its claims.

        Raises:
            BadRequest: a grade is outside 0..1, or there is no verdict.
        """
        verdicts = [] if self.correct is None else [self._verdict(self.correct, None)]
        numbered = enumerate(self.claims) if isinstance(self.claims, list) else (self.claims or {}).items()
        verdicts += [self._verdict(grade, int(place)) for place, grade in numbered if grade is not None]
        verdicts += [self._verdict(grade, None, path) for path, grade in (self.fields_ or {}).items()]
        if not verdicts:
            message = "a verdict needs `correct`, or `claims` or `fields` with at least one of them judged"
            raise BadRequest(message, param="correct")
        return verdicts

    def _verdict(self, grade: float, claim: int | None, path: str | None = None) -> Verdict:
        if not 0.0 <= float(grade) <= 1.0:
            name, place = "correct", "`correct`"
            if path is not None:
                name, place = "fields", f"the verdict on the field {path}"
            elif claim is not None:
                name, place = "claims", f"the verdict on claim {claim}"
            raise BadRequest(f"{place} is {grade}; it must be true, false or a number from 0 to 1", param=name)
        verdict = Verdict(self.id, float(grade), source=self.source, note=self.note, claim=claim, path=path)
        return replace(verdict, propensity=self.propensity)


@router.post("")
async def feedback(store: StoreOf, services: ServicesOf, owner: JudgesOf, sent: Annotated[Any, Body()]) -> Json:
    """Say whether answers, or single claims of them, were right; their divergence and scores are computed. A repeated verdict
    changes nothing.

    With a named key only its own answers are known here. One object gives its verdict or an error; a list gives `results`, one for each in its place, an error beside the verdicts that stand.
    """
    many = isinstance(sent, list)
    if many and len(sent) > MAX_VERDICTS:
        raise BadRequest(f"{len(sent)} verdicts at once; at most {MAX_VERDICTS} are taken", code="too_many")
    parsed = [_parsed(item) for item in sent] if many else [_parse(sent)]
    actor = None if owner is None else f"key:{owner}"[:64]
    verdicts = [replace(one, owner=owner, actor=actor) for given in parsed if isinstance(given, list) for one in given]
    if len(verdicts) > MAX_VERDICTS:
        raise BadRequest(
            f"{len(verdicts)} verdicts on answers and claims at once; at most {MAX_VERDICTS} are taken", code="too_many"
        )
    stored = iter(await record_verdicts(store, services.metrics, verdicts, in_time=True))
    results = [
        _outcome(item, [next(stored) for _ in item]) if isinstance(item, list) else item.body() for item in parsed
    ]
    if not many:
        if "error" in results[0]:
            raise unknown_answer_or_claim(verdicts[0])
        return results[0]
    return {
        "results": results,
        "changed": sum(result.get("changed", False) for result in results),
        "failed": sum("error" in result for result in results),
    }


def _parsed(item: Any) -> list[Verdict] | ProxyError:
    try:
        return _parse(item)
    except BadRequest as error:
        return error


def _parse(item: Any) -> list[Verdict]:
    """Parse one object.

    Raises:
        BadRequest: it is not a verdict; the message names the field.
    """
    if not isinstance(item, dict):
        raise BadRequest(
            "a verdict is a JSON object with `id` and `correct`, `claims` or `fields`", code="invalid_type"
        )
    try:
        return Feedback.model_validate(item).verdicts()
    except ValidationError as error:
        fault = max(
            error.errors(), key=lambda fault: len(fault["loc"])
        )  # of a list or object, the one about what is in it
        param = str(fault["loc"][0]) if fault["loc"] else None
        raise BadRequest(f"{param or 'the body'}: {in_words(fault)}", param=param, code="invalid_type") from error


def _outcome(verdicts: Sequence[Verdict], stored: Sequence[VerdictResult | None]) -> Json:
    """The result for one object: of the answer, with its claims under `claims`; an error if none of its verdicts could be stored."""
    name = verdicts[0].name
    if all(result is None for result in stored):
        return {"id": name} | dict(unknown_answer_or_claim(verdicts[0]).body())
    pairs = list(zip(verdicts, stored, strict=True))
    outcomes = [
        described(result) if result is not None else dict(unknown_answer_or_claim(verdict).body())
        for verdict, result in pairs
    ]
    whole = [each for each, verdict in zip(outcomes, verdicts, strict=True) if _is_whole(verdict)]
    claims = [{"claim": v.claim} | each for each, v in zip(outcomes, verdicts, strict=True) if v.claim is not None]
    fields = {v.path: each for each, v in zip(outcomes, verdicts, strict=True) if v.path is not None}
    if not claims and not fields:
        return whole[0]
    answer = whole[0] if whole else {"id": next(result.id for result in stored if result is not None), "changed": False}
    answer |= {"changed": any(each.get("changed") for each in outcomes)}
    return answer | ({"claims": claims} if claims else {}) | ({"fields": fields} if fields else {})


def _is_whole(verdict: Verdict) -> bool:
    """Whether a verdict is on the answer as a whole."""
    return verdict.claim is None and verdict.path is None


def unknown_answer_or_claim(verdict: Verdict) -> NotFound:
    """The error for a verdict on an unknown answer or claim."""
    if _is_whole(verdict):
        return unknown(verdict.name, "id")
    if verdict.path is not None:
        message = f"no answer with the id {verdict.name!r} has a field {verdict.path}"
        return NotFound(message, code="unknown_field", param="fields")
    message = f"no answer with the id {verdict.name!r} has a claim {verdict.claim}"
    return NotFound(message, code="unknown_claim", param="claims")


def described(result: VerdictResult) -> Json:
    """A stored verdict as the API returns it."""
    scores = result.scores
    return {
        "id": result.id,
        "correct": result.correct,
        "changed": result.changed,
        "counts": result.counts,
        "faithfulness_divergence": {
            "raw": scores["fd_raw"],
            "calibrated": scores["fd"],
            "perceived": scores["fd_perceived"],
        },
        "brier": {"raw": scores["brier_raw"], "calibrated": scores["brier"]},
        "nll": {"raw": scores["nll_raw"], "calibrated": scores["nll"]},
    }
