"""Requests for several choices, or with several prompts: the choices serve as samples. No others are drawn and nothing is reworded; each
choice gets a confidence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

from ...lexicon.reading.local import read
from ..computing import compute
from ..outcomes import Reason, Status
from ..types import Clustering, Json
from .claims import claims_if_long
from .eligibility import answer_reason, comparable
from .result import ChoiceConfidence, Confidence, Run
from .steps import RoutePipeline, calibrated, too_long


async def measure_choices(run: Run, pipeline: RoutePipeline, serving: Awaitable[Json] | None) -> None:
    """Make the client's own call, unless its answer is already being served, and measure its choices.

    Raises:
        ProxyError: the upstream did not answer.
        StepFailed: a step could not be done.
    """
    job = run.job
    with run.step("sample"):
        body = job.body | ({"model": job.route.model} if job.route.model else {})
        own = pipeline.upstream.complete(job.call(body)) if serving is None else asyncio.shield(serving)
        run.arrived(await own)
    drawn, questions = run.result.drawn, _questions(run)
    if (reason := answer_reason(drawn.samples, [choice for _, choice in drawn.choices])) is not None:
        return run.end(Status.PASSED, reason)
    if (reason := too_long(run)) is not None:
        return run.end(Status.PASSED, reason)
    each, left_over = divmod(len(drawn.samples), len(questions))
    if not left_over:
        for number, question in enumerate(questions):
            indices = [i for i in drawn.compared if i // each == number]
            await _measure(run, pipeline, question, indices, alone=len(questions) == 1)
    measured = bool(run.result.each)
    return run.end(Status.PLAIN if measured else Status.PASSED, Reason.SEVERAL_CHOICES)


def _questions(run: Run) -> list[str]:
    prompt = run.job.body.get("prompt")
    return prompt if isinstance(prompt, list) else [run.job.question]


async def _measure(run: Run, pipeline: RoutePipeline, question: str, indices: Sequence[int], *, alone: bool) -> None:
    """A confidence for each choice of one question; none if too few have text or they cannot be compared."""
    job, samples = run.job, [run.result.drawn.samples[i] for i in indices]
    texts = [sample.text for sample in samples]
    if len(texts) < job.route.sampling.min_n:
        return
    with run.step("cluster"):
        clustering = await pipeline.equivalence(job, run.spend).cluster(question, texts)
    if job.route.claims_only and not comparable(texts, len(clustering.largest)):
        return
    long = pipeline.by_sentence
    if long is not None and await compute(_is_long, texts[clustering.draft_index], question, long.minimum):
        return  # no two long answers are the same: their agreement has no meaning
    measured: list[tuple[tuple[int, ...], Confidence]] = []
    with run.step("confidence"):
        signal = pipeline.signal(job, run.spend)
        placed = await pipeline.placer.placed(pipeline.active_map(job.answering_model), question)
        for cluster in clustering.clusters:
            others = (other for other in clustering.clusters if other is not cluster)
            raw = await signal.measure(question, samples, Clustering((cluster, *others)))
            measured.append((cluster, calibrated(job.route.signal, raw, placed.active, placed.place)))
    shown = {indices[i]: ChoiceConfidence(indices[i], c.calibrated, len(g)) for g, c in measured for i in g}
    run.learn(each=(*run.result.each, *(shown[i] for i in sorted(shown))))
    if alone:
        run.learn(clustering=clustering, confidence=measured[0][1])


def _is_long(draft: str, question: str, minimum: int) -> bool:
    return claims_if_long(read(draft, question), minimum) is not None
