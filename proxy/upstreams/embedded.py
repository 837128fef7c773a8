"""A small model in this process, run by llama.cpp in one worker thread.

Loaded once at the start, off the event loop. The answers to one call are generated in parallel. Calls wait in a bounded
queue; a cancelled call stops at its next token.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import orjson

from ..config import EmbeddedUpstream
from ..errors import BadRequest, NotFound, Overloaded, ProxyError
from ..outcomes import Reason
from ..protocols import Call, RawCall, Relay
from ..types import Json
from . import sse
from .answers import asked, check_served, once
from .llama import Answer, Drawn, Llama, OnText, Options, Prompt, model_file

SELF = "the embedded model"
SECONDS_PER_QUEUED_CALL = 2.0
"""Approximate seconds for ten short answers; only used for `Retry-After`."""

BRIEF: list[Json] = [
    {"role": "system", "content": "Answer every question in a few words."},
    {"role": "user", "content": "Who painted the Mona Lisa?"},
    {"role": "assistant", "content": "Leonardo da Vinci."},
    {"role": "user", "content": "How many legs does a spider have?"},
    {"role": "assistant", "content": "Eight."},
]
"""Messages put before a conversation without a system message, if the configuration asks for brief answers."""


async def open_embedded(name: str, settings: EmbeddedUpstream) -> EmbeddedModel:
    """Load the model in its own thread; a fraction of a second for the default one.

    Raises:
        ConfigError: the library or the model file is missing, or the file is not a model.
    """
    file = model_file(settings.model_path)
    worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"model-{name}")
    try:
        model = await asyncio.get_running_loop().run_in_executor(
            worker, lambda: Llama(file, context_tokens=settings.context_tokens, threads=settings.threads)
        )
    except BaseException:
        worker.shutdown(wait=False)
        raise
    return EmbeddedModel(name, settings, worker, model)


class EmbeddedModel:
    """The in-process model as an upstream; made by `open_embedded`."""

    honours_n = True

    def __init__(self, name: str, settings: EmbeddedUpstream, worker: ThreadPoolExecutor, model: Llama) -> None:
        self._name = name
        self._settings = settings
        self._worker = worker
        self._llama = model
        self._waiting = 0

    async def complete(self, call: Call) -> Json:
        """See `Upstream`."""
        prompt, options = self._prompt(call.path, call.body), self._options(call.body)
        drawn = await self._draw(prompt, options, call.on_text)
        return self._envelope(call.body, drawn, chat=not isinstance(prompt, str), logprobs=options.logprobs)

    async def _draw(self, prompt: Prompt, options: Options, on_text: OnText | None = None) -> Drawn:
        """Queue the work and wait for it; cancelling stops the model at its next token."""
        with self._place():
            stopped = threading.Event()
            work = asyncio.get_running_loop().run_in_executor(
                self._worker, self._llama.draw, prompt, options, stopped, on_text
            )
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                stopped.set()
                raise

    @contextmanager
    def _place(self) -> Iterator[None]:
        """A place in the queue."""
        if self._waiting >= self._settings.max_queue:
            wait = max(1.0, SECONDS_PER_QUEUED_CALL * self._waiting)
            raise Overloaded(f"the queue of the upstream {self._name!r} is full; try again later", retry_after_s=wait)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    def _prompt(self, path: str, body: Json) -> Prompt:
        """The messages of a chat with those put before them, or the text to be continued.

        Raises:
            BadRequest: messages or prompt are missing or of a wrong type.
            NotFound: this model does not support the path.
        """
        check_served(SELF, path)
        _check_able(body)
        if path == "/chat/completions":
            messages = [_plain(message) for message in body["messages"]]
            if self._settings.brief and all(message["role"] != "system" for message in messages):
                messages = [*BRIEF, *messages]
            return messages
        if not isinstance(text := body.get("prompt"), str):
            raise BadRequest("the embedded model takes one string as `prompt`", param="prompt")
        return text

    def _options(self, body: Json) -> Options:
        stop = body.get("stop") or ()
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or self._settings.max_answer_tokens
        return Options(
            n=_number(body, "n", 1, 1, 128, int),
            max_tokens=max(1, min(int(limit), self._settings.context_tokens // 2)),
            temperature=_number(body, "temperature", 1.0, 0.0, 2.0, float),
            top_p=_number(body, "top_p", 0.95, 0.0, 1.0, float),
            seed=body.get("seed"),
            stop=tuple(str(s) for s in stops if s),
            logprobs=bool(body.get("logprobs")),
        )

    def _envelope(self, body: Json, drawn: Drawn, *, chat: bool, logprobs: bool) -> Json:
        """The OpenAI completion object."""
        return {
            "id": ("chatcmpl-" if chat else "cmpl-") + secrets.token_hex(12),
            "object": "chat.completion" if chat else "text_completion",
            "created": int(time.time()),
            "model": body.get("model") or self._settings.model_name,
            "choices": [_choice(i, a, chat=chat, logprobs=logprobs) for i, a in enumerate(drawn.answers)],
            "usage": _usage(drawn),
        }

    @asynccontextmanager
    async def relay(self, call: RawCall) -> AsyncIterator[Relay]:
        """See `Upstream`. The answer is made in this process, as a JSON object or as a stream."""
        if call.method == "GET" and call.path.partition("?")[0] == f"/models/{self._settings.model_name}":
            yield Relay(200, [(b"content-type", b"application/json")], once(orjson.dumps((await self.models({}))[0])))
            return
        if not isinstance(call.body, bytes) or call.method != "POST":
            raise NotFound(f"{SELF} does not serve {call.method} /v1{call.path}", code="unknown_path")
        path = call.path.partition("?")[0]
        body = asked(path, call.body)
        if not body.get("stream"):
            answer = await self.complete(Call(path, body))
            yield Relay(200, [(b"content-type", b"application/json")], once(orjson.dumps(answer)))
            return
        prompt, options = self._prompt(path, body), self._options(body)
        async with aclosing(self._pieces(prompt, options)) as pieces:
            first = await anext(pieces)  # an error must come before the head of the answer
            head = self._envelope(body, Drawn((), 0), chat=not isinstance(prompt, str), logprobs=False)
            events = _events(
                head, options.n, first, pieces, usage=bool((body.get("stream_options") or {}).get("include_usage"))
            )
            yield Relay(200, [(b"content-type", b"text/event-stream; charset=utf-8")], events)

    async def _pieces(self, prompt: Prompt, options: Options) -> AsyncGenerator[tuple[int, str] | Drawn]:
        """Pieces of answers as they are generated, each with the index of its answer; then the answers."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[int, str] | None]()

        def on_text(index: int, text: str) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, (index, text))

        async with asyncio.TaskGroup() as group:
            work = group.create_task(_outcome(self._draw(prompt, options, on_text)))
            work.add_done_callback(lambda _: queue.put_nowait(None))
            while (piece := await queue.get()) is not None:
                yield piece
        if isinstance(outcome := work.result(), ProxyError):
            raise outcome
        yield outcome

    async def models(self, headers: Mapping[str, str], query: str = "") -> list[Json]:
        """See `Upstream`."""
        return [{"id": self._settings.model_name, "object": "model", "created": 0, "owned_by": "hedgerow"}]

    async def aclose(self) -> None:
        """Free the model after the current call."""
        self._worker.shutdown(wait=False, cancel_futures=True)


