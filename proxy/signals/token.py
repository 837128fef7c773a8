"""Token signal: how probable the upstream itself found the words of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

from hedgerow.calibration import Beta
from hedgerow.calibration.scores import fit_moments
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.outcomes import Reason
from hedgerow.proxy.types import Clustering, Sample
from hedgerow.proxy.upstreams.asking import RouteContext, SignalFactory

ROUNDING = 1e-3
"""Runtimes that sum in half precision report certain tokens slightly above 0."""


class TokenSignal:
    """Beta by moments over the length-normalised probability of each sample of the largest cluster (RALC 4.3).

    Log-probabilities of a top-k or top-p truncated distribution are too high for what was left out; they are used, and
    `Sample.logprob_truncated` lets the audit row say so. A map fitted on one kind does not fit the other.
    """

    name = "token"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Score the samples of the largest cluster that carry log-probabilities.

        Raises:
            StepFailed: `no_logprobs` where none of them does, `bad_logprobs` where one is above 0 or not a number.
        """
        given = [samples[i].logprob_mean for i in clustering.largest]
        means = [mean for mean in given if mean is not None]
        if not means:
            raise StepFailed("signal", Reason.NO_LOGPROBS, "the upstream gave no token log-probabilities")
        return fit_moments([_probability(mean) for mean in means])


def _probability(logprob: float) -> float:
    """The probability behind a log-probability; what rounding lifted above 0 counts as 0."""
    if not logprob <= ROUNDING:
        raise StepFailed(
            "signal", Reason.BAD_LOGPROBS, f"a mean log-probability of {logprob} is not a log-probability (at most 0)"
        )
    return exp(min(logprob, 0.0))


def build(_context: RouteContext) -> SignalFactory:
    """One for all requests."""
    signal = TokenSignal()
    return lambda _asker, _spent: signal
