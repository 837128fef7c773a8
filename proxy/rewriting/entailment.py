"""Scores whether draft and rewrite entail each other, by the shipped judge or a sentence-transformers cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..clustering.loading import Lazy, cross_encoder
from ..clustering.local import ENTAILED, NEUTRAL, LocalJudge, reads
from ..outcomes import Reason

Pair = tuple[str, str]
"""(premise, hypothesis)."""


class CrossEncoderEntailment:
    """p(entailed) + 0.5 p(neutral) of each pair, in [0, 1] (RALC 5.3.1). Blocks: call it in a worker thread.

    Args:
        model: a cross-encoder's name or folder, with labels called "entailment" and "neutral". Loaded on first use, once.
    """

    def __init__(self, model: str) -> None:
        self._loaded = Lazy(partial(cross_encoder, model, ("entailment", "neutral"), "rewrite", Reason.NO_ENTAILMENT))

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs in one batch.

        Raises:
            StepFailed: `no_entailment` where the library, the model or its labels are not there.
        """
        model, labels = self._loaded()
        scores = model.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        return [float(row[labels["entailment"]] + 0.5 * row[labels["neutral"]]) for row in scores]


class LocalEntailment:
    """The same score by the shipped judge, which reads English only: texts in another language pass unscored (1). Blocks."""

    def __init__(self) -> None:
        self._judge = LocalJudge(step="rewrite", reason=Reason.NO_ENTAILMENT)

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs in one batch.

        Raises:
            StepFailed: `no_entailment` where the extra `judge` is not installed.
        """
        known = [pair for pair in pairs if all(map(reads, pair))]
        scores = self._judge.probabilities(known)
        of_pair = dict(zip(known, (scores[:, ENTAILED] + 0.5 * scores[:, NEUTRAL]).tolist(), strict=True))
        return [of_pair.get(pair, 1.0) for pair in pairs]
