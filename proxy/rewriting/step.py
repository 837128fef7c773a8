"""The rewriting step: try, check, try again, fall back, and in the end leave the draft as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proxy.errors import StepFailed
from proxy.ports import Guard, Rewriter
from proxy.values import Rewording, RewriteRequest, Usage

NOTHING_TO_HEDGE = frozenset({"no_assertion"})
"""Reasons for which the draft stands without being counted as a failure."""


async def reword(request: RewriteRequest, *, rewriters: Sequence[Rewriter], guard: Guard) -> Rewording:
    """Word the draft at its confidence.

    Rewriters are tried in order; one that asks a model is asked once more with the guard's complaint. Where all are refused, the
    draft stands, marked "unhedged". The cost of refused attempts is in `usage`.
    """
    if request.hedges[0].hedge.is_plain:
        return Rewording(request.draft, "plain", "no_hedge_needed", request.hedges[0].hedge.id, None)
    attempts: list[str] = []
    usage = Usage()
    for rewriter in rewriters:
        asked = request
        for _ in range(1 if rewriter.name == "template" else 2):
            try:
                rewrite = await rewriter.rewrite(asked)
            except StepFailed as failure:
                if failure.reason in NOTHING_TO_HEDGE:
                    return Rewording(request.draft, "plain", failure.reason, None, None, tuple(attempts), usage=usage)
                attempts.append(f"{rewriter.name}:{failure.reason}")
                break
            usage += rewrite.usage
            verdict = await guard.check(asked, rewrite)
            if verdict.accepted:
                return Rewording(
                    rewrite.text, "hedged", None, rewrite.hedge, rewriter.name, tuple(attempts), usage=usage
                )
            attempts.append(f"{rewriter.name}:{verdict.reason}")
            asked = replace(request, complaint=verdict.detail or verdict.reason)
    return Rewording(request.draft, "unhedged", _last_reason(attempts), None, None, tuple(attempts), usage=usage)


def _last_reason(attempts: Sequence[str]) -> str:
    return attempts[-1].partition(":")[2] if attempts else "no_rewriter"
