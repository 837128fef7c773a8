"""The method, from top to bottom: how one request is calibrated. Read this file first.

    eligible? -> sample -> cluster -> short or long: confidence -> calibrate -> decide -> retrieve -> rewrite (with its guard)

If a step fails, or a fault occurs between steps, the client gets the plain draft, marked: never an unchecked rewrite, never an invented
confidence. If no draft could be drawn, the client gets the upstream's error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

import structlog

from ...lexicon.reading.local import read
from ...lexicon.reading.reading import Reading
from ...lexicon.text.language import known_language_of
from ..computing import aside, compute
from ..errors import Internal, ProxyError, StepFailed, UpstreamTimeout
from ..outcomes import Reason, Status
from ..rewriting import Reader, perceived_confidence
from ..types import Clustering, Json
from .calls import measure_calls
from .eligibility import (
    answer_reason,
    comparable,
    draft_reason,
    measures_calls,
    measures_choices,
    skip_reason,
    unasked_reason,
)
from .fields import is_structured, measure_fields
from .long import found_claims, measure_long
from .result import Result, Run
from .sampling.drawing import draw_answers, draw_own
from .several import measure_choices
from .short import measure_short
from .steps import RoutePipeline, group, too_long
from .wording import LARGE, Measured, word

log = structlog.get_logger(__name__)
T = TypeVar("T")


async def calibrate(
    run: Run, pipeline: RoutePipeline, serving: Awaitable[Json] | None = None, *, is_eligible: bool = False
) -> None:
    """Answer a job; the outcome is in `run.result`.

    `serving` returns the completion that the client is already reading (`stream: append`), once it is complete. It is the draft and one of
    the compared answers, and is hedged by a sentence after it. `is_eligible` means that `skip_reason` was already checked.

    Raises:
        ProxyError: no answer could be drawn; `run.result` has the same reason.
    """
    run.job = run.job._replace(on_lost=run.lose)
    try:
        work = _answer(run, pipeline.of_one_answer(), serving, is_eligible=is_eligible)
        await run_until_deadline(run, work, pipeline.reader)
    finally:
        run.price(pipeline.prices)


async def run_until_deadline(run: Run, work: Coroutine[Any, Any, None], reader: Reader = perceived_confidence) -> None:
    """Run `work` until the route's deadline; if it fails, the draft is kept.

    Raises:
        ProxyError: there is no draft.
    """
    limit = asyncio.timeout(run.job.route.deadline_s)
    try:
        async with limit:
            await work
    except Exception as error:  # every fault of the pipeline is caught here
        if not limit.expired() and not isinstance(error, StepFailed | ProxyError):
            log.exception("step_failed", step=run.step_name, id=run.job.id)
        failure = _degrade(run, error, limit.expired())
        if not run.result.drawn.choices:
            raise failure from (None if failure is error else error)
    try:
        run.learn(**await _perceived(run.result, reader))
    except Exception:  # perceived confidence is for the record: without it the client still gets the answer
        log.exception("answer_not_read", id=run.job.id)


async def _answer(run: Run, pipeline: RoutePipeline, serving: Awaitable[Json] | None, *, is_eligible: bool) -> None:
    job, may_replace = run.job, serving is None
    if not is_eligible and (reason := skip_reason(job)) is not None:
        with run.step("sample"):
            run.arrived(await draw_own(job, pipeline.upstream))
        return run.end(Status.PASSED, reason)
    if measures_choices(job):
        return await measure_choices(run, pipeline, serving)

    with run.step("sample"):
        reason = await draw_answers(run, pipeline, serving)
    if reason is not None:
        return run.end(Status.PASSED, reason)
    await pipeline.turns.wait()
    job, drawn = run.job, run.result.drawn
    reason = answer_reason(drawn.samples, [choice for _, choice in drawn.choices])
    if reason is Reason.TOOL_CALLS and drawn.samples[0].has_tool_calls and measures_calls(job):
        return await measure_calls(run, pipeline, may_replace=may_replace)
    if (reason := reason or (unasked_reason(job) if measures_calls(job) else None)) is not None:
        return run.end(Status.PASSED, reason)
    if (reason := too_long(run)) is not None:
        return run.end(Status.PASSED, reason)
    if (not may_replace or job.draws_draft_first) and 0 not in drawn.compared:
        return run.end(Status.PASSED, Reason.NO_TEXT)

    if is_structured(run):
        return await measure_fields(run, pipeline, may_replace=may_replace)

    with run.step("cluster"):
        clustering = await group(run, pipeline.equivalence(job, run.spend), may_replace=may_replace)
    sample, texts = drawn.samples[run.result.draft_index], drawn.texts
    if (reason := await aside(len(sample.text), LARGE, draft_reason, sample)) is not None:
        return run.end(Status.PASSED, reason)
    largest = None if pipeline.by_sentence or job.route.signal == "consistency" else len(clustering.largest)
    if job.route.claims_only and not await aside(sum(map(len, texts)), LARGE, comparable, texts, largest):
        return run.end(Status.PASSED, Reason.NOT_A_CLAIM)

    with run.step("confidence"):
        reading = await compute(read, sample.text, job.question)
    measured = await _measure(run, pipeline, clustering, reading)
    return await word(run, pipeline, measured, reading, may_replace=may_replace)


async def _measure(run: Run, pipeline: RoutePipeline, clustering: Clustering, reading: Reading) -> Measured:
    """Measure and calibrate the confidence in a short or a long answer."""
    if (long := pipeline.by_sentence) is not None:
        with run.step("confidence"):
            found = await found_claims(run, long, reading)
        if found is not None:
            return await measure_long(run, long, reading.text, found)
    return await measure_short(run, pipeline, clustering)


def _degrade(run: Run, error: Exception, expired: bool) -> ProxyError:
    """Keep the draft because a step failed. Returns the client's error for the case that there is no draft."""
    status = Status.DEGRADED if run.result.drawn.choices else Status.FAILED
    if expired:
        run.lose()
        deadline = f"the deadline of {run.job.route.deadline_s:g} s passed"
        run.end(status, Reason.DEADLINE, deadline)
        return UpstreamTimeout(f"no answer came: {deadline}")
    if isinstance(error, ProxyError):
        run.fail(error, status, error.message)
        return error
    if isinstance(error, StepFailed):
        run.end(status, error.reason, str(error))
    else:
        run.end(status, Reason.STEP_FAULT, f"{run.step_name}: {type(error).__name__}")
    return Internal("no answer could be drawn", code=run.result.reason)


async def _perceived(result: Result, reader: Reader) -> dict[str, Any]:
    """Fields of `Result` on the perceived confidence of an answer that has a confidence: of the draft's own words, and of
    the final text if it is the unchanged draft.
    """
    draft = result.draft
    if result.confidence is None or draft is None:
        return {}
    language = result.language or known_language_of(draft, result.job.question)
    worded = result.rewording.perceived if result.rewording is not None and result.text == draft else None
    own = worded if worded is not None else await aside(len(draft), LARGE, reader, draft, language)
    known: dict[str, Any] = {"own": own}
    if result.rewording is None and result.status not in (Status.ABSTAINED, Status.ESCALATED):
        known["perceived"] = own
    return known
