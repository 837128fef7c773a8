"""A baseline rewrites the whole answer; the guard checks the result, and the draft stays as it is if it is refused twice."""

from __future__ import annotations

from dataclasses import replace

from ...lexicon.text.language import known_language_of
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason
from ..protocols import Guard, Rewriter
from ..types import NO_TOKENS, Rewording, RewriteRequest, Verdict
from .guard import Reader, perceived_confidence

WORDED_IN_PARTS = frozenset({"auto", "editor", "local"})
"""Values of `rewriting.by` by which an answer is marked where it claims; every other rewrites it as a whole, at any confidence."""


async def reword(
    request: RewriteRequest, *, rewriter: Rewriter, guard: Guard, reader: Reader | None = perceived_confidence
) -> Rewording:
    """The draft as a baseline rewrites it. It gets one more try with the guard's complaint; `usage` includes refused attempts."""
    request = replace(request, language=request.language or known_language_of(request.draft, request.question))
    usage, refused = NO_TOKENS, []
    asked: RewriteRequest | None = request
    while asked is not None:
        try:
            rewrite = await rewriter.rewrite(asked)
        except StepFailed as failure:
            usage += failure.usage or NO_TOKENS
            refused.append(f"{rewriter.name}:{failure.reason}")
            break
        usage += rewrite.usage
        verdict = await guard.check(asked, rewrite)
        if verdict.accepted:
            perceived = await compute(reader, rewrite.text, request.language) if reader else None
            return Rewording(
                rewrite.text, "hedged", None, rewrite.hedge, rewriter.name, tuple(refused), perceived, usage
            )
        refused.append(f"{rewriter.name}:{verdict.reason}")
        asked = replace(asked, complaint=_complaint(verdict)) if asked.complaint is None else None
    perceived = await compute(reader, request.draft, request.language) if reader else None
    last = refused[-1].partition(":")[2] if refused else Reason.NO_REWRITER
    return Rewording(request.draft, "unhedged", last, None, None, tuple(refused), perceived, usage)


def _complaint(verdict: Verdict) -> str:
    """The message to a rewriter about its refused attempt: the reason, and the words at fault."""
    reason = (verdict.detail or verdict.reason or "refused").rstrip(".")
    return f"{reason} ({verdict.words})" if verdict.words else reason
