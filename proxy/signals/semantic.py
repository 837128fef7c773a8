"""Semantic signal: how many of the samples mean what the draft means."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.calibration import Beta
from hedgerow.proxy.clustering.support import agreement_with
from hedgerow.proxy.computing import compute
from hedgerow.proxy.types import Clustering, Sample
from hedgerow.proxy.upstreams.asking import RouteContext, SignalFactory

SENTENCE_WORDS = 8
"""A draft of more words is a sentence, and its agreement is graded; chosen on full-sentence answers (docs/evidence/long.md)."""


class SemanticSignal:
    """Beta(agreeing samples, number of the others), floored (RALC 4.3).

    A short answer agrees with those of its cluster. Deviates from the paper where the draft is a full sentence with a name or a number: a partition by meaning
    breaks sentences apart that say the same of what was asked and differ in detail, so that each other sample counts by the share of the
    draft's names and numbers that it holds.
    """

    name = "semantic"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Count the samples that agree with the draft against the rest; sentences are compared in a worker thread."""
        draft = samples[clustering.draft_index].text
        if len(draft[:1000].split()) <= SENTENCE_WORDS:
            return share(clustering)
        others = [sample.text for i, sample in enumerate(samples) if i != clustering.draft_index]
        agreement = await compute(agreement_with, question, draft, others)
        if agreement is None:
            return share(clustering)
        agreeing = 1.0 + sum(agreement)
        return Beta.floored(agreeing, len(samples) - agreeing)


def share(clustering: Clustering) -> Beta:
    """Beta of the largest cluster's count and the count of everything else."""
    largest = len(clustering.largest)
    total = sum(len(cluster) for cluster in clustering.clusters)
    return Beta.floored(largest, total - largest)


def build(_context: RouteContext) -> SignalFactory:
    """One for all requests."""
    signal = SemanticSignal()
    return lambda _asker, _spent: signal
