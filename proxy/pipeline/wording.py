"""Word an answer at its confidence. Every reworded text is made here: the pipeline passes the confidence that it measured, `hedgerow rewrite`
one that it was given.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...calibration import Beta
from ...lexicon import Match
from ...lexicon.text.language import known_language_of
from ..computing import compute
from ..errors import StepFailed
from ..outcomes import Reason, Status, Uncovered
from ..rewriting import Reader, append_confidence_sentence, reword, reword_sentences, sentences
from ..rewriting.decider import Decider, Offer
from ..rewriting.frames import is_plain, nearest_foreign
from ..rewriting.long import MOST_HEDGES, Nearest, standing_low
from ..types import Placement, Promised, Rewording, RewriteRequest, Standing, Usage
from .promised import promised, rule, worded_at
from .result import Confidence, Run
from .steps import (
    LongAnswerPipeline,
    RouteWording,
    decide,
    ending,
    hedges_in,
    left_alone,
    retrieve,
    retrieve_words,
)

_LEFT_ALONE = frozenset({Reason.MACHINE_READ, Reason.LOGPROBS, Reason.CITATIONS, Reason.NOT_MEASURED})
"""Reasons to serve an answer unchanged before the decision step."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured confidence in an answer.

    Attributes:
        confidence: of the whole answer.
        long: the parts that word it sentence by sentence; None if it is worded like a short answer.
        sentences: of a long answer, one a sentence (None: the sentence is not hedged); None if they are not known.
    """

    confidence: Confidence
    long: LongAnswerPipeline | None = None
    sentences: tuple[Beta | None, ...] | None = None


async def word(run: Run, wording: RouteWording, measured: Measured, draft: str, *, may_replace: bool) -> None:
    """Decide, retrieve, rewrite. If the client is already reading the draft (`may_replace` is false), a sentence is added to it.

    Raises:
        StepFailed: a step could not be done.
    """
    confidence = measured.confidence
    language = known_language_of(draft, run.job.question)
    run.learn(confidence=confidence, language=language)
    standing = wording.standing(confidence.map_id, confidence.signal)
    if standing is not None:
        run.learn(promised=Promised(None, reason=standing.reason or Uncovered.FAILED, language=language))
    await _worded(run, wording, measured, draft, standing, may_replace=may_replace)
    if standing is not None:
        decided = run.result.reason not in _LEFT_ALONE
        run.learn(promised=promised(standing, run.result, language, decided=decided, may_replace=may_replace))


async def _worded(
    run: Run,
    wording: RouteWording,
    measured: Measured,
    draft: str,
    standing: Standing | None,
    *,
    may_replace: bool,
) -> None:
    """Decide, retrieve, rewrite, with or without a valid certificate."""
    job, long = run.job, measured.long
    if long is not None and measured.sentences is None:
        return run.end(Status.PLAIN, Reason.NOT_MEASURED)

    with run.step("decide"):
        if (reason := left_alone(run, may_replace=may_replace)) is not None:
            return run.end(Status.PLAIN, reason)
        ruling = rule(standing, job.route.promises, measured.confidence.calibrated.mean, wording.decide)
        target = worded_at(standing, measured.confidence, job.route.rewriting.word_at)
        if not await decide(run, wording, ruling.action, may_replace=may_replace):
            return None
    language = run.result.language
    if language not in job.route.rewriting.languages:
        return run.end(Status.UNHEDGED, Reason.UNKNOWN_LANGUAGE)

    with run.step("retrieve"):
        look_up = retrieve_words if ruling.must_hedge else retrieve
        hedges = look_up(run, (long or wording).retriever, target)
        run.learn(hedges=hedges)

    await wording.turns.wait()
    with run.step("rewrite"):
        request = RewriteRequest(
            job.question,
            draft,
            target,
            hedges,
            language=language,
            must_hedge=ruling.must_hedge,
            said=ending(job.last_answer),
        )
        return run.reworded(await _rewrite(run, wording, measured, request, may_replace=may_replace))


async def _rewrite(
    run: Run, wording: RouteWording, measured: Measured, request: RewriteRequest, *, may_replace: bool
) -> Rewording:
    """Reword the draft as one, sentence by sentence, or by a sentence after it. If a hedge is required and none fits, a sentence is added."""
    job, long = run.job, measured.long
    if not may_replace:
        rewording = await append_confidence_sentence(request, wording.reader)
    elif long is not None and measured.sentences is not None:
        cells = [(claim.end, claim.calibrated) for claim in run.result.claims if claim.sentence is None]
        decider = long.decider(job) if long.decider else None
        rewording = await reworded(
            long, job.question, request.draft, measured.sentences, job.last_answer, cells, decider
        )
    else:
        rewording = await reword(request, rewriters=wording.rewriters(job), guard=wording.guard, reader=wording.reader)
    if request.must_hedge and rewording.status != "hedged":
        return await add_closing_hedge(request, rewording, wording.reader)
    return rewording


async def add_closing_hedge(request: RewriteRequest, refused: Rewording, reader: Reader) -> Rewording:
    """Add a closing sentence because a hedge is required and none could be placed in the draft; the refusal is kept in `attempts`."""
    closed = await append_confidence_sentence(request, reader)
    if closed.status != "hedged":
        return refused
    tried = (*refused.attempts, *([f"rewrite:{refused.reason}"] if refused.reason and not refused.attempts else []))
    return replace(closed, attempts=tried, usage=refused.usage)


async def reworded(
    long: LongAnswerPipeline,
    question: str,
    draft: str,
    targets: Sequence[Beta | None],
    last_answer: str = "",
    cells: Sequence[tuple[int, Beta]] = (),
    decider: Decider | None = None,
) -> Rewording:
    """Word each sentence at its calibrated confidence, in a worker thread. An editor, if there is one, chooses claims and hedges. If its reply
    cannot be read, the rules choose, and `attempts` says so. Hedges of the conversation's last answer are not repeated.
    """
    avoid = hedges_in(last_answer)

    def nearest(target: Beta, used: Collection[str]) -> tuple[Match, ...]:
        return long.retriever.nearest(target, long.k, draft, {*used, *avoid})

    work = partial(reword_sentences, nearest=nearest, template=long.template, guard=long.guard, cells=cells)
    chosen, usage, refused = await _chosen(long, question, draft, targets, cells, nearest, decider)
    done = await compute(partial(work, decided=chosen, said=ending(last_answer)), question, draft, targets)
    rewriter = "decide" if chosen is not None and done.rewriter == "template" else done.rewriter
    return replace(done, rewriter=rewriter, usage=usage or done.usage, attempts=(*refused, *done.attempts))


async def _chosen(
    long: LongAnswerPipeline,
    question: str,
    draft: str,
    targets: Sequence[Beta | None],
    cells: Sequence[tuple[int, Beta]],
    nearest: Nearest,
    decider: Decider | None,
) -> tuple[Mapping[int, Placement] | None, Usage | None, tuple[str, ...]]:
    """The editor's choice, its token usage, and the reason if the choice cannot be used. It is called only if some sentence may need a hedge."""
    if decider is None:
        return None, None, ()
    low = await compute(standing_low, question, draft, targets, cells)
    if not low:
        return None, None, ()
    language = known_language_of(draft, question) or "en"

    def hedges(index: int, target: Beta | None) -> tuple[Match, ...]:
        if target is None or index not in low:
            return ()
        matches = nearest(target, ()) if language == "en" else nearest_foreign(language, target, long.k)
        return () if is_plain(target, matches) else tuple(match for match in matches if not match.hedge.is_plain)

    texts = sentences(draft)
    offers = [Offer(text, hedges(i, target)) for i, (text, target) in enumerate(zip(texts, targets, strict=True))]
    try:
        decided = await decider.decide(question, offers, most=MOST_HEDGES)
    except StepFailed as failure:
        return None, failure.usage, (f"decide:{failure.reason}",)
    return decided.placements, decided.usage, ()
