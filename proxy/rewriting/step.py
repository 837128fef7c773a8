"""The rewriting step: tries each rewriter, checks the result, and leaves the draft unchanged if all are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ...calibration import Beta
from ...lexicon import NO_HEDGE
from ...lexicon.text.language import known_language_of
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason
from ..protocols import Guard, Rewriter
from ..types import Rewording, Rewrite, RewriteRequest, Usage, Verdict
from .frames import LOW, is_plain
from .guard import LONG, Reader, perceived_confidence
from .long import note_on_list, with_note, without_farewell
from .stream import append_confidence_sentence, note_of_doubt

BASELINES = frozenset({"direct_beta", "hedged_qa"})
"""The baselines of the paper's experiments: they reword every answer themselves, at any confidence."""
NOTHING_TO_HEDGE = frozenset({Reason.NO_ASSERTION})
"""Reasons to leave the draft unchanged that do not count as failures."""


@dataclass(slots=True)
class _Attempts:
    """The refused attempts and the tokens spent."""

    refused: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    async def left_alone(
        self, request: RewriteRequest, status: Literal["plain", "unhedged"], reason: str, reader: Reader | None
    ) -> Rewording:
        """The result with the draft unchanged."""
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
    """Reword the draft to its confidence.

    Rewriters are tried in order: an editor gets one more try with the guard's complaint, the template one more with
    each other hedge. If all are refused, the draft stays unchanged as "unhedged". If the nearest hedge is none, it
    stays unchanged as "plain", with the author's own words of doubt: removing them would turn a guess into a fact.

    At low confidence no hedge is inserted and a note is added instead; also after a list that is in doubt. The
    baselines reword everything. `usage` includes refused attempts.
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
    """The draft with a note at its end, before any farewell."""
    body, farewell = without_farewell(request.draft)
    noted = await append_confidence_sentence(replace(request, draft=body), reader)
    return replace(noted, text=noted.text + farewell)


async def _perceived(request: RewriteRequest, text: str, reader: Reader | None) -> Beta | None:
    """The perceived confidence of a text; None without a reader or where there is nothing to read."""
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
    """The message to an editor about its refused attempt: the reason, and the words at fault."""
    reason = (verdict.detail or verdict.reason or "refused").rstrip(".")
    return f"{reason} ({verdict.words})" if verdict.words else reason


def _next(asked: RewriteRequest, rewriter: Rewriter, rewrite: Rewrite, complaint: str) -> RewriteRequest | None:
    """The next request to the same rewriter, or None.

    An editor gets the same request with the complaint, once; the template gets it without the refused hedge.
    """
    if rewriter.name == "template":
        refused = asked.refused | {rewrite.hedge or "", NO_HEDGE}
        return replace(asked, refused=refused) if any(m.hedge.id not in refused for m in asked.hedges) else None
    return replace(asked, complaint=complaint) if asked.complaint is None else None
