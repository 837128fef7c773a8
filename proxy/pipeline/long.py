"""A long answer: a confidence for each sentence."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import anyio.to_thread

from hedgerow.calibration import Beta
from hedgerow.proxy.pipeline.result import Run
from hedgerow.proxy.pipeline.steps import LONG_SIGNAL, LongAnswerPipeline, calibrated
from hedgerow.proxy.pipeline.wording import Measured
from hedgerow.proxy.rewriting import asserting, assertions
from hedgerow.proxy.types import Clustering


async def asserting_sentences(long: LongAnswerPipeline, question: str, draft: str) -> tuple[bool, ...] | None:
    """Which sentences of a long draft assert something; None for a short draft."""

    def read() -> tuple[bool, ...] | None:
        return asserting(draft, question) if assertions(draft, question) >= long.minimum else None

    return await anyio.to_thread.run_sync(read)


async def measure_long(
    run: Run, long: LongAnswerPipeline, clustering: Clustering, draft: str, asserts: Sequence[bool]
) -> Measured:
    """The confidence in each sentence that asserts something, and in the answer: their mean. Without a map for the signal of long answers the
    sentences stay unmeasured, but where the route wants them hedged all the same.
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
        targets = tuple(None if raw is None else active.map.apply(raw) for raw in sentences)
    is_known = active.version is not None or job.route.rewriting.hedge_uncalibrated_sentences
    return Measured(confidence, long, targets if is_known else None)


def overall(sentences: Sequence[Beta | None]) -> Beta:
    """The confidence in an answer from those in its sentences: their mean, with the concentration that they share."""
    known = [beta for beta in sentences if beta is not None]
    return Beta.from_mean(fmean(beta.mean for beta in known), known[0].concentration)
