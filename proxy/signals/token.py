"""Token signal: how probable the model found the tokens of its own answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from ...calibration import Beta
from ...calibration.scores import fit_moments
from ..errors import StepFailed
from ..outcomes import Reason
from ..types import Clustering, Sample
from ..upstreams.asking import RouteContext, SignalFactory

ROUNDING = 1e-3
"""Runtimes that sum in half precision report log-probabilities slightly above 0 for certain tokens."""


class TokenSignal:
    """Beta by moments over the length-normalised probability of each sample of the largest cluster (RALC 4.3).

    Log-probabilities of a top-k or top-p truncated distribution are too high, since the excluded tokens have no share.
    They are used, and `Sample.logprob_truncated` records it in the audit row. A map fitted on one kind does not fit the
    other.
    """

    name = "token"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Score the samples of the largest cluster that have log-probabilities.

        Raises:
            StepFailed: `no_logprobs` if none has them, or one is above 0 or not a number.
        """
        scored = [samples[i].logprob_mean for i in clustering.largest]
        means = [mean for mean in scored if mean is not None]
        if not means:
            raise StepFailed("signal", Reason.NO_LOGPROBS, "the upstream gave no token log-probabilities")
        return fit_moments([_probability(mean) for mean in means])


def _probability(logprob: float) -> float:
    """The exponential of a log-probability; values that rounding put above 0 count as 0."""
    if not logprob <= ROUNDING:
        raise StepFailed(
            "signal", Reason.NO_LOGPROBS, f"a mean log-probability of {logprob} is not a log-probability (at most 0)"
        )
    return exp(min(logprob, 0.0))


def build(_context: RouteContext) -> SignalFactory:
    """A function that returns the same signal for every request."""
    signal = TokenSignal()
    return lambda _asker, _spent: signal
