"""Draw answers in batches until more of them would hardly change the confidence.

The model of the largest cluster's count is beta-binomial. The prior on its share is uniform, or shifted towards the probability that the
upstream gave to the cluster's likeliest wording. The counts so far give the distribution of the share after the whole budget. Sampling
stops once the calibrated mean of that share stays within `tolerance` of its present value with the wanted probability.

Between batches the answers are grouped by rules alone, whatever the route's judge: a judge called after every batch would cost more
than it saves.

Long answers are never the same, so their clusters have no meaning. Their measure, how far the others support each claim, hardly changes
beyond six others (docs/evidence/long.md): they are drawn up to `LONG_SAMPLES`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma

import structlog

from ....calibration import Beta
from ....lexicon.reading.local import read
from ...clustering.clusterer import Comparisons
from ...computing import compute
from ...config import Sampling
from ...errors import ProxyError
from ...types import Sample
from ..claims import claims_if_long, may_be_long
from ..job import Job
from ..result import Drawn

log = structlog.get_logger(__name__)

CalibratedMean = Callable[[Beta], float]
BATCH = 3
"""Answers drawn at a time."""
PRIOR_WEIGHT = 4.0
"""Weight, in samples, of an answer's own probability as evidence on its cluster's share (docs/evidence.md: chosen on half of gemma2)."""
LONG_SAMPLES = 7
"""Most samples of a long answer: on the mean of seven sets, AUROC and Brier score of its claims are within .001 of those with ten samples
(docs/evidence/long.md)."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """Parameters of early stopping.

    Attributes:
        budget: maximum number of samples for one question.
        first: number of samples before the first decision.
        batch: number of samples between two decisions.
        tolerance: largest further change of the calibrated mean that counts as none, in probability.
        probability: required probability that the mean stays within the tolerance.
    """

    budget: int
    first: int = 3
    batch: int = 1
    tolerance: float = 0.2
    probability: float = 0.95

    def __post_init__(self) -> None:
        if not (1 <= self.first <= self.budget and self.batch >= 1):
            raise ValueError(f"a rule draws 1 <= first <= budget and batch >= 1, got {self}")
        if not (0.0 <= self.tolerance <= 1.0 and 0.0 < self.probability <= 1.0):
            raise ValueError(f"tolerance is in [0, 1] and probability in (0, 1], got {self}")


def samples_wanted(
    rule: StoppingRule, largest: int, drawn: int, calibrated_mean: CalibratedMean, likelihood: float | None = None
) -> int:
    """How many more samples to draw now; 0 = stop.

    Args:
        rule: budget, batches and tolerance.
        largest: size of the largest cluster so far.
        drawn: samples so far.
        calibrated_mean: mean after the route's map of a raw Beta (the identity map: `lambda beta: beta.mean`).
        likelihood: probability, in [0, 1], of the likeliest wording in the largest cluster; None if the upstream gives none. It is low for
            answers that are worded differently every time: then more samples are drawn before a large share counts as settled.
    """
    if likelihood is not None and not 0.0 <= likelihood <= 1.0:
        raise ValueError(f"likelihood is in [0, 1], got {likelihood}")
    if not 0 <= largest <= drawn:
        raise ValueError(f"largest must be in 0..drawn, got {largest} of {drawn}")
    left = rule.budget - drawn
    if drawn < rule.first:
        return min(rule.first - drawn, left)
    if left <= 0 or settled(rule, largest, drawn, calibrated_mean, likelihood):
        return 0
    return min(rule.batch, left)


def settled(
    rule: StoppingRule, largest: int, drawn: int, calibrated_mean: CalibratedMean, likelihood: float | None = None
) -> bool:
    """Whether the rest of the budget would leave the calibrated mean within the tolerance with the required probability."""
    now = calibrated_mean(Beta.floored(largest, drawn - largest))
    left = rule.budget - drawn
    a, b = largest + 1.0, drawn - largest + 1.0
    if likelihood is not None:
        likelihood = round(likelihood, 2)  # so that the cache of `_beta_binomial` has few entries
        a, b = a + PRIOR_WEIGHT * likelihood, b + PRIOR_WEIGHT * (1.0 - likelihood)
    inside = 0.0
    for more, chance in enumerate(_beta_binomial(left, a, b)):
        end = calibrated_mean(Beta.floored(largest + more, rule.budget - largest - more))
        inside += chance if abs(end - now) <= rule.tolerance else 0.0
    return inside >= rule.probability


@lru_cache(maxsize=4096)
def _beta_binomial(left: int, a: float, b: float) -> tuple[float, ...]:
    """Probability of each number, 0 to `left`, of further agreeing samples if the share is distributed as Beta(a, b)."""
    start = lgamma(left + 1) + lgamma(a + b) - lgamma(a) - lgamma(b) - lgamma(a + b + left)
    return tuple(
        exp(start - lgamma(k + 1) - lgamma(left - k + 1) + lgamma(a + k) + lgamma(b + left - k))
        for k in range(left + 1)
    )


Wanted = Callable[[int, Sequence[Sample]], int]
"""(number of answers drawn, answers that agree with the draft) -> number of answers to draw now; 0 = stop."""


def until_settled(sampling: Sampling, calibrated_mean: CalibratedMean) -> Wanted:
    """The stopping rule of a route with early stopping."""
    rule = StoppingRule(sampling.n, first=min(max(sampling.min_n, BATCH), sampling.n), batch=BATCH)

    def wanted(drawn: int, agreeing: Sequence[Sample]) -> int:
        return samples_wanted(rule, len(agreeing), drawn, calibrated_mean, _likelihood(agreeing))

    return wanted


async def draw_in_batches(
    job: Job, more: Callable[[int], Awaitable[None]], drawn_so_far: Callable[[], Drawn], wanted: Wanted
) -> None:
    """Draw answers with `more` until `wanted` returns 0. An answer that did not arrive counts as drawn and agrees with none.

    Raises:
        ProxyError: no answer arrived. If a later batch fails, drawing stops.
    """

    def samples() -> list[Sample]:
        return [sample for sample in drawn_so_far().samples if sample.text.strip()]

    sampling = job.route.sampling
    comparisons = Comparisons(job.question)
    agreeing = samples()
    drawn = len(agreeing)
    is_long: bool | None = None

    def samples_left() -> int:
        if is_long:
            return max(0, min(BATCH, sampling.n - drawn, LONG_SAMPLES - drawn))
        return wanted(drawn, agreeing)

    while asked := samples_left():
        try:
            await more(asked)
        except ProxyError as failure:
            if not samples():
                raise
            log.warning("samples_lost", id=job.id, route=job.route.name, lost=asked, code=failure.code)
            return
        drawn += asked
        if is_long is None and (came := samples()):
            is_long = await compute(_is_long, job, came[0].text)
        agreeing = await _cluster(job, comparisons, samples())


def _is_long(job: Job, draft: str) -> bool:
    """Whether the route measures this answer claim by claim."""
    minimum = job.route.rewriting.by_sentence_from
    if minimum == 0 or job.route.sampling.probe == "short" or len(draft) > job.route.rewriting.max_chars:
        return False
    return may_be_long(draft, minimum) and claims_if_long(read(draft, job.question), minimum) is not None


async def _cluster(job: Job, comparisons: Comparisons, came: Sequence[Sample]) -> list[Sample]:
    """The cluster that holds the draft: the largest, or, beside short samples, that of the first answer."""
    if not came:
        return []
    clustering = await comparisons.cluster([sample.text for sample in came])
    chosen = clustering.largest
    if job.route.sampling.probe == "short":
        chosen = next(cluster for cluster in clustering.clusters if 0 in cluster)
    return [came[i] for i in chosen]


def _likelihood(cluster: Sequence[Sample]) -> float | None:
    """Probability of the likeliest wording; None if the upstream did not give log-probabilities of all tokens."""
    known = [s.logprob_sum for s in cluster if s.logprob_sum is not None and not s.logprob_truncated]
    return exp(max(known)) if known else None
