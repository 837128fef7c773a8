"""JSON answers: a confidence for each field. A program reads them, so they are never reworded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from ...calibration import Beta
from ..clustering import support
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason, Status
from ..types import ClaimConfidence, Clustering
from .eligibility import asks_for_structure, json_in
from .long import overall
from .result import Run
from .steps import RoutePipeline, confident

SIGNAL = "fields"
"""Name of the signal of JSON answers: the mean over their fields, which is not the agreement of whole answers."""


def is_structured(run: Run) -> bool:
    """Whether the route measures fields, and the request asks for JSON or the first answer is JSON."""
    drawn = run.result.drawn
    if run.job.route.structured_output != "measure" or not drawn.compared:
        return False
    return asks_for_structure(run.job.chat) or json_in(drawn.samples[drawn.compared[0]].text) is not None


async def measure_fields(run: Run, pipeline: RoutePipeline, *, may_replace: bool) -> None:
    """Measure agreement, calibrate, and choose the draft. Answers that are not JSON count for no field.

    Raises:
        StepFailed: too few answers are JSON.
    """
    drawn, job = run.result.drawn, run.job
    with run.step("cluster"):
        texts = [drawn.samples[i].text for i in drawn.compared]
        values = await compute(lambda: [json_in(text) for text in texts])
        known = [i for i, value in enumerate(values) if value is not None]
        first = job.draws_draft_first or not may_replace
        if not known or (first and 0 not in known):
            run.end(Status.PASSED, Reason.STRUCTURED_OUTPUT)
            return
        draft = 0 if first else known[support.representative([values[i] for i in known])]
        run.learn(clustering=_grouped(values, draft))
        if len(known) < job.route.sampling.min_n:
            missing = f"{len(known)} of {job.route.sampling.n} answers are JSON; {job.route.sampling.min_n} are needed"
            raise StepFailed("cluster", Reason.TOO_FEW_SAMPLES, missing)
    others = [i for i in known if i != draft]
    run.learn(held_against=tuple(drawn.compared[i] for i in others))
    await measure(run, pipeline, values[draft], [values[i] for i in others], Reason.STRUCTURED_OUTPUT)


async def measure(
    run: Run, pipeline: RoutePipeline, draft: Any, others: Sequence[Any], reason: Reason
) -> tuple[support.FieldPath, ...]:
    """Measure the agreement of each field and calibrate it. Returns the paths of the fields that became claims of the result."""
    job = run.job
    with run.step("confidence"):
        shares = await compute(support.agreement, job.question, draft, others)
    if not shares:
        run.end(Status.PLAIN, reason)
        return ()
    with run.step("calibrate"):
        active = pipeline.field_map(job.answering_model)
        raw = [_agreement(share) for share in shares.values()]
        calibrated = [active.map.apply(beta) for beta in raw]
        run.learn(
            claims=_claims(shares, raw, calibrated),
            confidence=confident(SIGNAL, overall(raw), overall(calibrated), active),
        )
    run.end(Status.PLAIN, reason)
    return tuple(shares)


def _agreement(shares: Sequence[float]) -> Beta:
    """The raw Beta of one field: the draft and the answers that agree with it, against the others."""
    agreeing = 1.0 + sum(shares)
    return Beta.floored(agreeing, 1.0 + len(shares) - agreeing)


def _claims(
    shares: Mapping[support.FieldPath, Sequence[float]], raw: Sequence[Beta], calibrated: Sequence[Beta]
) -> tuple[ClaimConfidence, ...]:
    names = [support.path_name(path) for path in shares]
    votes = [
        tuple(True if share == 1.0 else False if share == 0.0 else None for share in each) for each in shares.values()
    ]
    return tuple(
        ClaimConfidence(name, 0, 0, None, before, after, borne_out, path=name)
        for name, before, after, borne_out in zip(names, raw, calibrated, votes, strict=True)
    )


def _grouped(values: Sequence[Any], draft: int) -> Clustering:
    """Clusters of answers that are equal in every field; the draft's cluster comes first."""
    groups: dict[bytes, list[int]] = {}
    for i, value in enumerate(values):
        key = b"%d" % i if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        groups.setdefault(key, []).append(i)
    ordered = sorted(groups.values(), key=lambda group: (draft not in group, -len(group), group[0]))
    return Clustering(tuple(map(tuple, ordered)), {}, draft)
