"""Requests of all kinds with a few of their bytes changed: none may be a fault of ours, and none may hang."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
from collections.abc import Iterator

from benchmarks.chaos.checks import HANG, STATUS
from benchmarks.chaos.load import Tally
from benchmarks.chaos.serving import ADMIN_KEY, Proxy, Watch, watched
from benchmarks.chaos.speech import question
from benchmarks.chaos.upstream import Upstream
from benchmarks.chaos.wire import request, say

MUTATED = "mutated requests"
AT_ONCE = 256
"""Many of them say that more is to come, and are waited for."""
ATTEMPTS = 3
"""Most changes of one request."""
_ASKED = {"model": "m", "messages": [{"role": "user", "content": question("abc")}]}
_ASK = json.dumps(_ASKED).encode()
_TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"model": {}}}}}
_FORM = b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF\r\n--x--\r\n'
_COOKIE = "hedgerow_session=9999999999.x." + base64.urlsafe_b64encode(b'["key","a","viewer"]').decode() + ".y"
_UPGRADE = {"connection": "Upgrade", "upgrade": "websocket", "sec_websocket_key": "eA==", "sec_websocket_version": "13"}
_BODIES = {
    "/v1/chat/completions": _ASKED,
    "/v1/completions": {"model": "m", "prompt": question("abc")},
    "/v1/responses": {"model": "m", "input": question("abc"), "reasoning": {"effort": "low"}},
    "/v1/messages": _ASKED | {"max_tokens": 64, "metadata": {"user_id": "u"}},
    "/v1/embeddings": {"model": "m", "input": ["a", "b"]},
    "/openai/deployments/m/chat/completions?api-version=1": _ASKED | {"tools": [_TOOL]},
    "/v1/feedback": {"id": "hr_x", "correct": 0.5, "claims": [True, None], "note": "n"},
    "/v1/perceive": {"text": "Perhaps it is so."},
    "/v1/admin/review/hr_x": {"correct": 1, "claim": 0},
    "/v1/admin/routes/none/mode": {"mode": "on"},
    "/v1/admin/keys": {"name": "k", "routes": ["on"], "requests_per_minute": 5},
}
_PAGES = (
    "/dashboard", "/dashboard/requests?route=on&status=hedged&page=2", "/dashboard/answers/hr_x", "/dashboard/keys", "/try", "/docs", "/static/style.css",
    "/v1/audit/hr_x", "/v1/models", "/v1/models/m", "/v1/admin/routes", "/v1/admin/changes?limit=5", "/v1/files?limit=2&order=asc", "/health", "/metrics",
)  # fmt: skip


def seeds() -> tuple[bytes, ...]:
    """Well-formed requests: of every endpoint and page, packed, in chunks, as forms, upgrades and pipelines."""
    key = f"Bearer {ADMIN_KEY}"
    made = [
        request("POST", path, json.dumps(body | more).encode(), connection="close", x_way=way, authorization=key)
        for path, body in _BODIES.items()
        for way, more in (("off", {}), ("on", {"stream": True}), ("shadow", {}), ("append", {"stream": True}))
    ]
    made += [request("GET", path, connection="close", authorization=key, cookie=_COOKIE) for path in _PAGES]
    chunked = b"%x\r\n%b\r\n0\r\nx-trailer: 1\r\n\r\n" % (len(_ASK), _ASK)
    made += [
        request("POST", "/v1/chat/completions", gzip.compress(_ASK), content_encoding="gzip", x_way="off"),
        request("POST", "/v1/chat/completions", transfer_encoding="chunked", x_way="off") + chunked,
        request("POST", "/v1/audio/transcriptions", transfer_encoding="chunked", content_type="multipart/form-data; boundary=x") + b"%x\r\n%b\r\n0\r\n\r\n" % (len(_FORM), _FORM),
        request("POST", "/verdict", b"csrf=x&id=hr_x&correct=1", cookie=_COOKIE).replace(b"application/json", b"application/x-www-form-urlencoded"),
        request("GET", "/v1/realtime?model=m", **_UPGRADE, origin="http://chaos") + b"\x81\x85abcdhello",
        request("POST", "/v1/chat/completions", _ASK, upgrade="h2c", connection="Upgrade, HTTP2-Settings", http2_settings="AAMAAABkAAQ"),
        request("OPTIONS", "/v1/chat/completions", origin="http://a.example", access_control_request_method="POST"),
        request("GET", "/v1/files", x_way="off") + request("POST", "/v1/chat/completions", _ASK, x_way="off") + request("GET", "/health"),
    ]  # fmt: skip
    return tuple(made)


_WORDS = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b";", b"%", b"%2e%2e", b"%2f", b"%5c", b"%00", b"%25", b"..", b"//", b"\\", b"?", b"#", b"&model=x", b"model", b'"', b"\\u0000", b"\\ud83d",
    b"\\", b"{", b"}", b"[", b"]", b"null", b"true", b"-1", b"1e999", b"NaN", b"9" * 40, b"[" * 400, b'{"a":' * 300, b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3", b"\xed\xa0\xbd", b"chunked", b"gzip",
    b"transfer-encoding: chunked\r\n", b"content-length: 5\r\n", b"content-encoding: gzip\r\n", b"upgrade: websocket\r\n", b"connection: upgrade\r\n", b"expect: 100-continue\r\n", b"host: evil.example\r\n",
    b"origin: https://evil.example\r\n", b"x-hedgerow-mode: on\r\n", b"HTTP/1.0", b"HEAD", b"PUT", b"CONNECT", b"x" * 2000,
)  # fmt: skip
"""What is put in: what means something to one reader or another."""


def mutated(chance: random.Random, kept: tuple[bytes, ...]) -> bytes:
    """A request with up to `ATTEMPTS` changes: of a byte or a bit, of a length, of a piece that goes, comes twice, moves, or comes from another one."""
    data = bytearray(chance.choice(kept))
    for _ in range(chance.randint(1, ATTEMPTS)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice((1, 2, 8, 40)))
        match chance.randrange(7):
            case 0:
                data[at:at] = chance.choice(_WORDS)
            case 1:
                data[at:end] = chance.choice(_WORDS)
            case 2:
                del data[at:end]
            case 3:
                data[at:at] = data[at:end]
            case 4 if at < len(data):
                data[at] = chance.randrange(256)
            case 5 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case _:
                other = chance.choice(kept)
                start = chance.randrange(len(other))
                data[at:end] = other[start : start + chance.choice((4, 30, 200))]
    return bytes(data)


def requests(count: int, seed: int = 0) -> Iterator[bytes]:
    """So many of them, the same for the same seed."""
    chance, kept = random.Random(seed), seeds()
    return (mutated(chance, kept) for _ in range(count))


async def run_mutated(proxy: Proxy, upstream: Upstream, tally: Tally, *, count: int, seed: int = 0) -> Watch:
    """Send so many, each on a connection of its own. Returns how well it answered meanwhile."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(data: bytes) -> None:
        answer = await say(proxy.address, [data], is_head=data.startswith(b"HEAD "))
        gate.release()
        tally.requests[MUTATED] += 1
        if answer.hung:
            tally.add(MUTATED, HANG, repr(data[:2000]))
        elif answer.status == 500:
            tally.add(MUTATED, STATUS, f"500 {answer.body[:120]!r}: {data[:2000]!r}")

    async with watched(proxy) as watch, asyncio.TaskGroup() as group:
        for data in requests(count, seed):
            await gate.acquire()
            group.create_task(one(data))
            upstream.forget()
    return watch
