"""Verdicts as they come in: settled in the store, counted, and told as an event each."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from hedgerow.proxy.audit.verdicts import Settled, Told, tell
from hedgerow.proxy.errors import StoreError
from hedgerow.proxy.pipeline.job import Flow
from hedgerow.proxy.services.services import Services

log = structlog.get_logger(__name__)


async def settle(services: Services, told: Sequence[Told]) -> list[Settled | None]:
    """Settle verdicts; None in the place of each whose answer does not exist.

    Raises:
        StoreError: the store cannot be written.
    """
    settled = await tell(services.audit, told)
    for verdict in settled:
        if verdict is not None and verdict.changed:
            _say(services, verdict)
    return settled


def _say(services: Services, settled: Settled) -> None:
    services.metrics.verdicts.labels(settled.route or "", settled.told.kind).inc()
    for confidence, score in (("raw", "fd_raw"), ("calibrated", "fd"), ("perceived", "fd_perceived")):
        if settled.counts and (divergence := settled.scores.get(score)) is not None:
            services.metrics.settled_divergence.labels(settled.route or "", confidence).observe(divergence)
    log.info(
        "verdict",
        id=settled.id,
        route=settled.route,
        status=settled.status,
        correct=settled.told.correct,
        kind=settled.told.kind,
        source=settled.told.source,
        counts=settled.counts,
        **settled.scores,
    )


def consider(services: Services, flow: Flow) -> None:
    """Have the route's grader judge an answer, if it takes this one. Returns at once; the judging outlives the request."""
    steps = services.steps.get(flow.job.route.name)
    if flow.calibrated is None or steps is None or steps.grader is None or not steps.grader.takes():
        return
    services.start(_grade(services, flow), name=f"grade-{flow.job.id}")


async def _grade(services: Services, flow: Flow) -> None:
    grader = services.steps[flow.job.route.name].grader
    assert grader is not None  # see `consider`  # noqa: S101
    correct = await grader.grade(flow.job, flow.served or flow.draft)
    if correct is None:
        services.metrics.ungraded.labels(flow.job.route.name).inc()
        return
    try:
        await settle(services, [Told(flow.job.id, correct, kind="grader", source="grader", actor=grader.model)])
    except StoreError as error:
        log.error("grading_lost", id=flow.job.id, error=str(error))
