"""Consistency signal: how far the other samples bear out each sentence of the draft."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import anyio.to_thread

from calibration import Beta
from proxy.equivalence.normal import Normal, normalise
from proxy.equivalence.rules import compare
from proxy.errors import StepFailed
from proxy.rewriting.sentences import sentences
from proxy.values import Clustering, Sample

SAYS, CANNOT_TELL, DENIES = 1.0, 0.5, 0.0


class ConsistencySignal:
    """Mean over the draft's sentences of their support among the other samples; each of these counts as one observation."""

    name = "consistency"

    async def measure(self, question: str, samples: Sequence[Sample], clustering: Clustering) -> Beta:
        """Compare every sentence of the draft with every other sample.

        Raises:
            StepFailed: `too_few_samples` where there is no other sample.
        """
        draft = clustering.draft_index
        others = [sample.text for i, sample in enumerate(samples) if i != draft and sample.text.strip()]
        if not others:
            raise StepFailed("signal", "too_few_samples", "the draft has no other sample to be compared with")
        scores = await anyio.to_thread.run_sync(sentence_support, question, samples[draft].text, others)
        return Beta.from_mean(fmean(scores), len(others))


def sentence_support(question: str, draft: str, others: Sequence[str]) -> list[float]:
    """Mean support of each sentence, in [0, 1]; a draft without sentences (a list of code, say) counts as one."""
    read = [[normalise(s, question) for s in _sentences(other)] for other in others]
    return [fmean(_support(normalise(sentence, question), other) for other in read) for sentence in _sentences(draft)]


def _sentences(text: str) -> tuple[str, ...]:
    return sentences(text) or (text,)


def _support(claim: Normal, other: Sequence[Normal]) -> float:
    """Whether a sample says, denies or does not speak of a sentence. Saying it once outweighs all else.

    A sentence that faces a contradiction is denied only where the two speak of the same thing: they share a word, or each is short.
    """
    called = [(compare(claim, sentence), sentence) for sentence in other]
    if any(judgement.same for judgement, _ in called):
        return SAYS
    denied = any(judgement.same is False and _same_subject(claim, sentence) for judgement, sentence in called)
    return DENIES if denied else CANNOT_TELL


def _same_subject(a: Normal, b: Normal) -> bool:
    short = max(len(a.content), len(b.content)) <= 3
    return short or not frozenset(a.content).isdisjoint(b.content)
