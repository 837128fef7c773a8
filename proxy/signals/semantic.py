"""Semantic signal: how many of the samples mean what the draft means."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.calibration import Beta
from hedgerow.proxy.clustering.agreement import agreeing, any_sentence
from hedgerow.proxy.clustering.declining import declines
from hedgerow.proxy.computing import compute
from hedgerow.proxy.types import Clustering, Sample
from hedgerow.proxy.upstreams.asking import RouteContext, SignalFactory


class SemanticSignal:
    """Beta(agreeing samples, number of the others), floored (RALC 4.3).

    Short answers agree with those of their cluster. Deviates from the paper where the draft or another answer is a full sentence: a partition by
    meaning breaks sentences apart that say the same of what was asked and differ in detail. An answer of another cluster then counts by the mean
    probability that it says what the answers of the draft's cluster say, unless the partition is final. A draft that gives no answer is no right
    one, however many of the others give none either, and an answer that gives none bears none out ("No." and "No information is available").
    """

    name = "semantic"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Count the samples that agree with the draft's group against the rest; sentences are compared in a worker thread."""
        if declines(samples[clustering.draft_index].text):
            return Beta.floored(0, len(samples))
        if clustering.is_final:
            return share(clustering)
        group, *others = [[samples[i].text for i in cluster] for cluster in clustering.clusters]
        apart = [text for cluster in others for text in cluster]
        given = [text for text in group if not declines(text)]
        agreed = float(len(given))
        if apart and any_sentence(question, (*given, *apart)):
            agreed += await compute(agreeing, question, given, apart)
        return Beta.floored(agreed, len(samples) - agreed)


def share(clustering: Clustering) -> Beta:
    """Beta of the largest cluster's count and the count of everything else."""
    largest = len(clustering.largest)
    total = sum(len(cluster) for cluster in clustering.clusters)
    return Beta.floored(largest, total - largest)


def build(_context: RouteContext) -> SignalFactory:
    """One for all requests."""
    signal = SemanticSignal()
    return lambda _asker, _spent: signal
