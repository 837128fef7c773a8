"""`POST /v1/feedback`: whether answers were right, one at a time or many."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, ValidationError

from hedgerow.proxy.api.access import Admitted, ServicesOf
from hedgerow.proxy.audit.verdicts import MAX_TOLD, Settled, Told
from hedgerow.proxy.errors import BadRequest, NotFound, ProxyError
from hedgerow.proxy.services.verdicts import settle
from hedgerow.proxy.types import Json


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

    def told(self) -> Told:
        """The verdict.

        Raises:
            BadRequest: the grade lies outside 0..1.
        """
        if not 0.0 <= float(self.correct) <= 1.0:
            raise BadRequest(
                f"`correct` is {self.correct}; it must be true, false or a number from 0 to 1", param="correct"
            )
        return Told(self.id, float(self.correct), source=self.source, note=self.note)


async def feedback(services: ServicesOf, _: Admitted, sent: Annotated[Any, Body()]) -> Json:
    """Tell whether an answer was right, or many: its divergence and scores are settled. Telling the same again changes nothing.

    One object gives its verdict or an error; a list gives `results`, one for each in its place, an error beside the verdicts that stand.
    """
    if not isinstance(sent, list):
        told = _parse(sent)
        (settled,) = await settle(services, [told])
        if settled is None:
            raise _unknown(told.name)
        return answer(settled)
    if len(sent) > MAX_TOLD:
        raise BadRequest(f"{len(sent)} verdicts at once; at most {MAX_TOLD} are taken", code="too_many")
    parsed = [_parsed(item) for item in sent]
    found = iter(await settle(services, [told for told in parsed if isinstance(told, Told)]))
    results = [_result(told, next(found)) if isinstance(told, Told) else told.body() for told in parsed]
    return {
        "results": results,
        "changed": sum(result.get("changed", False) for result in results),
        "failed": sum("error" in result for result in results),
    }


def _parsed(item: Any) -> Told | ProxyError:
    try:
        return _parse(item)
    except BadRequest as error:
        return error


def _parse(item: Any) -> Told:
    """One verdict.

    Raises:
        BadRequest: it is none; the message names the field.
    """
    if not isinstance(item, dict):
        raise BadRequest("a verdict is a JSON object with `id` and `correct`", code="invalid_type")
    try:
        return Feedback.model_validate(item).told()
    except ValidationError as error:
        fault = error.errors()[0]
        param = str(fault["loc"][0]) if fault["loc"] else None
        raise BadRequest(f"{param or 'the body'}: {fault['msg']}", param=param, code="invalid_type") from error


def _result(told: Told, settled: Settled | None) -> Json:
    return {"id": told.name} | dict(_unknown(told.name).body()) if settled is None else answer(settled)


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no answer with the id {name!r}", code="unknown_id", param="id")


def answer(settled: Settled) -> Json:
    """What is told of a settled verdict."""
    scores = settled.scores
    return {
        "id": settled.id,
        "correct": settled.told.correct,
        "changed": settled.changed,
        "counts": settled.counts,
        "faithfulness_divergence": {
            "raw": scores["fd_raw"],
            "calibrated": scores["fd"],
            "perceived": scores["fd_perceived"],
        },
        "brier": {"raw": scores["brier_raw"], "calibrated": scores["brier"]},
        "nll": {"raw": scores["nll_raw"], "calibrated": scores["nll"]},
    }
