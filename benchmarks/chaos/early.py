"""Abuse of limits: 64 clients of one key that all leave one byte before the end of their answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchmarks.chaos.checks import STATUS
from benchmarks.chaos.faults import SOUND
from benchmarks.chaos.load import Tally
from benchmarks.chaos.serving import Proxy, configuration, started
from benchmarks.chaos.speech import chat, chat_events
from benchmarks.chaos.upstream import framed, listening, requests_of
from benchmarks.chaos.wire import request
from tests.support.keys import in_one_minute, new_key

LEAVING = "leaving one byte early"
OVERSPENT = "limit missed by more than a request"
CLIENTS = 64
TEXT = "word " * 3200
PROMPT, ANSWER = 70, 3930
COST = PROMPT + ANSWER
LIMIT = 12 * COST + 500
MINUTE_S = 30.0
"""So much of a clock minute is needed: limits begin anew with each."""


@dataclass(frozen=True, slots=True)
class Leaver:
    """How a client asks, and after which bytes it leaves; without any, when one byte of the declared length is missing."""

    way: str
    body: Mapping[str, Any]
    enough: bytes = b""


LEAVERS = (
    Leaver("off", {}),
    Leaver("off", {"stream": True}, b"data: [DONE]"),
    Leaver("append", {"stream": True}, b"word word "),
    Leaver("on", {}),
    Leaver("on", {"stream": True}, b"data:"),
    Leaver("shadow", {}),
    Leaver("shadow", {"stream": True}, b"data: [DONE]"),
)


@dataclass(slots=True)
class Costly:
    """An upstream that counts the tokens of its answers, and holds back the last byte of what a client reads as it comes."""

    spent: int = 0
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        async for _, data in requests_of(reader):
            body = orjson.loads(data)
            n, streams = body.get("n") or 1, bool(body.get("stream"))
            usage = {"prompt_tokens": PROMPT, "completion_tokens": ANSWER, "total_tokens": COST}
            self.spent += COST
            if streams:
                events = list(chat_events(TEXT, SOUND.patch))
                if (body.get("stream_options") or {}).get("include_usage"):
                    last = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": usage}
                    events.insert(-1, b"data: " + orjson.dumps(last) + b"\n\n")
                answer = framed(b"".join(events), "text/event-stream")
            else:
                texts = [TEXT] if "n" not in body else ["Canberra."] * n
                answer = framed(orjson.dumps(chat(texts, SOUND.patch) | {"usage": usage}))
            is_relayed = streams or "n" not in body
            writer.write(answer[:-1] if is_relayed else answer)
            if is_relayed:
                await reader.read(1)  # until the other side has left
                break
        writer.close()


async def _leave(proxy: Proxy, leaver: Leaver, secret: str, number: int) -> int:
    """Ask, read nearly all, and leave; the status."""
    reader, writer = await asyncio.open_connection(*proxy.address, limit=1 << 24)
    messages = [{"role": "user", "content": f"What is the capital of Australia? ({number})"}]
    body = orjson.dumps({"model": "m", "messages": messages, **leaver.body})
    key = f"Bearer {secret}"
    writer.write(request("POST", "/v1/chat/completions", body, x_way=leaver.way, authorization=key))
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head.split(b" ", 2)[1])
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        data = b""
        while status == 200 and not (leaver.enough in data if leaver.enough else len(data) >= length - 1):
            if not (piece := await reader.read(1 << 16 if leaver.enough else length - 1 - len(data))):
                break
            data += piece
        return status
    finally:
        writer.transport.abort()


async def run_early(folder: Path, store: str, tally: Tally) -> float:
    """A first client, then all at once, in each way with a key of its own. Returns the largest error of a limit, in requests."""
    costly, worst = Costly(), 0.0
    async with listening(costly):
        settings = configuration(folder, costly.url, store)
        settings["upstreams"]["chaos"]["timeout_s"] = 60.0
        for route in settings["routes"]:
            route["sampling"] = {"n": 3, "min_n": 2, "share": False}
        async with started(Proxy(folder, settings)) as running:
            for number, leaver in enumerate(LEAVERS):
                secret = await asyncio.to_thread(new_key, store, f"key-{number}", tokens_per_minute=LIMIT)
                await asyncio.sleep(6.0)  # until the process knows it
                await asyncio.to_thread(in_one_minute, MINUTE_S)
                costly.spent, began = 0, time.time()
                statuses = [await _leave(running, leaver, secret, 0)]
                await asyncio.sleep(1.0)
                statuses += await asyncio.gather(*(_leave(running, leaver, secret, i) for i in range(1, 1 + CLIENTS)))
                error = (costly.spent - LIMIT) / COST
                worst = max(worst, error)
                tally.requests[LEAVING] += len(statuses)
                where = f"{leaver}: {costly.spent:,} tokens under a limit of {LIMIT:,}, answers {sorted(set(statuses))}"
                if error > 1 and time.time() // 60 == began // 60:
                    tally.add(LEAVING, OVERSPENT, where)
                elif set(statuses) != {200, 429} or costly.spent < 2 * COST:
                    tally.add(LEAVING, STATUS, f"nothing is shown: {where}")
            for line in running.errors():
                tally.add(LEAVING, STATUS, line[:600])
    return worst
