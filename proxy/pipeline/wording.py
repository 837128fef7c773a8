"""From a confidence to words: the way of every answer, whoever measured it. The pipeline comes here with what it has measured, `hedgerow rewrite`
with a confidence that it was given; there is no other way to a reworded text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match
from hedgerow.proxy.outcomes import Reason, Status
from hedgerow.proxy.pipeline.result import Confidence, Run
from hedgerow.proxy.pipeline.steps import LongAnswerPipeline, RouteWording, decide, hedges_in, retrieve
from hedgerow.proxy.rewriting import append_confidence_sentence, reword, reword_sentences
from hedgerow.proxy.types import Rewording, RewriteRequest


@dataclass(frozen=True, slots=True)
class Measured:
    """How sure an answer is.

    Attributes:
        confidence: of the whole answer.
        long: what words it sentence by sentence; None where it is worded as one.
        sentences: of a long answer, one a sentence; None for a sentence leaves it alone, None for all: they are not known.
    """

    confidence: Confidence
    long: LongAnswerPipeline | None = None
    sentences: tuple[Beta | None, ...] | None = None


async def word(run: Run, wording: RouteWording, measured: Measured, draft: str, *, may_replace: bool) -> None:
    """Decide, retrieve, rewrite. Where the draft is being read already (`may_replace` is false), a sentence is added to it.

    Raises:
        StepFailed: a step could not be done.
    """
    job, target, long = run.job, measured.confidence.calibrated, measured.long
    run.learn(confidence=measured.confidence)
    if long is not None and measured.sentences is None:
        return run.end(Status.PLAIN, Reason.NOT_MEASURED)

    with run.step("decide"):
        if not await decide(run, wording, target.mean, may_replace=may_replace):
            return None

    with run.step("retrieve"):
        hedges = retrieve(run, (long or wording).retriever, target)
        run.learn(hedges=hedges)

    with run.step("rewrite"):
        request = RewriteRequest(job.question, draft, target, hedges)
        if not may_replace:
            rewording = await append_confidence_sentence(request)
        elif long is not None and measured.sentences is not None:
            cells = [(claim.end, claim.calibrated) for claim in run.result.claims if claim.sentence is None]
            rewording = await reworded(long, job.question, draft, measured.sentences, hedges_in(job.last_answer), cells)
        else:
            rewording = await reword(request, rewriters=wording.rewriters(job), guard=wording.guard)
        return run.reworded(rewording)


async def reworded(
    long: LongAnswerPipeline,
    question: str,
    draft: str,
    targets: Sequence[Beta | None],
    avoid: Collection[str],
    cells: Sequence[tuple[int, Beta]] = (),
) -> Rewording:
    """Each sentence at its calibrated confidence, in a worker thread."""

    def nearest(target: Beta, used: Collection[str]) -> tuple[Match, ...]:
        return long.retriever.nearest(target, long.k, draft, {*used, *avoid})

    work = partial(reword_sentences, nearest=nearest, template=long.template, guard=long.guard, cells=cells)
    return await anyio.to_thread.run_sync(work, question, draft, targets)
