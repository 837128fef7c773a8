"""Drawing answers in batches until more of them would hardly move the confidence.

Between batches the answers are grouped by the rules alone, whatever the route's judge: the decision only has to be good enough to
save answers, and a judge asked after every batch would cost more than it saves.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from proxy.equivalence.rules import RuleEquivalence
from proxy.errors import ProxyError
from proxy.pipeline.job import Job
from proxy.stopping import CalibratedMean, StoppingRule, samples_wanted

log = structlog.get_logger(__name__)


async def draw_until_settled(
    job: Job,
    more: Callable[[int], Awaitable[None]],
    texts: Callable[[], Sequence[str]],
    calibrated_mean: CalibratedMean,
) -> None:
    """Draw with `more`; `texts` gives what has come so far. An answer that was asked for and did not come agrees with none.

    Raises:
        ProxyError: no answer came at all. A later batch that fails ends the drawing.
    """
    sampling = job.route.sampling
    first = min(max(sampling.min_n, sampling.batch), sampling.n)
    rule = StoppingRule(sampling.n, first=first, batch=sampling.batch, tolerance=sampling.tolerance)
    drawn = largest = len(texts())
    while wanted := samples_wanted(rule, largest, drawn, calibrated_mean):
        try:
            await more(wanted)
        except ProxyError as failure:
            if not texts():
                raise
            log.warning("samples_lost", route=job.route.name, lost=wanted, code=failure.code)
            return
        drawn += wanted
        came = texts()
        largest = len((await RuleEquivalence().cluster(job.question, came)).largest) if came else 0