def _usage(drawn: Drawn) -> Json:
    written = sum(answer.token_count for answer in drawn.answers)
    return {
        "prompt_tokens": drawn.prompt_tokens,
        "completion_tokens": written,
        "total_tokens": drawn.prompt_tokens + written,
    }


async def _outcome(work: Awaitable[Drawn]) -> Drawn | ProxyError:
    """An exception as a value, because a task group would wrap it."""
    try:
        return await work
    except ProxyError as error:
        return error


async def _events(
    head: Json, n: int, first: tuple[int, str] | Drawn, pieces: AsyncIterator[tuple[int, str] | Drawn], *, usage: bool
) -> AsyncIterator[bytes]:
    """An event stream of chat chunks."""
    for index in range(n):
        yield sse.message(head, {"role": "assistant", "content": ""}, index)
    piece = first
    while not isinstance(piece, Drawn):
        yield sse.message(head, {"content": piece[1]}, piece[0])
        piece = await anext(pieces)
    for index, answer in enumerate(piece.answers):
        yield sse.finish(head, answer.finish_reason, index=index)
    if usage:
        yield sse.usage(head, _usage(piece))
    yield sse.DONE


def _check_able(body: Json) -> None:
    """Raise `BadRequest` for tools or input other than text: the client could not tell that they were ignored."""
    if (body.get("tools") or body.get("functions")) and body.get("tool_choice") != "none":
        message = f"{SELF} cannot call tools; leave `tools` out, or use a route to an upstream that can"
        raise BadRequest(message, param="tools", code=Reason.TEXT_ONLY)
    for index, message in enumerate(body.get("messages") or ()):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict) or not isinstance(part.get("text"), str):
                wrong = f"messages[{index}].content"
                raise BadRequest(
                    f"{SELF} reads text alone; `{wrong}` holds something else", param=wrong, code=Reason.TEXT_ONLY
                )


def _plain(message: Json) -> Json:
    """A message with text only."""
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(p["text"] for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    role = message.get("role")
    return {"role": role if role in ("system", "user", "assistant") else "user", "content": content or ""}


def _number(body: Json, key: str, default: float, low: float, high: float, kind: type) -> Any:
    value = body.get(key)
    if value is None:
        return kind(default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequest(f"`{key}` must be a number from {low:g} to {high:g}", param=key)
    return kind(value)


def _choice(index: int, answer: Answer, *, chat: bool, logprobs: bool) -> Json:
    head: Json = {"index": index, "finish_reason": answer.finish_reason, "logprobs": None}
    if logprobs and chat:
        head["logprobs"] = {
            "content": [{"token": t, "logprob": p, "bytes": None, "top_logprobs": []} for t, p in answer.tokens]
        }
    elif logprobs:
        head["logprobs"] = {"tokens": [t for t, _ in answer.tokens], "token_logprobs": [p for _, p in answer.tokens]}
    text = answer.text.strip()
    return head | ({"message": {"role": "assistant", "content": text}} if chat else {"text": text})
