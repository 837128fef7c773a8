"""The semantic and the token signal as RALC 4.3 defines them."""

from __future__ import annotations

from math import exp, log

import anyio
import pytest

from calibration import Beta
from proxy.errors import StepFailed
from proxy.signals.semantic import SemanticSignal
from proxy.signals.token import TokenSignal
from proxy.values import Clustering, Sample


def _measure(signal, samples, clustering) -> Beta:
    return anyio.run(signal.measure, "q", samples, clustering)


def test_semantic_counts_the_largest_cluster():
    """Seven of ten agree: Beta(7, 3)."""
    clustering = Clustering((tuple(range(7)), (7, 8), (9,)))
    assert _measure(SemanticSignal(), [Sample("x")] * 10, clustering) == Beta(7, 3)


def test_unanimous_samples_are_floored_not_refused():
    """All agree: beta is the floor of RALC A.1.1, 1e-6."""
    assert _measure(SemanticSignal(), [Sample("x")] * 3, Clustering(((0, 1, 2),))) == Beta(3, 1e-6)


def test_token_reads_the_largest_cluster_only():
    """Samples outside the largest cluster do not count; two equal scores are two observations."""
    samples = [
        Sample("x", logprob_mean=log(0.8)),
        Sample("y", logprob_mean=log(0.1)),
        Sample("x", logprob_mean=log(0.8)),
    ]
    beta = _measure(TokenSignal(), samples, Clustering(((0, 2), (1,))))
    assert (beta.alpha, beta.beta) == pytest.approx((1.6, 0.4))


def test_equally_probable_samples_count_one_each():
    """Three samples of probability .7: rounding in their mean must not pass for a tiny variance and a huge concentration."""
    samples = [Sample("x", logprob_mean=log(0.7))] * 3
    beta = _measure(TokenSignal(), samples, Clustering(((0, 1, 2),)))
    assert (beta.alpha, beta.beta) == pytest.approx((2.1, 0.9))


def test_no_logprobs_is_named():
    """An upstream without log-probabilities fails the step with a reason of its own."""
    with pytest.raises(StepFailed) as caught:
        _measure(TokenSignal(), [Sample("x")], Clustering(((0,),)))
    assert caught.value.reason == "no_logprobs"


@pytest.mark.parametrize("mean", [float("nan"), 0.5])
def test_impossible_logprobs_are_refused(mean):
    """A log-probability above 0 or not a number is no probability."""
    with pytest.raises(StepFailed) as caught:
        _measure(TokenSignal(), [Sample("x", logprob_mean=mean)], Clustering(((0,),)))
    assert caught.value.reason == "bad_logprobs"


def test_rounding_above_zero_is_certainty():
    """Some runtimes report 1e-9 for a certain token; that is probability 1, within rounding."""
    beta = _measure(TokenSignal(), [Sample("x", logprob_mean=1e-9)], Clustering(((0,),)))
    assert beta.mean == pytest.approx(1.0, abs=1e-5)
    assert exp(1e-9) > 1
