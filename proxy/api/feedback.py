"""`POST /v1/feedback`: whether answers were right, one at a time or many."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, ValidationError

from hedgerow.proxy.api.access import Admitted, ServicesOf, StoreOf
from hedgerow.proxy.api.audit import unknown
from hedgerow.proxy.audit.verdicts import MAX_VERDICTS, Verdict, VerdictResult
from hedgerow.proxy.errors import BadRequest, ProxyError
from hedgerow.proxy.services.verdicts import record_verdicts
from hedgerow.proxy.types import Json

router = APIRouter(prefix="/v1/feedback", dependencies=[Admitted])


class Feedback(BaseModel):
    """A verdict on an answer."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=128, description="Audit id, or the completion's own id.")]
    correct: Annotated[
        StrictBool | StrictInt | StrictFloat,
        Field(description="true or false, or a grade from 0 (wrong) to 1 (right)."),
    ]
    source: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,32}$", description="Who says so.")] = "client"
    note: Annotated[str, Field(max_length=2000, description="Kept with the verdict.")] | None = None

    def verdict(self) -> Verdict:
        """The verdict as the audit takes it.

        Raises:
            BadRequest: the grade lies outside 0..1.
        """
        if not 0.0 <= float(self.correct) <= 1.0:
            raise BadRequest(
                f"`correct` is {self.correct}; it must be true, false or a number from 0 to 1", param="correct"
            )
        return Verdict(self.id, float(self.correct), source=self.source, note=self.note)


@router.post("")
async def feedback(store: StoreOf, services: ServicesOf, sent: Annotated[Any, Body()]) -> Json:
    """Say whether an answer was right, or many: their divergence and scores are computed. A repeated verdict changes nothing.

    One object gives its verdict or an error; a list gives `results`, one for each in its place, an error beside the verdicts that stand.
    """
    if not isinstance(sent, list):
        verdict = _parse(sent)
        (result,) = await record_verdicts(store, services.metrics, [verdict])
        if result is None:
            raise unknown(verdict.name, "id")
        return described(result)
    if len(sent) > MAX_VERDICTS:
        raise BadRequest(f"{len(sent)} verdicts at once; at most {MAX_VERDICTS} are taken", code="too_many")
    parsed = [_parsed(item) for item in sent]
    verdicts = [item for item in parsed if isinstance(item, Verdict)]
    stored = iter(await record_verdicts(store, services.metrics, verdicts))
    results = [_result(item, next(stored)) if isinstance(item, Verdict) else item.body() for item in parsed]
    return {
        "results": results,
        "changed": sum(result.get("changed", False) for result in results),
        "failed": sum("error" in result for result in results),
    }


def _parsed(item: Any) -> Verdict | ProxyError:
    try:
        return _parse(item)
    except BadRequest as error:
        return error


def _parse(item: Any) -> Verdict:
    """One verdict.

    Raises:
        BadRequest: it is not a verdict; the message names the field.
    """
    if not isinstance(item, dict):
        raise BadRequest("a verdict is a JSON object with `id` and `correct`", code="invalid_type")
    try:
        return Feedback.model_validate(item).verdict()
    except ValidationError as error:
        fault = error.errors()[0]
        param = str(fault["loc"][0]) if fault["loc"] else None
        raise BadRequest(f"{param or 'the body'}: {fault['msg']}", param=param, code="invalid_type") from error


def _result(verdict: Verdict, result: VerdictResult | None) -> Json:
    return {"id": verdict.name} | dict(unknown(verdict.name, "id").body()) if result is None else described(result)


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
