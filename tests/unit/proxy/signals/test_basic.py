"""The semantic and the token signal as RALC 4.3 defines them."""

from __future__ import annotations

from math import exp, log

import anyio
import pytest

from hedgerow.calibration import Beta
from hedgerow.proxy.errors import StepFailed
from hedgerow.proxy.signals.semantic import SemanticSignal
from hedgerow.proxy.signals.token import TokenSignal
from hedgerow.proxy.types import Clustering, Sample
from tests.support.tables import cases


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


def test_moments_by_hand():
    """Scores .6, .8: mean .7, variance .02, so concentration is .21 / .02 - 1 = 9.5 (worked by hand)."""
    samples = [Sample("x", logprob_mean=log(0.6)), Sample("x", logprob_mean=log(0.8))]
    beta = _measure(TokenSignal(), samples, Clustering(((0, 1),)))
    assert (beta.alpha, beta.beta) == pytest.approx((6.65, 2.85))


@cases("last", [-0.1, -0.1 - 3e-17])
def test_scores_equal_within_rounding_are_counted(last):
    """Seven equal scores are seven observations; the rounding of their mean or of their logarithms is not spread."""
    samples = [Sample("x", logprob_mean=-0.1)] * 6 + [Sample("x", logprob_mean=last)]
    beta = _measure(TokenSignal(), samples, Clustering((tuple(range(7)),)))
    assert beta.concentration == pytest.approx(7.0)
    assert beta.mean == pytest.approx(exp(-0.1))


def test_no_logprobs_is_named():
    """An upstream without log-probabilities fails the step with a reason of its own."""
    with pytest.raises(StepFailed) as caught:
        _measure(TokenSignal(), [Sample("x")], Clustering(((0,),)))
    assert caught.value.reason == "no_logprobs"


@cases("mean", [float("nan"), 0.5])
def test_impossible_logprobs_are_refused(mean):
    """A log-probability above 0 or not a number is refused."""
    with pytest.raises(StepFailed) as caught:
        _measure(TokenSignal(), [Sample("x", logprob_mean=mean)], Clustering(((0,),)))
    assert caught.value.reason == "no_logprobs"


def test_rounding_above_zero_is_certainty():
    """Some runtimes report 1e-9 for a certain token; that is probability 1, within rounding."""
    beta = _measure(TokenSignal(), [Sample("x", logprob_mean=1e-9)], Clustering(((0,),)))
    assert beta.mean == pytest.approx(1.0, abs=1e-5)
    assert exp(1e-9) > 1


def test_sentences_agree_by_what_answers_the_question() -> None:
    """Three sentences that name one man in other words and details count for one another; a fourth that names another man does not."""
    texts = (
        "Mickey Mouse was first drawn by Ub Iwerks, an animator at the studio.",
        "It was Ub Iwerks who first drew the famous mouse, although Disney had the idea and gave it a voice.",
        "The animator Ub Iwerks drew the first version of the mouse for the company.",
        "The first drawings of the character were made by a young artist named Floyd Gottfredson.",
    )
    samples = [Sample(text) for text in texts]
    clustering = Clustering(((0,), (1,), (2,), (3,)))
    raw = anyio.run(SemanticSignal().measure, "Who first drew Mickey Mouse?", samples, clustering)
    alone = anyio.run(
        SemanticSignal().measure, "Who first drew Mickey Mouse?", samples, Clustering(((3,), (0,), (1,), (2,)))
    )
    assert raw.concentration == pytest.approx(4.0)
    assert alone.mean < 0.4 < 0.5 < raw.mean < 0.75


def test_a_group_by_the_rules_counts_whole_and_short_answers_of_others_not_at_all() -> None:
    """A sentence in another group may say the same; a short answer there is told apart by the rules for good."""
    texts = ("Ub Iwerks", "Iwerks", "It was the animator Ub Iwerks who first drew the famous mouse.", "Ub")
    raw = anyio.run(
        SemanticSignal().measure,
        "Who first drew Mickey Mouse?",
        [Sample(text) for text in texts],
        Clustering(((0, 1), (2,), (3,))),
    )
    assert 2.5 < raw.alpha < 3.0


def test_a_draft_that_gives_no_answer_is_no_right_one() -> None:
    """However many of the others give none either: they bear out nothing that could be right."""
    samples = [
        Sample("I couldn't find any information on Jimmie Ross."),
        Sample("I'm not aware of a musician of that name."),
        Sample("Edwyn Collins played the bass guitar."),
    ]
    assert _measure(SemanticSignal(), samples, Clustering(((0, 1), (2,)))) == Beta(1e-6, 3)
    assert _measure(SemanticSignal(), samples, Clustering(((2,), (0, 1)))).alpha >= 1


def test_an_answer_that_gives_none_bears_out_no_draft_of_its_group() -> None:
    """By the rules "No." and "No information is available" begin alike."""
    samples = [Sample("No."), Sample("No."), Sample("No information is available.")]
    assert _measure(SemanticSignal(), samples, Clustering(((0, 1, 2),))) == Beta(2, 1)
