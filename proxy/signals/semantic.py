"""Semantic signal: how many of the samples mean the same as the draft."""

from __future__ import annotations

from collections.abc import Sequence

from ...calibration import Beta
from ..clustering.agreement import agreeing, is_sentence
from ..clustering.declining import declines
from ..computing import compute
from ..types import Clustering, Sample
from ..upstreams.asking import RouteContext, SignalFactory


class SemanticSignal:
    """Beta(number of agreeing samples, number of the others), floored (RALC 4.3).

    Short answers agree with the answers of their cluster. Deviates from the paper where the draft or another answer is
    a full sentence: clustering separates sentences that give the same answer but differ in detail. Then an answer of
    another cluster counts by the mean probability that it says the same as the answers of the draft's cluster, unless
    the partition is final.

    Non-answers ("No information is available"): a draft that gives no answer is not right, however many samples give
    none, and a sample that gives no answer supports nothing.
    """

    name = "semantic"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Count the samples that agree with the draft against the rest; sentences are compared in a worker thread."""
        if declines(samples[clustering.draft_index].text):
            return Beta.floored(0, len(samples))
        if clustering.is_final:
            return share(clustering)
        group, *others = [[samples[i].text for i in cluster] for cluster in clustering.clusters]
        other_texts = [text for cluster in others for text in cluster]
        answering = [text for text in group if not declines(text)]
        agreed = float(len(answering))
        if other_texts and any(map(is_sentence, (*answering, *other_texts))):
            agreed += await compute(agreeing, question, answering, other_texts)
        return Beta.floored(agreed, len(samples) - agreed)


def share(clustering: Clustering) -> Beta:
    """Beta of the largest cluster's count and the count of everything else."""
    largest = len(clustering.largest)
    total = sum(len(cluster) for cluster in clustering.clusters)
    return Beta.floored(largest, total - largest)


def build(_context: RouteContext) -> SignalFactory:
    """A function that returns the same signal for every request."""
    signal = SemanticSignal()
    return lambda _asker, _spent: signal
