"""Answers that break off, go on too long, or hold what nobody expects: what reaches the client is whole, or visibly not."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from benchmarks.chaos.checks import defect
from benchmarks.chaos.faults import BY_NAME, SOUND, Fault
from benchmarks.chaos.load import asked, tags
from benchmarks.chaos.rules import WAYS, Way
from benchmarks.chaos.serving import configuration
from benchmarks.chaos.upstream import Upstream, listening
from benchmarks.chaos.wire import say
from tests.contract.test_failures import rows_of
from tests.support.upstream import Upstream as Scripted
from tests.support.upstream import completion, raw

NAMES = tags()


@pytest.fixture
def breaking() -> Iterator[Upstream]:
    """The upstream of `make chaos`, on a loop of its own."""
    upstream, ready, loop, end = Upstream(), threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        async with listening(upstream):
            ready.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(timeout=30)
    yield upstream
    loop.call_soon_threadsafe(end.set)
    thread.join(timeout=30)
    loop.close()


@pytest.fixture
def address(serve: Any, breaking: Upstream, tmp_path: Path) -> tuple[str, int]:
    """A proxy with a route for each way."""
    settings = configuration(tmp_path, breaking.url, f"sqlite:///{tmp_path}/audit.db")
    parts = urlsplit(serve(settings=settings))
    return parts.hostname or "", parts.port or 0


def defects(address: tuple[str, int], upstream: Upstream, pairs: list[tuple[Fault, Way]]) -> list[tuple[str, str, Any]]:
    """What is wrong with the answers to requests that are made one after the other."""

    async def ask() -> list[tuple[str, str, Any]]:
        outcomes = []
        for fault, way in pairs:
            tag = next(NAMES)
            answer = await say(address, [asked(way, fault, tag)])
            wrong = defect(way, fault, answer, upstream.texts.get(tag, ()), upstream.first.get(tag))
            outcomes += [(fault.name, way.name, wrong)] if wrong is not None else []
        return outcomes

    return asyncio.run(ask())


@pytest.mark.parametrize(
    "names",
    [
        ("close in a stream", "reset in the body", "chunks without end"),
        ("a stream that goes on after its end",),
        ('an event {"choices": [{"delta": 5}]}', 'an event {"choices": [{"delta": {"content": 5}}]}'),
        ("content: {}", "content: 5", "content: true"),
        ("nested 600 deep", "nested 600 deep in the message", "nested 600 deep in the choice"),
    ],
    ids=lambda names: names[0],
)
def test_in_every_way(address: tuple[str, int], breaking: Upstream, names: tuple[str, ...]) -> None:
    """Never as if it were complete, never a text that is not the upstream's, never a fault of ours."""
    assert defects(address, breaking, [(BY_NAME[name], way) for name in names for way in WAYS]) == []


def test_an_answer_that_nobody_asked_for_is_nobodys(address: tuple[str, int], breaking: Upstream) -> None:
    """An upstream that answers twice on one connection: the next client gets the answer to its own question."""
    twice = BY_NAME["two answers for one question"]
    assert defects(address, breaking, [(fault, way) for way in WAYS for fault in (twice, SOUND)]) == []


@pytest.mark.parametrize("stream", [False, True])
def test_the_row_says_what_the_client_got(serve: Any, upstream: Scripted, tmp_path: Path, stream: bool) -> None:
    """An answer that cannot be sent again is found before its row is written."""
    nested: Any = json.loads('{"a":' * 600 + "1" + "}" * 600)
    upstream.default = raw(json.dumps(completion("Canberra.", x=nested)).encode())
    ask = {
        "model": "m",
        "stream": stream,
        "messages": [{"role": "user", "content": "What is the capital of Australia?"}],
    }
    reply = httpx.post(f"{serve()}/v1/chat/completions", json=ask, timeout=60)
    assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_not_completion")
    rows = Counter((row["status"], row["reason"], row["http_status"]) for row in rows_of(tmp_path, 1))
    assert rows == {("failed", "upstream_not_completion", 502): 1}
