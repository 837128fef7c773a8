"""Requests on calibrating routes: whether each is calibrated, and by which of the three ways of answering."""

from __future__ import annotations

from ..errors import BadRequest
from ..pipeline.eligibility import is_shown_as_it_comes, replaces_calls, skip_reason
from ..pipeline.job import Job, Unread
from ..pipeline.result import Run
from ..services.services import Services
from . import append, buffered, shadow
from .exchange import Exchange


def why_passed(job: Job, fault: BadRequest | None) -> str | None:
    """The reason why a text request is passed through; None if it is calibrated.

    Raises:
        BadRequest: no upstream could answer it. In shadow mode, which changes nothing, the upstream's own error is returned instead.
    """
    if fault is None:
        return skip_reason(job)
    if job.mode == "on" and not isinstance(fault, Unread):
        raise fault
    return fault.code


async def answer(exchange: Exchange, services: Services, run: Run, body: bytes) -> None:
    """Answer a calibrated request: in shadow mode, by a sentence after it, or with the reworded text."""
    job = run.job
    appends = (job.route.stream == "append" and not replaces_calls(job)) or is_shown_as_it_comes(job)
    if job.mode == "shadow":
        await shadow.answer(exchange, services, run, body)
    elif job.body.get("stream") and appends:
        await append.answer(exchange, services, run, body)
    else:
        await buffered.answer(exchange, services, run, body)
