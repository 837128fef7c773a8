"""Ask a route's editor for the marks of an answer, before the local way words it. One call, only if something must be marked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ...calibration import Beta
from ...lexicon import NO_HEDGE, LexiconError, Match, Retriever, load, offered, spot
from ...lexicon.reading.reading import Act, Reading
from ...lexicon.text.language import known
from ...lexicon.text.sentences import spans as spans_of
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason, Status
from ..rewriting import Reader
from ..rewriting.editor import Marks
from ..rewriting.editor_prompt import Rated, Task
from ..rewriting.edits import Edit
from ..rewriting.local import worded_sentences
from ..rewriting.policy import BANDS, Claimed, band_of, is_unmarked
from ..rewriting.wordings import RETRIEVED, SPEAKERS
from ..types import EDITOR, NO_TOKENS, Rewording, Rewrite, RewriteRequest, Usage
from .job import Job, last_messages
from .result import Run
from .steps import RouteWording

LAST_ANSWERS = 3
"""Answers of the conversation whose words of doubt the editor is told."""
_READ_OF_AN_ANSWER = 500, 300
"""Characters at the beginning and at the end of each that are searched for them."""
INSTRUCTING: frozenset[Act] = frozenset({"advises", "instructs", "asks"})
"""Acts of sentences that no editor may change."""
_SHARE_OF_TIME = 0.8
"""Share of the time left until the route's deadline that an editor may take."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of asking an editor.

    Attributes:
        rewording: the answer as the editor would have it, checked; None if the local way is to word it.
        refused: the reason, if the editor was asked in vain.
        hedges: what it was offered.
    """

    rewording: Rewording | None = None
    refused: str | None = None
    usage: Usage = NO_TOKENS
    hedges: tuple[Match, ...] = ()


NOT_ASKED = Tried()


def claimed(run: Run, draft: str, sentences: Sequence[Beta | None]) -> tuple[Claimed, ...]:
    """The claims as they were measured; else one a sentence, for each sentence that has a confidence."""
    if run.result.claims:
        return tuple(
            Claimed(
                c.start, c.end, c.calibrated, "" if c.sentence is not None else c.context.partition(",")[0], c.asked
            )
            for c in run.result.claims
        )
    spans = spans_of(draft)
    return tuple(Claimed(*spans[index], beta) for index, beta in enumerate(sentences) if beta is not None)


async def edited(
    job: Job,
    wording: RouteWording,
    request: RewriteRequest,
    reading: Reading,
    claims: Sequence[Claimed] = (),
    *,
    may_replace: bool = True,
) -> Tried:
    """The answer as the route's editor words it, if it has one that can be relied on, and the guard agrees."""
    editor = wording.editor
    if editor is None or not editor.admits(job):
        return NOT_ASKED
    betas = [request.target, *(claim.beta for claim in claims)]
    lowest = min(betas, key=lambda beta: beta.mean)
    if lowest.mean >= BANDS["plain"] and not request.must_hedge:
        perceived = await _read(wording.reader, request.draft, request.language)
        return Tried(Rewording(request.draft, "plain", Reason.NO_HEDGE_NEEDED, NO_HEDGE, None, perceived=perceived))
    task = await compute(_task, job, wording, request, claims, may_replace)
    left_s = job.route.deadline_s - (time.perf_counter() - job.started)
    try:
        marks, usage = await editor.edit(job, task, _SHARE_OF_TIME * left_s)
    except StepFailed as failure:
        return Tried(None, failure.reason, failure.usage or NO_TOKENS)
    if any(_instructs(reading, edit) for edit in marks.edits):
        return Tried(None, Reason.HEDGED_NO_CLAIM, usage)
    if marks.edits or marks.note:
        request = replace(request, target=lowest, hedges=task.hedges)
        return replace(await _guarded(wording, request, reading, marks, usage, claims), hedges=task.hedges)
    return await _left(wording, request, marks, usage)


def _instructs(reading: Reading, edit: Edit) -> bool:
    """Whether an edit changes a sentence that tells the reader what to do, or asks: these stay as firm as they are."""
    changed = [sentence for sentence in reading.sentences if sentence.covers(edit.start, edit.end + 1)]
    return any(sentence.act in INSTRUCTING and is_unmarked(sentence) for sentence in changed)


