"""The headers `x-hedgerow-*` with the outcome, on every answer of a calibrating route."""

from __future__ import annotations

from ..pipeline.job import Job
from ..pipeline.promised import promised_or_why
from ..pipeline.result import Result
from ..types import Promised


def headers(result: Result) -> list[tuple[bytes, bytes]]:
    """The headers `x-hedgerow-*`, unless the route hides them."""
    if not result.job.route.expose.headers:
        return []
    pairs = [(b"x-hedgerow-status", result.status.encode()), (b"x-hedgerow-audit-id", result.job.id.encode())]
    if result.reason is not None:
        pairs.append((b"x-hedgerow-reason", result.reason.encode("ascii", "replace")))
    pairs += answered_by(result.job)
    if result.confidence is not None:
        pairs.append((b"x-hedgerow-confidence", f"{result.confidence.calibrated.mean:.4f}".encode()))
    if result.job.over_budget:
        pairs.append((b"x-hedgerow-budget", b"soft"))
    if result.job.route.promises is not None and result.begun_ns:
        pairs.append((b"x-hedgerow-promise", _promise_header(promised_or_why(result)).encode()))
    return pairs


def answered_by(job: Job) -> list[tuple[bytes, bytes]]:
    """The header that names the group member that has answered."""
    return [(b"x-hedgerow-upstream", job.answered_by.encode("latin-1", "replace"))] if job.answered_by else []


def _promise_header(promised: Promised) -> str:
    """The promises that cover the answer, separated by semicolons; else "none" and the reason."""
    return "; ".join(text for text, _ in promised.covered) or f"none ({promised.reason})"
