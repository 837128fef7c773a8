"""Long answers: a confidence for each sentence, and the wording of each at its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import anyio.to_thread

from hedgerow.calibration import ActiveMap, Beta
from hedgerow.lexicon import Match, Retriever
from hedgerow.proxy.clustering.support import SentenceSupport
from hedgerow.proxy.rewriting import FactGuard, TemplateRewriter, asserting, assertions, reword_sentences
from hedgerow.proxy.types import Rewording


@dataclass(frozen=True, slots=True)
class LongAnswerPipeline:
    """What long answers go through in place of signal, map and rewriter of the short ones.

    Attributes:
        minimum: sentences of running text that assert something, from which an answer is long.
        support: how far the other answers bear out a sentence.
        active_map: the calibration map for a model, fitted for the signal of long answers.
        k: hedges retrieved for a sentence.
    """

    minimum: int
    support: SentenceSupport
    active_map: Callable[[str], ActiveMap]
    retriever: Retriever
    k: int
    template: TemplateRewriter
    guard: FactGuard

    async def measure(self, question: str, draft: str, others: Sequence[str]) -> tuple[Beta | None, ...] | None:
        """Raw confidence in each sentence, one observation an answer; None for one that asserts nothing. None at all for a short answer.

        Raises:
            StepFailed: there is no other answer, or a judge could not be asked.
        """
        found = await anyio.to_thread.run_sync(self._asserting, question, draft)
        if found is None:
            return None
        scores = await self.support.measure(question, draft, others)
        told = zip(found, scores, strict=True)
        return tuple(Beta.from_mean(score, len(others)) if asserts else None for asserts, score in told)

    def _asserting(self, question: str, draft: str) -> tuple[bool, ...] | None:
        if assertions(draft, question) < self.minimum:
            return None
        return asserting(draft, question)

    async def reword(
        self, question: str, draft: str, targets: Sequence[Beta | None], avoid: Collection[str]
    ) -> Rewording:
        """Word each sentence at its calibrated confidence, in a worker thread."""

        def nearest(target: Beta, said: Collection[str]) -> tuple[Match, ...]:
            return self.retriever.nearest(target, self.k, avoid={*said, *avoid})

        work = partial(reword_sentences, nearest=nearest, template=self.template, guard=self.guard)
        return await anyio.to_thread.run_sync(work, question, draft, targets)


def whole(sentences: Sequence[Beta | None]) -> Beta:
    """The confidence in an answer from those in its sentences: their mean, with the concentration that they share."""
    told = [beta for beta in sentences if beta is not None]
    return Beta.from_mean(fmean(beta.mean for beta in told), told[0].concentration)
