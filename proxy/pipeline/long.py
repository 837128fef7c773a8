"""A long answer: a confidence for each sentence, and the wording of each at its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from statistics import fmean

import anyio.to_thread

from hedgerow.calibration import Beta
from hedgerow.lexicon import Match
from hedgerow.proxy.outcomes import Reason, Status
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.steps import (
    LONG_SIGNAL,
    LongAnswerPipeline,
    RoutePipeline,
    calibrated,
    decide,
    hedges_in,
    retrieve,
)
from hedgerow.proxy.rewriting import append_confidence_sentence, asserting, assertions, reword_sentences
from hedgerow.proxy.types import Clustering, Rewording, RewriteRequest


async def asserting_sentences(long: LongAnswerPipeline, question: str, draft: str) -> tuple[bool, ...] | None:
    """Which sentences of a long draft assert something; None for a short draft."""

    def read() -> tuple[bool, ...] | None:
        return asserting(draft, question) if assertions(draft, question) >= long.minimum else None

    return await anyio.to_thread.run_sync(read)


async def hedge_long(
    run: Run,
    pipeline: RoutePipeline,
    long: LongAnswerPipeline,
    clustering: Clustering,
    draft: str,
    asserts: Sequence[bool],
    *,
    may_replace: bool,
) -> None:
    """The steps of `hedge_short`, with a confidence for each sentence that asserts something.

    Raises:
        StepFailed: a step could not be done; the first of them, where no other answer came.
    """
    job = run.job
    with run.step("confidence"):
        texts = run.result.drawn.texts
        others = [text for i, text in enumerate(texts) if i != clustering.draft_index and text.strip()]
        support = await long.support.measure(job.question, draft, others)
        sentences = [
            Beta.from_mean(share, len(others)) if claims else None
            for claims, share in zip(asserts, support, strict=True)
        ]

    with run.step("calibrate"):
        active = long.active_map(job.model)
        confidence = calibrated(LONG_SIGNAL, overall(sentences), active)
        run.learn(confidence=confidence)
        targets = [None if raw is None else active.map.apply(raw) for raw in sentences]
    if active.version is None and not job.route.rewriting.hedge_uncalibrated_sentences:
        run.end(Status.PLAIN, Reason.NOT_MEASURED)
        return

    with run.step("decide"):
        if not await decide(run, pipeline, confidence.calibrated.mean, may_replace=may_replace):
            return

    with run.step("retrieve"):
        hedges = retrieve(run, long.retriever, confidence.calibrated)
        run.learn(hedges=hedges)

    with run.step("rewrite"):
        if may_replace:
            avoid = hedges_in(job.last_answer)
            rewording = await reworded(long, job.question, draft, targets, avoid)
        else:
            rewording = await append_confidence_sentence(
                RewriteRequest(job.question, draft, confidence.calibrated, hedges)
            )
        run.reworded(rewording)


async def reworded(
    long: LongAnswerPipeline, question: str, draft: str, targets: Sequence[Beta | None], avoid: Collection[str]
) -> Rewording:
    """Each sentence at its calibrated confidence, in a worker thread."""

    def nearest(target: Beta, used: Collection[str]) -> tuple[Match, ...]:
        return long.retriever.nearest(target, long.k, avoid={*used, *avoid})

    work = partial(reword_sentences, nearest=nearest, template=long.template, guard=long.guard)
    return await anyio.to_thread.run_sync(work, question, draft, targets)


def overall(sentences: Sequence[Beta | None]) -> Beta:
    """The confidence in an answer from those in its sentences: their mean, with the concentration that they share."""
    known = [beta for beta in sentences if beta is not None]
    return Beta.from_mean(fmean(beta.mean for beta in known), known[0].concentration)
