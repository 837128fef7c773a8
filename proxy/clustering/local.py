"""The shipped judge: a small cross-encoder for entailment between English texts, run in this process by onnxruntime.

Its weights and tokenizer are in `judge/` beside this file (model card: docs/judge.md); the extra `judge` installs what
runs them. It loads on first use, once per process, blocks (call it in a worker thread), and never reads a language that
it was not trained on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...lexicon.text.language import language_of
from ..errors import StepFailed
from ..outcomes import Reason
from .loading import Lazy

FOLDER = Path(__file__).with_name("judge")
ENTAILED, NEUTRAL = 0, 1
"""Columns of the judge's output."""
MAX_TOKENS = 160
"""Number of tokens of a pair that are read, as in training; the longer text of a longer pair is cut at its end."""
MAX_CHARS = 2000
"""Number of characters of a text passed to the tokenizer, which cuts at `MAX_TOKENS`."""
THREADS = 2
"""Number of threads per call; each reads one pair at a time."""
ALONE = 2
"""Number of pairs up to which starting threads takes longer than it saves."""
CUT = 240
"""Number of characters of an answer read after a question, as in training: the answer is usually at the start."""

Texts = tuple[str, str]
"""(premise, hypothesis)."""
Probabilities = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Model:
    """The tokenizer and the session of onnxruntime."""

    tokenizer: Any
    session: Any


class LocalJudge:
    """Reads pairs of English texts: does the second follow from the first, contradict it, or neither?

    Args:
        folder: has `model.onnx` and `tokenizer.json`.
        threads: per call; each reads one pair at a time, so that no padding changes a pair's probabilities.
        step, reason: of the StepFailed raised if the judge cannot be loaded.
    """

    def __init__(
        self, folder: Path = FOLDER, *, threads: int = THREADS, step: str = "cluster", reason: Reason = Reason.NO_MODEL
    ) -> None:
        self._step, self._reason = step, reason
        self._threads = threads
        self._loaded = _shared(folder)

    def probabilities(self, pairs: Sequence[Texts], budget_s: float | None = None) -> Probabilities:
        """Probabilities that the second text of each pair follows, is left open, is contradicted.

        Blocks. Shape (n, 3), rows sum to 1.

        Parameters
        ----------
        pairs: texts of any length; see `MAX_TOKENS`.
        budget_s: seconds from now; rows of pairs not begun by then are NaN. Pairs are read in order. None: no limit.

        Raises
        ------
        StepFailed: the extra `judge` or the weights are not there.
        """
        probabilities = np.full((len(pairs), 3), np.nan, dtype=np.float32)
        if not pairs:
            return probabilities
        model = self._model()
        deadline = inf if budget_s is None else time.monotonic() + budget_s
        encoded = model.tokenizer.encode_batch([(a[:MAX_CHARS], b[:MAX_CHARS]) for a, b in pairs])
        remaining = iter(range(len(pairs)))

        def read() -> None:
            for i in remaining:
                if time.monotonic() > deadline:
                    return
                probabilities[i] = _softmax(_run(model.session, encoded[i]))

        if len(pairs) <= ALONE:
            read()
            return probabilities
        with ThreadPoolExecutor(self._threads) as pool:
            for done in [pool.submit(read) for _ in range(self._threads)]:
                done.result()
        return probabilities

    def _model(self) -> Model:
        try:
            return self._loaded()
        except (ImportError, OSError) as error:
            raise StepFailed(self._step, self._reason, f"the judge could not be loaded: {error}") from error


def missing(folder: Path = FOLDER) -> str | None:
    """What is missing to run the judge here and how to get it; None if nothing is. Loads nothing."""
    for library in ("onnxruntime", "tokenizers"):
        if find_spec(library) is None:
            return f"{library} is not installed: pip install 'hedgerow[judge]'"
    for name in ("model.onnx", "tokenizer.json"):
        if not (folder / name).is_file():
            return f"{folder / name} is missing: this installation was made without the judge's weights"
    return None


def reads(text: str, question: str = "") -> bool:
    """Whether a text is in the judge's language; names and numbers take the language of their question."""
    return language_of(text, question) == "en"


def behind(question: str, answer: str) -> str:
    """An answer preceded by its question, as in the judge's training."""
    opening = " ".join(answer[: 4 * CUT].split())[:CUT]
    return f"{question.rstrip('? ')}? {opening}" if question.strip() else opening


def _run(session: Any, encoded: Any) -> Probabilities:
    """The model's three logits for a pair."""
    names = ("input_ids", "attention_mask", "token_type_ids")
    columns = (encoded.ids, encoded.attention_mask, encoded.type_ids)
    (logits,) = session.run(None, {n: np.array([c], dtype=np.int64) for n, c in zip(names, columns, strict=True)})
    return np.asarray(logits[0], dtype=np.float32)


def _softmax(logits: Probabilities) -> Probabilities:
    grown = np.exp(logits - logits.max())
    return np.asarray(grown / grown.sum(), dtype=np.float32)


@cache
def _shared(folder: Path) -> Lazy[Model]:
    """The model of a folder, one per process."""
    return Lazy(partial(_load, folder))


def _load(folder: Path) -> Model:
    if (lacking := missing(folder)) is not None:
        raise ImportError(lacking)
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return Model(tokenizer, session)
