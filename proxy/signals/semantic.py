"""Semantic signal: how many of the samples mean what the draft means."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.calibration import Beta
from hedgerow.proxy.clustering.agreement import agreement
from hedgerow.proxy.computing import compute
from hedgerow.proxy.types import Clustering, Sample
from hedgerow.proxy.upstreams.asking import RouteContext, SignalFactory

SENTENCE_WORDS = 8
"""An answer of more words is a sentence, and what it says is graded."""


class SemanticSignal:
    """Beta(agreeing samples, number of the others), floored (RALC 4.3).

    Short answers agree with those of their cluster. Deviates from the paper where the draft or another answer is a full sentence: a partition by
    meaning breaks sentences apart that say the same of what was asked and differ in detail. An answer of another cluster then counts by the
    probability that it says what the draft says, unless the partition is final.
    """

    name = "semantic"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Count the samples that agree with the draft against the rest; sentences are compared in a worker thread."""
        draft = samples[clustering.draft_index].text
        apart = [samples[i].text for cluster in clustering.clusters[1:] for i in cluster]
        sentences = apart if is_sentence(draft) else [text for text in apart if is_sentence(text)]
        if clustering.is_final or not sentences:
            return share(clustering)
        agreeing = len(clustering.largest) + sum(await compute(agreement, question, draft, sentences))
        return Beta.floored(agreeing, len(samples) - agreeing)


def is_sentence(answer: str) -> bool:
    """Whether an answer has more words than a short one."""
    return len(answer[:1000].split(None, SENTENCE_WORDS)) > SENTENCE_WORDS


def share(clustering: Clustering) -> Beta:
    """Beta of the largest cluster's count and the count of everything else."""
    largest = len(clustering.largest)
    total = sum(len(cluster) for cluster in clustering.clusters)
    return Beta.floored(largest, total - largest)


def build(_context: RouteContext) -> SignalFactory:
    """One for all requests."""
    signal = SemanticSignal()
    return lambda _asker, _spent: signal
