"""Consistency signal: how far the other samples support the sentences of the draft."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...calibration import Beta
from ..clustering.support import SentenceSupport, beta_of
from ..types import Clustering, Sample
from ..upstreams.asking import RouteContext, SignalFactory


class ConsistencySignal:
    """Mean support of the draft's sentences by the other samples; each sample counts as `WORTH` observations."""

    name = "consistency"

    def __init__(self, support: SentenceSupport | None = None) -> None:
        self._support = support or SentenceSupport()

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Compare every sentence of the draft with every other sample.

        Raises:
            StepFailed: `too_few_samples` if there is only one sample.
        """
        draft = clustering.draft_index
        others = [sample.text for i, sample in enumerate(samples) if i != draft and sample.text.strip()]
        scores = await self._support.measure(question, samples[draft].text, others)
        return beta_of(fmean(scores), len(others))


def build(_context: RouteContext) -> SignalFactory:
    """A function that returns the same signal for every request."""
    signal = ConsistencySignal()
    return lambda _asker, _spent: signal
