"""Store incoming verdicts with their scores, count and log them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import structlog

from ..audit.store import AuditStore
from ..audit.verdicts import PICKED, Verdict, VerdictResult
from ..errors import StoreError
from ..monitoring.metrics import Metrics
from ..pipeline.job import Job
from ..pipeline.result import Result
from .services import Services

if TYPE_CHECKING:
    from ..grading.online import RouteGrader

log = structlog.get_logger(__name__)


async def record_verdicts(
    store: AuditStore, metrics: Metrics, added: Sequence[Verdict], *, in_time: bool = False
) -> list[VerdictResult | None]:
    """Store verdicts with their scores, count and log them. Returns None in place of a verdict whose answer or claim does not exist.

    Args:
        in_time: wait for rows that are still being written: a verdict may arrive before the shadow work is done.

    Raises:
        StoreError: the store cannot be written.
    """
    results = await (store.add_verdicts_in_time(added) if in_time else store.add_verdicts(added))
    for result in results:
        if result is not None and result.changed:
            with metrics.spared():
                _count(metrics, result)
    return results


def _count(metrics: Metrics, result: VerdictResult) -> None:
    of_claim = result.verdict.claim is not None
    verdicts = metrics.claim_verdicts if of_claim else metrics.verdicts
    settled = metrics.settled_claim_divergence if of_claim else metrics.settled_divergence
    verdicts.labels(result.route or "", result.verdict.kind).inc()
    averaged = result.counts and result.verdict.propensity != PICKED
    for confidence, score in (("raw", "fd_raw"), ("calibrated", "fd"), ("perceived", "fd_perceived")):
        if averaged and (divergence := result.scores.get(score)) is not None:
            settled.labels(result.route or "", confidence).observe(divergence)
    log.info(
        "verdict",
        id=result.id,
        claim=result.verdict.claim,
        route=result.route,
        status=result.status,
        correct=result.verdict.correct,
        kind=result.verdict.kind,
        source=result.verdict.source,
        counts=result.counts,
        **result.scores,
    )


def consider(services: Services, result: Result) -> None:
    """Let the route's grader grade an answer, if it selects this one. Returns at once; grading continues in the background."""
    pipeline, answer = services.steps.get(result.job.route.name), result.served or result.draft
    if result.confidence is None or answer is None or pipeline is None:
        return
    if (grader := pipeline.grader) is not None and grader.takes():
        if services.supervisor.crowded:
            services.metrics.ungraded.labels(result.job.route.name).inc()
            return
        work = _grade(services.audit, services.metrics, grader, result.job, answer)
        services.start(work, name=f"grade-{result.job.id}")


async def _grade(store: AuditStore, metrics: Metrics, grader: RouteGrader, job: Job, answer: str) -> None:
    correct = await grader.grade(job, answer)
    if correct is None:
        metrics.ungraded.labels(job.route.name).inc()
        return
    verdict = Verdict(
        job.id, correct, kind="grader", source="grader", actor=grader.model, propensity=job.route.grading.share
    )
    try:
        await record_verdicts(store, metrics, [verdict])
    except StoreError as error:
        log.error("grading_lost", id=job.id, error=str(error))
