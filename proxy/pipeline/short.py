"""The way of one request, from top to bottom. This is the method; read it first.

    sample -> cluster -> confidence -> calibrate -> decide -> retrieve -> rewrite (with its guard)

Every step takes values and gives values; only `Flow` here holds them all. A step that fails leaves the plain draft, marked: never an
unchecked rewrite, never a made-up confidence. Where not even a draft could be drawn, the upstream's error is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import structlog

from hedgerow.calibration import Beta
from hedgerow.lexicon import spot
from hedgerow.proxy.errors import HedgerowError, Internal, ProxyError, StepFailed, UpstreamTimeout
from hedgerow.proxy.pipeline.eligibility import answer_reason, draft_reason
from hedgerow.proxy.pipeline.job import AppliedMap, Flow, Job, Status
from hedgerow.proxy.pipeline.long import whole
from hedgerow.proxy.pipeline.question_filter import comparable
from hedgerow.proxy.pipeline.sampling.step import draw_answers
from hedgerow.proxy.pipeline.steps import RoutePipeline
from hedgerow.proxy.protocols import Call, Clusterer
from hedgerow.proxy.rewriting import close, reword
from hedgerow.proxy.types import Clustering, Json, RewriteRequest

log = structlog.get_logger(__name__)

LAST_ANSWER_CHARS = 500
"""How much of the last answer is searched for its hedge: it stands near the beginning."""


async def calibrate(job: Job, steps: RoutePipeline, flow: Flow, serving: Awaitable[Json] | None = None) -> None:
    """Answer a job; what became of it stands in `flow`.

    `serving` is the completion that the client is reading already (`stream: append`), once it has come to its end. It is the draft, and
    one of the answers that are compared; the confidence is that of its cluster, and it is reworded by a closing sentence.

    Raises:
        ProxyError: no answer could be drawn at all; `flow` says so too.
    """
    try:
        async with asyncio.timeout(job.route.deadline_s):
            await _run(job, steps, flow, serving)
    except TimeoutError:
        _degrade(flow, "deadline", f"the deadline of {job.route.deadline_s:g} s passed")
    except StepFailed as failure:
        _degrade(flow, failure.reason, str(failure))
    except ProxyError as failure:
        _degrade(flow, failure.code, failure.message)
        if not flow.choices:
            raise
    if not flow.choices:
        if flow.reason == "deadline":
            raise UpstreamTimeout(f"no answer came within the deadline of {job.route.deadline_s:g} s")
        raise Internal("no answer could be drawn", code=flow.reason)


async def _run(job: Job, steps: RoutePipeline, flow: Flow, serving: Awaitable[Json] | None) -> None:
    with _step(flow, "sample"):
        await draw_answers(job, steps, flow, serving)
    if (reason := answer_reason(flow.samples, [choice for _, choice in flow.choices])) is not None:
        return _stand(flow, "passed", reason)
    if any(len(flow.samples[i].text) > job.route.rewriting.max_chars for i in flow.compared):
        return _stand(flow, "passed", "too_long")
    if (drawn_apart := serving is not None or job.route.sampling.probe == "short") and 0 not in flow.compared:
        return _stand(flow, "passed", "no_text")

    with _step(flow, "cluster"):
        texts = [flow.samples[i].text for i in flow.compared]
        flow.clustering = await _cluster(job, steps.equivalence(job, flow.spent), texts, flow)
        if serving is not None:
            flow.served_agrees = 0 in flow.clustering.largest
        if drawn_apart:
            flow.clustering = _first_first(flow.clustering)
        else:
            flow.clustering = _complete_first(flow.clustering, flow)
    if (reason := draft_reason(flow.samples[flow.compared[flow.clustering.draft_index]])) is not None:
        return _stand(flow, "passed", reason)
    if job.route.claims_only and not comparable(texts, _largest_of_wholes(job, steps, flow.clustering)):
        return _stand(flow, "passed", "not_a_claim")

    with _step(flow, "confidence"):
        flow.sentences = await _sentences(job, steps, flow)
        if flow.sentences is not None:
            flow.raw = whole(flow.sentences)
        else:
            compared = [flow.samples[i] for i in flow.compared]
            flow.raw = await steps.signal(job, flow.spent).measure(job.question, compared, flow.clustering)

    with _step(flow, "calibrate"):
        by_sentence = steps.by_sentence if flow.sentences is not None else None
        active = (by_sentence or steps).active_map(job.model)
        flow.applied = AppliedMap(active.version, active.warnings)
        flow.calibrated = active.map.apply(flow.raw)

    with _step(flow, "decide"):
        action = steps.decide(flow.calibrated.mean)
        if action == "answer":
            return _stand(flow, "plain", "sure_enough")
        if action == "abstain" and serving is None:
            return _stand(flow, "abstained", "not_sure_enough")
        if action == "escalate" and serving is None:
            flow.escalated = await _escalate(job, steps)
            return _stand(flow, "escalated", "not_sure_enough")

    with _step(flow, "retrieve"):
        flow.matches = steps.retriever.nearest(
            flow.calibrated, job.route.rewriting.k, avoid=_said_before(job.last_answer)
        )

    with _step(flow, "rewrite"):
        request = RewriteRequest(job.question, flow.draft, flow.calibrated, flow.matches)
        if serving is not None:
            flow.rewording = await close(request)
        elif by_sentence is not None and flow.sentences is not None:
            targets = [None if raw is None else active.map.apply(raw) for raw in flow.sentences]
            avoid = _said_before(job.last_answer)
            flow.rewording = await by_sentence.reword(job.question, flow.draft, targets, avoid)
        else:
            flow.rewording = await reword(request, rewriters=steps.rewriters(job), guard=steps.guard)
    flow.status, flow.reason = flow.rewording.status, flow.rewording.reason
    return None


def _first_first(clustering: Clustering) -> Clustering:
    """The same partition with the first answer's cluster before the others: the confidence is in what the client reads."""
    clusters = sorted(clustering.clusters, key=lambda cluster: 0 not in cluster)
    return Clustering(tuple(clusters), clustering.decided_by, draft=0)


