"""A short answer: one confidence, one wording."""

from __future__ import annotations

from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.steps import RoutePipeline, calibrated, decide, retrieve
from hedgerow.proxy.rewriting import append_confidence_sentence, reword
from hedgerow.proxy.types import Clustering, RewriteRequest


async def hedge_short(
    run: Run, pipeline: RoutePipeline, clustering: Clustering, draft: str, *, may_replace: bool
) -> None:
    """Confidence, calibrate, decide, retrieve, rewrite. Where the draft is being read already, a sentence is added to it.

    Raises:
        StepFailed: a step could not be done.
    """
    job, drawn = run.job, run.result.drawn
    with run.step("confidence"):
        signal = pipeline.signal(job, run.spend)
        raw = await signal.measure(job.question, [drawn.samples[i] for i in drawn.compared], clustering)

    with run.step("calibrate"):
        confidence = calibrated(job.route.signal, raw, pipeline.active_map(job.model))
        run.learn(confidence=confidence)

    with run.step("decide"):
        if not await decide(run, pipeline, confidence.calibrated.mean, may_replace=may_replace):
            return

    with run.step("retrieve"):
        hedges = retrieve(run, pipeline.retriever, confidence.calibrated)
        run.learn(hedges=hedges)

    with run.step("rewrite"):
        request = RewriteRequest(job.question, draft, confidence.calibrated, hedges)
        if may_replace:
            rewording = await reword(request, rewriters=pipeline.rewriters(job), guard=pipeline.guard)
        else:
            rewording = await append_confidence_sentence(request)
        run.reworded(rewording)
