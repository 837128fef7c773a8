"""The way of one request, from top to bottom. This is the method; read it first.

    sample -> cluster -> confidence -> calibrate -> retrieve -> rewrite (with its guard)

Every step takes values and gives values; only `Flow` here holds them all. A step that fails leaves the plain draft, marked: never an
unchecked rewrite, never a made-up confidence. Where not even a draft could be drawn, the upstream's error is the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from calibration import ActiveMap
from lexicon import Retriever
from proxy.errors import HedgerowError, Internal, ProxyError, StepFailed, UpstreamTimeout
from proxy.pipeline.adaptive import draw_until_settled
from proxy.pipeline.hedgeable import answer_reason, draft_reason, offers_tools
from proxy.pipeline.job import AppliedMap, Flow, Job
from proxy.pipeline.sampling import draw
from proxy.ports import ConfidenceSignal, Equivalence, Guard, Rewriter, Upstream
from proxy.rewriting import reword
from proxy.stopping import CalibratedMean
from proxy.upstreams.answers import sample_of, usage_of
from proxy.values import Clustering, Json, RewriteRequest, Usage

log = structlog.get_logger(__name__)


Spent = Callable[[Usage], None]
"""Told of tokens spent on comparing answers or on asking about them."""


@dataclass(frozen=True, slots=True)
class Steps:
    """What a route's requests go through; made once at the start by `build.py`.

    Attributes:
        equivalence, signal: made for one request; told of the tokens that they spend.
        active_map: the calibration map for a model, as the registry has it now.
        rewriters: makes the rewriters for one request, in the order they are tried.
        needs_logprobs: whether the signal asks the upstream for log-probabilities.
    """

    upstream: Upstream
    equivalence: Callable[[Job, Spent], Equivalence]
    signal: Callable[[Job, Spent], ConfidenceSignal]
    active_map: Callable[[str], ActiveMap]
    retriever: Retriever
    rewriters: Callable[[Job], Sequence[Rewriter]]
    guard: Guard
    needs_logprobs: bool = False


async def calibrate(job: Job, steps: Steps, flow: Flow) -> None:
    """Answer a job; what became of it stands in `flow`.

    Raises:
        ProxyError: no answer could be drawn at all; `flow` says so too.
    """
    try:
        async with asyncio.timeout(job.route.deadline_s):
            await _run(job, steps, flow)
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


async def _run(job: Job, steps: Steps, flow: Flow) -> None:
    with _step(flow, "sample"):
        await _sample(job, steps, flow)
    if (reason := answer_reason(flow.samples, [choice for _, choice in flow.choices])) is not None:
        return _pass(flow, reason)

    with _step(flow, "cluster"):
        texts = [flow.samples[i].text for i in flow.compared]
        flow.clustering = await _cluster(job, steps.equivalence(job, flow.spent), texts, flow)
    if (reason := draft_reason(flow.samples[flow.compared[flow.clustering.draft_index]])) is not None:
        return _pass(flow, reason)

    with _step(flow, "confidence"):
        compared = [flow.samples[i] for i in flow.compared]
        flow.raw = await steps.signal(job, flow.spent).measure(job.question, compared, flow.clustering)

    with _step(flow, "calibrate"):
        active = steps.active_map(job.model)
        flow.applied = AppliedMap(active.version, active.warnings)
        flow.calibrated = active.map.apply(flow.raw)

    with _step(flow, "retrieve"):
        flow.matches = steps.retriever.nearest(flow.calibrated, job.route.rewriting.k)

    with _step(flow, "rewrite"):
        request = RewriteRequest(job.question, flow.draft, flow.calibrated, flow.matches)
        flow.rewording = await reword(request, rewriters=steps.rewriters(job), guard=steps.guard)
    flow.status, flow.reason = flow.rewording.status, flow.rewording.reason
    return None


async def _sample(job: Job, steps: Steps, flow: Flow) -> None:
    """Draw the answers. Where tools are on offer one is drawn first: a tool call needs no others."""

    def arrived(answer: Json) -> None:
        usage = usage_of(answer)
        if flow.answers:
            flow.sample_usage += usage
        else:
            flow.answer_usage += usage
        flow.answers.append(answer)
        flow.choices.extend((answer, choice) for choice in answer["choices"])
        flow.samples = tuple(sample_of(choice) for _, choice in flow.choices)

    async def more(count: int) -> None:
        await draw(job, steps.upstream, count, arrived, logprobs=steps.needs_logprobs)

    n = job.route.sampling.n
    if offers_tools(job.body):
        await more(1)
        if answer_reason(flow.samples, [choice for _, choice in flow.choices]) is not None:
            return
        n -= 1
    if job.route.sampling.stop_early:
        await draw_until_settled(job, more, lambda: [s.text for s in flow.samples if s.text.strip()], _mean(job, steps))
    else:
        await more(n)
    flow.compared = tuple(i for i, sample in enumerate(flow.samples) if sample.text.strip() or sample.refusal)


def _mean(job: Job, steps: Steps) -> CalibratedMean:
    """What a share of agreeing answers comes to: through the map where the map is one of shares, else as it is."""
    if job.route.signal != "semantic":
        return lambda share: share.mean
    active = steps.active_map(job.model).map
    return lambda share: active.apply(share).mean


async def _cluster(job: Job, equivalence: Equivalence, texts: Sequence[str], flow: Flow) -> Clustering:
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
    home = next(cluster for cluster in whole.clusters if served in cluster)
    flow.served_agrees = ordered[0][0] in home
    draft = whole.draft if whole.draft in ordered[0] else None
    return Clustering(tuple(ordered), whole.decided_by, draft)


def _pass(flow: Flow, reason: str) -> None:
    """The draft stands as it is: this kind of answer is never rewritten."""
    flow.status, flow.reason = "passed", reason


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
