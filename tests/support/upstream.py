"""A scripted OpenAI-compatible server: the outside world of the tests. It says what it is told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

Json = dict[str, Any]
Reply = Callable[[Request, Json], Any]
"""Makes a response from a request and its decoded body (empty for bodies that are no JSON)."""


def completion(*texts: str, usage: tuple[int, int] = (7, 3), **extra: Any) -> Json:
    """A chat completion object with one choice a text."""
    choices = [
        {"index": i, "finish_reason": "stop", "logprobs": None, "message": {"role": "assistant", "content": text}}
        for i, text in enumerate(texts)
    ]
    counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1] * len(texts), "total_tokens": 0}
    counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "scripted-1",
        "system_fingerprint": "fp_scripted",
        "choices": choices,
        "usage": counts,
    } | extra


def spent(prompt: int, completion: int) -> Json:
    """Tokens of one purpose as the field `hedgerow` tells them, where the upstream reports no details. The scripted model has no price."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": 0, "reasoning_tokens": 0}
    return counts | {"cost": None if prompt + completion else 0.0}


def says(*texts: str, **extra: Any) -> Reply:
    """Answers with these texts in turn, as many as `n` asks for, over and over."""
    turn = 0

    def reply(_request: Request, body: Json) -> Response:
        nonlocal turn
        n = body.get("n") or 1
        chosen = [texts[(turn + i) % len(texts)] for i in range(n)]
        turn += n
        if body.get("stream"):
            return sse_response([*stream_chunks(chosen[0]), "[DONE]"])
        return JSONResponse(completion(*chosen, **extra))

    return reply


def ignores_n(*texts: str) -> Reply:
    """Answers every call with one text, whatever `n` says."""
    turn = 0

    def reply(_request: Request, _body: Json) -> Response:
        nonlocal turn
        turn += 1
        return JSONResponse(completion(texts[(turn - 1) % len(texts)]))

    return reply


def fails(status: int, body: Any, headers: dict[str, str] | None = None) -> Reply:
    """Answers with an error."""
    return lambda _request, _body: JSONResponse(body, status, headers)


def raw(data: bytes, kind: str = "application/json", status: int = 200) -> Reply:
    """Answers with these bytes."""
    return lambda _request, _body: Response(data, status, media_type=kind)


def stream_chunks(text: str) -> list[Json]:
    """The chunks of a streamed answer."""
    head = {"id": "chatcmpl-streamed", "object": "chat.completion.chunk", "created": 1700000000, "model": "scripted-1"}

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    words = [word + " " for word in text.split(" ")]
    words[-1] = words[-1].rstrip()
    return [chunk({"role": "assistant", "content": ""}), *(chunk({"content": w}) for w in words), chunk({}, "stop")]


def sse_response(events: list[Any]) -> Response:
    """A stream of events."""

    async def body() -> Any:
        for event in events:
            yield f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()

    return StreamingResponse(body(), media_type="text/event-stream")


def never() -> Reply:
    """Never answers; `Upstream.abandoned` counts the clients that gave up."""

    async def reply(_request: Request, _body: Json) -> Response:
        await asyncio.sleep(3600)
        return Response()

    return reply


@dataclass
class Upstream:
    """An ASGI application: replies are taken from the queue, then from `default`."""

    default: Reply | None = None
    queued: deque[Reply] = field(default_factory=deque)
    calls: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    raw_bodies: list[bytes] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    abandoned: int = 0
    url: str = ""

    def enqueue(self, *replies: Reply) -> None:
        """Say these next."""
        self.queued.extend(replies)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request as scripted."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        data = await request.body()
        self.raw_bodies.append(data)
        self.headers.append(dict(request.headers))
        self.targets.append(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
        try:
            body = json.loads(data)
        except ValueError:
            body = {}
        body = body if isinstance(body, dict) else {}
        self.calls.append(body)
        reply = self.queued.popleft() if self.queued else self.default
        assert reply is not None, "the scripted upstream was asked more than it was told to answer: enqueue a reply"
        answer = reply(request, body)
        if asyncio.iscoroutine(answer):
            answer = await self._unless_gone(answer, receive)
        if answer is not None:
            await answer(scope, receive, send)

    async def _unless_gone(self, answer: Any, receive: Any) -> Any:
        work, gone = asyncio.ensure_future(answer), asyncio.ensure_future(receive())
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            work.cancel()
            self.abandoned += 1
            return None
        gone.cancel()
        return work.result()
