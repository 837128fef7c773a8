"""When to stop drawing samples: a pure decision from the counts so far.

The largest cluster's count is read as draws from an urn with a prior on its share (beta-binomial): uniform, or leaning to the probability
that the upstream gave to the cluster's likeliest wording. From the counts so far follows the distribution of the share after the whole
budget; sampling stops once that share, through the calibration map, stays within a tolerance of where it stands now with the
wanted probability.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma

from hedgerow.calibration import Beta

CalibratedMean = Callable[[Beta], float]
PRIOR_WEIGHT = 4.0
"""Samples that an answer's own probability is worth as evidence on its cluster's share (docs/evidence.md: chosen on half of gemma2)."""


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """How sampling ends early.

    Attributes:
        budget: most samples for one question.
        first: samples drawn before the first decision.
        batch: samples drawn between two decisions.
        tolerance: how far the calibrated mean may still move, in probability.
        probability: how sure the rule must be that it will not move further.
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
        likelihood: probability, in [0, 1], of the likeliest wording in the largest cluster; None where the upstream gives none. Answers that
            are worded anew every time have low ones: more samples are then drawn before a large share counts as settled.
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
    """Whether the rest of the budget would move the calibrated mean by more than the tolerance too rarely to matter."""
    now = calibrated_mean(Beta.floored(largest, drawn - largest))
    left = rule.budget - drawn
    a, b = largest + 1.0, drawn - largest + 1.0
    if likelihood is not None:
        likelihood = round(likelihood, 2)  # so that few urns are worked out
        a, b = a + PRIOR_WEIGHT * likelihood, b + PRIOR_WEIGHT * (1.0 - likelihood)
    inside = 0.0
    for more, chance in enumerate(_beta_binomial(left, a, b)):
        end = calibrated_mean(Beta.floored(largest + more, rule.budget - largest - more))
        inside += chance if abs(end - now) <= rule.tolerance else 0.0
    return inside >= rule.probability


@lru_cache(maxsize=4096)
def _beta_binomial(left: int, a: float, b: float) -> tuple[float, ...]:
    """Probability of each count of further agreeing samples, where the share is distributed as Beta(a, b)."""
    start = lgamma(left + 1) + lgamma(a + b) - lgamma(a) - lgamma(b) - lgamma(a + b + left)
    return tuple(
        exp(start - lgamma(k + 1) - lgamma(left - k + 1) + lgamma(a + k) + lgamma(b + left - k))
        for k in range(left + 1)
    )
