"""Drawing answers in batches until more of them would hardly move the confidence.

Between batches the answers are grouped by the rules alone, whatever the route's judge: the decision only has to be good enough to
save answers, and a judge asked after every batch would cost more than it saves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from math import exp

import structlog

from hedgerow.proxy.clustering.clusterer import Comparisons
from hedgerow.proxy.errors import ProxyError
from hedgerow.proxy.pipeline.job import Job
from hedgerow.proxy.pipeline.sampling.stopping import CalibratedMean, StoppingRule, samples_wanted
from hedgerow.proxy.types import Sample

log = structlog.get_logger(__name__)


async def draw_until_settled(
    job: Job,
    more: Callable[[int], Awaitable[None]],
    samples: Callable[[], Sequence[Sample]],
    calibrated_mean: CalibratedMean,
) -> None:
    """Draw with `more`; `samples` gives what has come so far with text. An answer that was asked for and did not come agrees with none.

    Raises:
        ProxyError: no answer came at all. A later batch that fails ends the drawing.
    """
    sampling = job.route.sampling
    first = min(max(sampling.min_n, sampling.batch), sampling.n)
    rule = StoppingRule(sampling.n, first=first, batch=sampling.batch, tolerance=sampling.tolerance)
    comparisons = Comparisons(job.question)
    drawn = largest = len(samples())
    likelihood: float | None = None
    while wanted := samples_wanted(rule, largest, drawn, calibrated_mean, likelihood):
        try:
            await more(wanted)
        except ProxyError as failure:
            if not samples():
                raise
            log.warning("samples_lost", route=job.route.name, lost=wanted, code=failure.code)
            return
        drawn += wanted
        cluster = await _cluster(job, comparisons, samples())
        largest, likelihood = len(cluster), _likelihood(cluster)


async def _cluster(job: Job, comparisons: Comparisons, came: Sequence[Sample]) -> list[Sample]:
    """What the confidence will be in: the largest cluster, or that of a draft drawn for itself, which came first."""
    if not came:
        return []
    clustering = await comparisons.cluster([sample.text for sample in came])
    chosen = clustering.largest
    if job.route.sampling.probe == "short":
        chosen = next(cluster for cluster in clustering.clusters if 0 in cluster)
    return [came[i] for i in chosen]


def _likelihood(cluster: Sequence[Sample]) -> float | None:
    """Probability of the likeliest wording, where the upstream gave whole probabilities."""
    known = [s.logprob_sum for s in cluster if s.logprob_sum is not None and not s.logprob_truncated]
    return exp(max(known)) if known else None