def _task(
    job: Job, wording: RouteWording, request: RewriteRequest, claims: Sequence[Claimed], may_replace: bool
) -> Task:
    low = [claim.beta for claim in claims if claim.beta.mean < BANDS["plain"]] or [request.target]
    one_a_band = {band_of(beta.mean): beta for beta in sorted(low, key=lambda beta: -beta.mean)}
    hedges = {
        match.hedge.id: match
        for beta in reversed(one_a_band.values())
        for match in hedges_for(job, wording, request.language, beta)
        if not match.hedge.is_plain
    }
    spans = spans_of(request.draft)
    return Task(
        request.question,
        request.draft,
        spans,
        request.target.mean,
        tuple(_rated(claim, request.draft, spans) for claim in claims),
        tuple(hedges.values()),
        words_of_doubt(last_messages(job.chat, "assistant", LAST_ANSWERS)),
        "impersonal" if job.route.rewriting.voice == "impersonal" else "first person",
        may_replace,
    )


def _rated(claim: Claimed, draft: str, spans: Sequence[tuple[int, int]]) -> Rated:
    sentence = next((i for i, (start, end) in enumerate(spans) if start <= claim.start < end), None)
    return Rated(draft[claim.start : claim.end], sentence, claim.beta.mean, claim.asked)


def hedges_for(job: Job, wording: RouteWording, language: str | None, target: Beta) -> tuple[Match, ...]:
    """The k hedges nearest to a confidence: of the answer's language where it has a lexicon, else the English ones, which show the strength."""
    k = RETRIEVED
    if language in known() and language != "en":
        return Retriever(offered(load(language=language), voices=SPEAKERS["auto"]), None).nearest(target, k)
    return wording.retriever.nearest(target, k)


def words_of_doubt(answers: Sequence[str]) -> tuple[str, ...]:
    """The hedges in answers, each once."""
    first, last = _READ_OF_AN_ANSWER
    parts = (text if len(text) <= first + last else f"{text[:first]}\n\n{text[-last:]}" for text in answers)
    try:
        return tuple(dict.fromkeys(span.text for part in parts for span in spot(part) if span.kind == "hedge"))
    except LexiconError:
        return ()


async def _left(wording: RouteWording, request: RewriteRequest, marks: Marks, usage: Usage) -> Tried:
    """The answer without marks, unless it must have one or would go out sounding sure at low confidence."""
    perceived = await _read(wording.reader, request.draft, request.language)
    sounds_sure = perceived is not None and perceived.mean >= BANDS["plain"]
    if request.must_hedge or (marks.claims and sounds_sure and request.target.mean <= BANDS["light"]):
        return Tried(None, Reason.NO_HEDGE_CHOSEN, usage)
    reason = Reason.NO_HEDGE_CHOSEN if marks.claims else Reason.NO_ASSERTION
    return Tried(Rewording(request.draft, "plain", reason, None, EDITOR, perceived=perceived, usage=usage))


async def _guarded(
    wording: RouteWording,
    request: RewriteRequest,
    reading: Reading,
    marks: Marks,
    usage: Usage,
    claims: Sequence[Claimed],
) -> Tried:
    """The answer with its marks, if the guard accepts them."""
    text, shift = marks.on(reading)
    verdict = await wording.guard.check(request, Rewrite(text, marks.hedge, usage), reading)
    if not verdict.accepted:
        return Tried(None, verdict.reason, usage)
    everywhere = worded_sentences(reading, marks.edits, shift, [Claimed(0, len(reading.text), request.target)])
    marked = " ".join(text[each.start : each.end] for each in everywhere if each.status == "hedged")
    perceived = await _read(wording.reader, marks.note.text if marks.note else marked, request.language)
    sentences = worded_sentences(reading, marks.edits, shift, claims)
    return Tried(Rewording(text, "hedged", None, marks.hedge, EDITOR, (), perceived, usage, sentences))


async def _read(reader: Reader, text: str, language: str | None) -> Beta | None:
    """The perceived confidence of a text."""
    return await compute(reader, text, language)


@contextmanager
def keeping(run: Run, tried: Tried) -> Iterator[None]:
    """Around the local way: what the editor was asked in vain stays in the result, with its tokens, whatever comes of the rest."""
    try:
        yield
    finally:
        if tried.refused is not None:
            done = run.result.rewording
            if done is None:  # the local way left the answer as it is, or failed
                is_plain = run.result.status == Status.PLAIN
                done = Rewording(
                    run.result.draft or "", "plain" if is_plain else "unhedged", run.result.reason, None, None
                )
            attempts = (f"{EDITOR}:{tried.refused}", *done.attempts)
            run.learn(rewording=replace(done, attempts=attempts, usage=tried.usage + done.usage))