def _complete_first(clustering: Clustering, flow: Flow) -> Clustering:
    """The same partition, with a draft that came to its end where the largest cluster has one and the chosen draft was cut off."""

    def is_cut_off(index: int) -> bool:
        return flow.samples[flow.compared[index]].finish_reason == "length"

    if not is_cut_off(clustering.draft_index):
        return clustering
    complete = next((i for i in clustering.largest if not is_cut_off(i)), None)
    return clustering if complete is None else replace(clustering, draft=complete)


def _largest_of_wholes(job: Job, steps: RoutePipeline, clustering: Clustering) -> int | None:
    """Size of the largest cluster; None where the answers are compared sentence by sentence and not as wholes."""
    by_sentence = job.route.signal == "consistency" or steps.by_sentence is not None
    return None if by_sentence else len(clustering.largest)


async def _cluster(job: Job, equivalence: Clusterer, texts: Sequence[str], flow: Flow) -> Clustering:
    """Group the answers by meaning. In shadow the answer that was served is compared along, but counts in no cluster.

    Raises:
        StepFailed: too few answers have text.
    """
    if len(texts) < job.route.sampling.min_n:
        wanted = f"{len(texts)} of {job.route.sampling.n} answers have text; {job.route.sampling.min_n} are needed"
        raise StepFailed("sample", "too_few_samples", wanted)
    if flow.served is None:
        return await equivalence.cluster(job.question, texts)
    served = len(texts)
    whole = await equivalence.cluster(job.question, [*texts, flow.served])
    clusters = [tuple(i for i in cluster if i != served) for cluster in whole.clusters]
    ordered = sorted(filter(None, clusters), key=lambda cluster: (-len(cluster), cluster[0]))
    if job.route.sampling.probe == "short":
        ordered.sort(key=lambda cluster: 0 not in cluster)
    home = next(cluster for cluster in whole.clusters if served in cluster)
    flow.served_agrees = ordered[0][0] in home
    draft = whole.draft if whole.draft in ordered[0] else None
    return Clustering(tuple(ordered), whole.decided_by, draft)


async def _sentences(job: Job, steps: RoutePipeline, flow: Flow) -> tuple[Beta | None, ...] | None:
    """Raw confidence in each sentence of the draft, where it is long."""
    if steps.by_sentence is None or flow.clustering is None:
        return None
    draft = flow.clustering.draft_index
    others = [
        flow.samples[i].text for place, i in enumerate(flow.compared) if place != draft and flow.samples[i].text.strip()
    ]
    return await steps.by_sentence.measure(job.question, flow.draft, others)


def _said_before(answer: str) -> frozenset[str]:
    """Hedges of the last answer of the conversation; people hate to read the same phrase again."""
    return frozenset(span.hedge for span in spot(answer[:LAST_ANSWER_CHARS]) if span.hedge is not None)


async def _escalate(job: Job, steps: RoutePipeline) -> Json:
    """The stronger model's answer to the request as the client sent it.

    Raises:
        StepFailed: it could not be asked; the plain draft is better than nothing.
    """
    policy = job.route.policy
    assert policy is not None  # only a policy escalates  # noqa: S101
    assert steps.stronger is not None  # and only to an upstream that it names  # noqa: S101
    body = {key: value for key, value in job.body.items() if key not in ("stream", "stream_options")}
    if model := policy.escalate_model or job.model:
        body["model"] = model
    try:
        return await steps.stronger.complete(Call(job.path, body, job.headers))
    except ProxyError as error:
        raise StepFailed("decide", "escalation_failed", error.code) from error


def _stand(flow: Flow, status: Status, reason: str) -> None:
    """What stands is decided: nothing is reworded."""
    flow.status, flow.reason = status, reason


def _degrade(flow: Flow, reason: str, detail: str) -> None:
    """The draft stands because a step failed, if there is one."""
    flow.status = "degraded" if flow.choices else "failed"
    flow.reason, flow.detail = reason, detail


@contextmanager
def _step(flow: Flow, name: str) -> Iterator[None]:
    """Time a step, and turn a fault that it does not know itself into its failure.

    Raises:
        StepFailed: in place of an exception that is none of ours; the cause is logged in full.
    """
    with flow.step(name):
        try:
            yield
        except HedgerowError:
            raise
        except Exception as error:  # the one place where a step's own fault is caught
            log.exception("step_failed", step=name, id=flow.job.id)
            raise StepFailed(name, f"{name}_fault", type(error).__name__) from error
