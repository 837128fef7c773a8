"""Word an answer at its confidence. Every reworded text is made here: the pipeline passes the confidence that it measured, `hedgerow rewrite`
one that it was given.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ...calibration import Beta
from ...lexicon import Match
from ...lexicon.text.language import known_language_of
from ..computing import compute
from ..outcomes import Reason, Status, Uncovered
from ..rewriting import Reader, append_confidence_sentence, reword, reword_sentences
from ..types import Promised, Rewording, RewriteRequest, Standing
from .editing import claims_to_word, edited, keeping
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
        sentences: one a sentence (None: the sentence is not hedged); None if they are not known.
        is_given: whether the confidence of a long answer is known although those of its sentences are not.
    """

    confidence: Confidence
    long: LongAnswerPipeline | None = None
    sentences: tuple[Beta | None, ...] | None = None
    is_given: bool = False


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
    """Decide, and word the answer by the editor or locally, with or without a valid certificate."""
    job, long = run.job, measured.long
    is_unmeasured = long is not None and measured.sentences is None
    if is_unmeasured and (wording.editor is None or not measured.is_given):
        return run.end(Status.PLAIN, Reason.NOT_MEASURED)

    with run.step("decide"):
        if (reason := left_alone(run, may_replace=may_replace)) is not None:
            return run.end(Status.PLAIN, reason)
        ruling = rule(standing, job.route.promises, measured.confidence.calibrated.mean, wording.decide)
        target = worded_at(standing, measured.confidence, job.route.rewriting.word_at)
        if not await decide(run, wording, ruling.action, may_replace=may_replace):
            return None

    request = RewriteRequest(
        job.question,
        draft,
        target,
        (),
        language=run.result.language,
        must_hedge=ruling.must_hedge,
        said=ending(job.last_answer),
    )
    with run.step("rewrite"):
        claims = claims_to_word(run, draft, measured.sentences or ())
        tried = await edited(job, wording, request, claims, may_replace=may_replace)
    if tried.rewording is not None:
        run.learn(hedges=tried.hedges)
        return run.reworded(tried.rewording)
    with keeping(run, tried):
        if is_unmeasured:
            return run.end(Status.PLAIN, Reason.NOT_MEASURED)
        return await _worded_locally(run, wording, measured, request, may_replace=may_replace)


async def _worded_locally(
    run: Run, wording: RouteWording, measured: Measured, request: RewriteRequest, *, may_replace: bool
) -> None:
    """Retrieve, rewrite, by rules."""
    if request.language not in run.job.route.rewriting.languages:
        return run.end(Status.UNHEDGED, Reason.UNKNOWN_LANGUAGE)

    with run.step("retrieve"):
        look_up = retrieve_words if request.must_hedge else retrieve
        hedges = look_up(run, (measured.long or wording).retriever, request.target)
        run.learn(hedges=hedges)

    await wording.turns.wait()
    with run.step("rewrite"):
        request = replace(request, hedges=hedges)
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
        rewording = await reworded(long, job.question, request.draft, measured.sentences, job.last_answer, cells)
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
) -> Rewording:
    """Word each sentence at its calibrated confidence, in a worker thread. Hedges of the conversation's last answer are not repeated."""
    avoid = hedges_in(last_answer)

    def nearest(target: Beta, used: Collection[str]) -> tuple[Match, ...]:
        return long.retriever.nearest(target, long.k, draft, {*used, *avoid})

    work = partial(reword_sentences, nearest=nearest, template=long.template, guard=long.guard, cells=cells)
    return await compute(partial(work, said=ending(last_answer)), question, draft, targets)
