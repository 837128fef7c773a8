"""Semantic signal: how many of the samples mean what the draft means."""

from __future__ import annotations

from collections.abc import Sequence

from hedgerow.calibration import Beta
from hedgerow.proxy.types import Clustering, Sample


class SemanticSignal:
    """Beta(size of the largest cluster, number of the other samples), floored (RALC 4.3)."""

    name = "semantic"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Count the largest cluster against the rest."""
        return share(clustering)


def share(clustering: Clustering) -> Beta:
    """Beta of the largest cluster's count and the count of everything else."""
    largest = len(clustering.largest)
    total = sum(len(cluster) for cluster in clustering.clusters)
    return Beta.floored(largest, total - largest)
