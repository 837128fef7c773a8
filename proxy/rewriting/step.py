"""The rewriting step: try, check, try again, fall back, and in the end leave the draft as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hedgerow.calibration import Beta
from hedgerow.lexicon import NO_HEDGE
from hedgerow.lexicon.text.language import known_language_of
from hedgerow.proxy.computing import compute
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.protocols import Guard, Rewriter
from hedgerow.proxy.rewriting.frames import LOW, is_plain
from hedgerow.proxy.rewriting.guard import LONG, Reader, perceived_confidence
from hedgerow.proxy.rewriting.long import note_on_list, with_note, without_farewell
from hedgerow.proxy.rewriting.stream import append_confidence_sentence, note_of_doubt
from hedgerow.proxy.types import Rewording, Rewrite, RewriteRequest, Usage, Verdict

BASELINES = frozenset({"direct_beta", "hedged_qa"})
"""Rewriters of the paper's experiments: they word every answer by themselves, at any confidence."""
NOTHING_TO_HEDGE = frozenset({Reason.NO_ASSERTION})
"""Reasons for which the draft stands without being counted as a failure."""


@dataclass(slots=True)
class _Attempts:
    """What was tried, and what it cost."""

    refused: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    async def left_alone(
        self, request: RewriteRequest, status: Literal["plain", "unhedged"], reason: str, reader: Reader | None
    ) -> Rewording:
        """The draft as it was."""
        perceived = await _perceived(request, request.draft, reader)
        plain = NO_HEDGE if status == "plain" and is_plain(request.target, request.hedges) else None
        return Rewording(request.draft, status, reason, plain, None, tuple(self.refused), perceived, self.usage)


async def reword(
    request: RewriteRequest,
    *,
    rewriters: Sequence[Rewriter],
    guard: Guard,
    reader: Reader | None = perceived_confidence,
) -> Rewording:
    """Word the draft at its confidence.

    Rewriters are tried in order: an editor once more with the guard's complaint, the template once more with each other hedge.
    Where all are refused the draft stands, marked "unhedged". Where no hedge is the nearest, the draft stands as "plain" with the author's
    own words of doubt: taken out without another put in, they would make a fact of a guess. At little confidence no hedge goes into it:
    a note follows; so it does after a list, where it is in doubt. The baselines word everything. `usage` counts refused attempts too.
    """
    tried = _Attempts()
    request = replace(request, language=request.language or known_language_of(request.draft, request.question))
    if request.language is None:
        return await tried.left_alone(request, "unhedged", Reason.UNKNOWN_LANGUAGE, None)
    if not request.must_hedge and is_plain(request.target, request.hedges):
        return await tried.left_alone(request, "plain", Reason.NO_HEDGE_NEEDED, reader)
    if not any(rewriter.name in BASELINES for rewriter in rewriters):
        if request.target.mean <= LOW:
            return await _noted(request, reader)
        if not request.must_hedge and (note := note_on_list(request)) is not None:
            text = with_note(request.draft, note.text)
            return Rewording(text, "hedged", None, None, "closing", perceived=note.beta)
    for rewriter in rewriters:
        asked: RewriteRequest | None = request
        while asked is not None:
            try:
                rewrite = await rewriter.rewrite(asked)
            except StepFailed as failure:
                tried.usage += failure.usage or Usage()
                if failure.reason in NOTHING_TO_HEDGE:
                    return await tried.left_alone(request, "plain", failure.reason, reader)
                tried.refused.append(f"{rewriter.name}:{failure.reason}")
                break
            tried.usage += rewrite.usage
            verdict = await guard.check(asked, rewrite)
            if verdict.accepted:
                return await _accepted(request, rewrite, rewriter.name, tried, reader)
            tried.refused.append(f"{rewriter.name}:{verdict.reason}")
            asked = _next(asked, rewriter, rewrite, _complaint(verdict))
    last = tried.refused[-1].partition(":")[2] if tried.refused else Reason.NO_REWRITER
    if last == Reason.NO_FRAME and (note := note_of_doubt(request)) is not None:
        text = (
            with_note(request.draft, note.text)
            if "\n" in request.draft.strip()
            else f"{request.draft.rstrip()} {note.text}"
        )
        return Rewording(text, "hedged", None, None, "closing", tuple(tried.refused), note.beta, tried.usage)
    return await tried.left_alone(request, "unhedged", last, reader)


async def _noted(request: RewriteRequest, reader: Reader | None) -> Rewording:
    """The draft with a note at its end, before its farewell."""
    body, farewell = without_farewell(request.draft)
    noted = await append_confidence_sentence(replace(request, draft=body), reader)
    return replace(noted, text=noted.text + farewell)


async def _perceived(request: RewriteRequest, text: str, reader: Reader | None) -> Beta | None:
    """The perceived confidence of a text; None without a reader or anything to read."""
    if reader is None:
        return None
    if len(text) < LONG:
        return reader(text, request.language)
    return await compute(reader, text, request.language)


async def _accepted(
    request: RewriteRequest, rewrite: Rewrite, name: str, tried: _Attempts, reader: Reader | None
) -> Rewording:
    perceived = await _perceived(request, rewrite.text, reader)
    return Rewording(rewrite.text, "hedged", None, rewrite.hedge, name, tuple(tried.refused), perceived, tried.usage)


def _complaint(verdict: Verdict) -> str:
    """What an editor is told of its refused attempt: the reason, and the words at fault."""
    reason = (verdict.detail or verdict.reason or "refused").rstrip(".")
    return f"{reason} ({verdict.words})" if verdict.words else reason


def _next(asked: RewriteRequest, rewriter: Rewriter, rewrite: Rewrite, complaint: str) -> RewriteRequest | None:
    """What the same rewriter is asked next: an editor the same with the complaint, once; the template another hedge."""
    if rewriter.name == "template":
        refused = asked.refused | {rewrite.hedge or "", NO_HEDGE}
        return replace(asked, refused=refused) if any(m.hedge.id not in refused for m in asked.hedges) else None
    return replace(asked, complaint=complaint) if asked.complaint is None else None
