"""A loopback upstream and a load generator, both bare asyncio protocols, so that what is measured is what stands between them.

`python -m benchmarks.performance.loopback PORT [DELAY_S [TOKEN_S]]` serves one canned answer for every request, a chat completion or a response by the path, over
127.0.0.1 only.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from dataclasses import dataclass, field

import uvloop

from hedgerow.proxy.upstreams.dialects import responses

ANSWERS = ("Canberra.", "Sydney.", "Canberra.", "Melbourne.", "Canberra.", "Canberra is the capital.")
FIRST_TOKEN = "The capital "
TOKEN_S = 0.02
"""Seconds between the first token of a stream and the rest, where the command does not say."""
REQUEST = json.dumps(
    {
        "model": "m",
        "messages": [{"role": "user", "content": "What is the capital of Australia? " + "Think well. " * 20}],
    }
).encode()


def completion(n: int) -> bytes:
    """A chat completion of n choices."""
    choices = [
        {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWERS[i % len(ANSWERS)]}}
        for i in range(n)
    ]
    usage = {"prompt_tokens": 20, "completion_tokens": 3 * n, "total_tokens": 20 + 3 * n}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}
    return _whole(body)


def _whole(body: object) -> bytes:
    data = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(data) + data


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def stream() -> tuple[bytes, bytes]:
    """A streamed chat completion: what comes at once, up to the first token, and the rest."""

    def part(delta: dict[str, str], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return _chunk(f"data: {json.dumps(body)}\n\n".encode())

    rest = part({"content": "is Canberra."}) + part({}, "stop") + _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
    return STREAM_HEAD + part({"role": "assistant", "content": ""}) + part({"content": FIRST_TOKEN}), rest


def response(text: str) -> dict[str, object]:
    """A response that says a text."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    usage = {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "m"}
    return head | {"output": [item], "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "usage": usage}


def response_stream() -> tuple[bytes, bytes]:
    """A streamed response: its first event, which comes at once, and the rest."""
    first, *rest = responses.events(response(FIRST_TOKEN + "is Canberra."), lambda text: [text])
    return STREAM_HEAD + _chunk(first), b"".join(map(_chunk, rest)) + b"0\r\n\r\n"


class Upstream(asyncio.Protocol):
    """Answers each request on a kept-alive connection; `n` and `stream` are read from the body, the kind of answer from the path."""

    turns = itertools.count()

    def __init__(self, delay_s: float, token_s: float, answers: dict[int, bytes]) -> None:
        self.delay_s, self.token_s, self.answers, self.buffer = delay_s, token_s, answers, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            mark = head.find(b"content-length:")
            length = int(head[mark + 15 :].split(b"\r\n", 1)[0]) if mark >= 0 else 0
            if len(self.buffer) < end + 4 + length:
                return
            body = self.buffer[end + 4 : end + 4 + length]
            self.buffer = self.buffer[end + 4 + length :]
            is_response = b"/responses " in head
            if b'"stream":true' in body or b'"stream": true' in body:
                first, rest = response_stream() if is_response else stream()
                self.transport.write(first)
                asyncio.get_running_loop().call_later(self.token_s, self.transport.write, rest)
                continue
            n = json.loads(body).get("n", 1) if b'"n":' in body else 1
            if is_response:
                answer = _whole(response(ANSWERS[next(self.turns) % len(ANSWERS)]))
            else:
                answer = self.answers.setdefault(n, completion(n))
            if self.delay_s:
                asyncio.get_running_loop().call_later(self.delay_s, self.transport.write, answer)
            else:
                self.transport.write(answer)


async def serve(port: int, delay_s: float = 0.0, token_s: float = TOKEN_S) -> None:
    """Serve until ended."""
    answers: dict[int, bytes] = {}
    server = await asyncio.get_running_loop().create_server(
        lambda: Upstream(delay_s, token_s, answers), "127.0.0.1", port
    )
    print("ready", flush=True)
    await server.serve_forever()


@dataclass
class Load:
    """What a load found: seconds per answer, answers that were no 200, and what it took of the server's processor where that was looked up."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0
    elapsed_s: float = 0.0
    processor_s: float = 0.0

    def percentile(self, share: float) -> float:
        """Seconds."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return len(self.seconds) / self.elapsed_s


class Client(asyncio.Protocol):
    """Sends one request after the other on one connection until its share is done."""

    def __init__(self, request: bytes, count: int, load: Load, done: asyncio.Future[None]) -> None:
        self.request, self.left, self.load, self.done = request, count, load, done
        self.buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.sent = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.buffer[:end]).lower()
        mark = head.find(b"content-length:")
        if mark >= 0:
            complete = len(self.buffer) >= end + 4 + int(head[mark + 15 :].split(b"\r\n", 1)[0])
        else:
            complete = self.buffer.endswith(b"0\r\n\r\n")
        if not complete:
            return
        self.load.seconds.append(time.perf_counter() - self.sent)
        self.load.failed += not head.startswith(b"http/1.1 200")
        self.buffer.clear()
        self.left -= 1
        if self.left:
            self.send()
        else:
            self.transport.close()
            self.done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError(f"the server closed the connection: {error}"))


async def measure(
    port: int, *, connections: int, requests: int, path: str = "/v1/chat/completions", headers: str = ""
) -> Load:
    """Load a server on this machine."""
    request = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer sk-bench\r\n{headers}content-length: {len(REQUEST)}\r\n\r\n"
    ).encode() + REQUEST
    loop, load = asyncio.get_running_loop(), Load()
    done = [loop.create_future() for _ in range(connections)]
    start = time.perf_counter()
    for future in done:
        await loop.create_connection(
            lambda future=future: Client(request, requests // connections, load, future), "127.0.0.1", port
        )
    await asyncio.wait_for(asyncio.gather(*done), timeout=300)
    load.elapsed_s = time.perf_counter() - start
    return load


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), *map(float, sys.argv[2:])))
