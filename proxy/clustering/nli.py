"""A judge that reads entailment with a cross-encoder of sentence-transformers, both ways, on undecided pairs only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import anyio.to_thread

from hedgerow.proxy.clustering.layered import Pair
from hedgerow.proxy.clustering.partition import Judgement
from hedgerow.proxy.errors import StepFailed


class NliJudge:
    """Same meaning = each answer entails the other, behind their question.

    Args:
        model: a cross-encoder's name or folder, with a label called "entailment". Loaded on first use.
        budget_s: time for one question; pairs beyond it stay undecided and are counted as "judge_late".
        batch: sequences per call of the model.
    """

    name = "nli"

    def __init__(self, model: str, *, budget_s: float = 2.0, batch: int = 16) -> None:
        self._name = model
        self._budget_s = budget_s
        self._batch = batch
        self._loaded: tuple[Any, int] | None = None

    async def judge(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """Read the pairs in a worker thread."""
        return await anyio.to_thread.run_sync(self.read, question, answers, pairs)

    def read(self, question: str, answers: Sequence[str], pairs: Sequence[Pair]) -> list[Judgement]:
        """The same, blocking."""
        self._loaded = self._loaded or self._load()
        model, entailment = self._loaded
        deadline = time.monotonic() + self._budget_s
        found: list[Judgement] = []
        step = max(1, self._batch // 2)
        for at in range(0, len(pairs), step):
            if time.monotonic() > deadline:
                break
            part = pairs[at : at + step]
            texts = [
                (f"{question} {answers[x]}", f"{question} {answers[y]}") for a, b in part for x, y in ((a, b), (b, a))
            ]
            labels = model.predict(texts, batch_size=self._batch, show_progress_bar=False).argmax(axis=1)
            found += [
                Judgement(bool(labels[2 * i] == labels[2 * i + 1] == entailment), self.name, 0.8)
                for i in range(len(part))
            ]
        return found + [Judgement(None, "judge_late")] * (len(pairs) - len(found))

    def _load(self) -> tuple[Any, int]:
        if find_spec("sentence_transformers") is None:
            raise StepFailed("cluster", "no_judge", "sentence-transformers is not installed (extra `semantic`)")
        from sentence_transformers import CrossEncoder

        try:
            model = CrossEncoder(self._name, device="cpu")
        except (OSError, ValueError) as error:
            raise StepFailed("cluster", "no_judge", f"{self._name}: {error}") from error
        labels = {int(i): str(label).casefold() for i, label in model.config.id2label.items()}
        entailment = next((i for i, label in labels.items() if label == "entailment"), None)
        if entailment is None:
            raise StepFailed(
                "cluster", "no_judge", f"{self._name} has no label called entailment, only {sorted(labels.values())}"
            )
        return model, entailment
