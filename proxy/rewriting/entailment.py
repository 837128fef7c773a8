"""Do draft and rewrite entail each other? A cross-encoder of sentence-transformers says, where a route has one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from hedgerow.proxy.errors import StepFailed

Pair = tuple[str, str]
"""(premise, hypothesis)."""


class CrossEncoderEntailment:
    """p(entailed) + 0.5 p(neutral) of each pair, in [0, 1] (RALC 5.3.1). Blocks: call it in a worker thread.

    Args:
        model: a cross-encoder's name or folder, with labels called "entailment" and "neutral". Loaded on first use, once.
    """

    def __init__(self, model: str) -> None:
        self._name = model
        self._lock = threading.Lock()
        self._loaded: tuple[Any, int, int] | None = None

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        """Score pairs in one batch.

        Raises:
            StepFailed: `no_entailment` where the library, the model or its labels are not there.
        """
        with self._lock:
            self._loaded = self._loaded or self._load()
        model, entailed, neutral = self._loaded
        found = model.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        return [float(row[entailed] + 0.5 * row[neutral]) for row in found]

    def _load(self) -> tuple[Any, int, int]:
        if find_spec("sentence_transformers") is None:
            raise StepFailed("rewrite", "no_entailment", "sentence-transformers is not installed (extra `semantic`)")
        from sentence_transformers import CrossEncoder

        try:
            model = CrossEncoder(self._name, device="cpu")
        except (OSError, ValueError) as error:
            raise StepFailed("rewrite", "no_entailment", f"{self._name}: {error}") from error
        labels = {str(label).casefold(): int(index) for index, label in model.config.id2label.items()}
        if not {"entailment", "neutral"} <= labels.keys():
            raise StepFailed(
                "rewrite", "no_entailment", f"{self._name} has the labels {sorted(labels)}, not entailment and neutral"
            )
        return model, labels["entailment"], labels["neutral"]
