"""A judge of undecided pairs by entailment in both directions, with a sentence-transformers cross-encoder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from ..computing import compute
from ..outcomes import Reason
from ..upstreams.asking import ClustererFactory, RouteContext
from .clusterer import Pair, judged
from .loading import Lazy, cross_encoder
from .rules import Judgement

MAX_CHARS = 4096
"""Number of characters of an answer passed to the tokenizer, which itself cuts at about 512 tokens."""


class NliJudge:
    """Two answers mean the same if each entails the other, both preceded by their question.

    Args:
        model: a cross-encoder's name or folder, with a label called "entailment". Loaded on first use.
        budget_s: time for one question; pairs beyond it stay undecided and are counted as "judge_late".
        batch: sequences per call of the model.
    """

    name = "nli"

    def __init__(self, model: str, *, budget_s: float = 2.0, batch: int = 16) -> None:
        self._loaded = Lazy(partial(cross_encoder, model, ("entailment",), "cluster", Reason.NO_JUDGE))
        self._budget_s = budget_s
        self._batch = batch

    async def judge(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Read the pairs in a worker thread."""
        return await compute(self.read, question, answers, pairs)

    def read(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Blocking version of `judge`."""
        model, labels = self._loaded()
        deadline = time.monotonic() + self._budget_s
        texts = [f"{question} {answer[:MAX_CHARS]}" for answer in answers]
        judgements: list[Judgement] = []
        step = max(1, self._batch // 2)
        for at in range(0, len(pairs), step):
            if time.monotonic() > deadline:
                break
            both_ways = [(texts[x], texts[y]) for a, b in pairs[at : at + step] for x, y in ((a, b), (b, a))]
            predicted = model.predict(both_ways, batch_size=self._batch, show_progress_bar=False).argmax(axis=1)
            entailed = (predicted == labels["entailment"]).reshape(-1, 2).all(axis=1)
            judgements += [Judgement(bool(same), self.name, 0.8) for same in entailed]
        return judgements + [Judgement(None, "judge_late")] * (len(pairs) - len(judgements))


def build(context: RouteContext) -> ClustererFactory:
    """A function that makes the judge with the cross-encoder named in `judge.model`."""
    settings = context.route.judge
    return judged(NliJudge(settings.model or "", budget_s=settings.budget_s), context)
