"""One connection to an upstream, over a wire of the test's own: whatever way an answer is framed or cut up it is read as sent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import UpstreamError
from hedgerow.proxy.upstreams.connections import KEEP_S
from hedgerow.proxy.upstreams.wire import MOST_HEAD, MOST_HELD, Connection
from tests.support.tables import cases

OK = b"HTTP/1.1 200 OK\r\n"
JSON = b'{"a": 1}'
PLAIN = OK + b"content-length: 8\r\n\r\n" + JSON
READ = (200, JSON)
WHOLE = {
    "with its length": PLAIN,
    "in chunks": OK
    + b"Transfer-Encoding: chunked\r\n\r\n3\r\n"
    + JSON[:3]
    + b"\r\n5;a=b\r\n"
    + JSON[3:]
    + b"\r\n0\r\n\r\n",
    "with trailers": OK + b"transfer-encoding: chunked\r\n\r\n8\r\n" + JSON + b"\r\n0\r\nx-late: 1\r\n\r\n",
    "behind interim ones": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + PLAIN,
    "with bare line feeds": PLAIN.replace(b"\r\n", b"\n"),
}
TO_THE_END = {"of no length": OK + b"\r\n" + JSON, "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + JSON}
BROKEN = {
    "too short": OK + b"content-length: 9\r\n\r\n" + JSON,
    "an unfinished chunk": OK + b"transfer-encoding: chunked\r\n\r\n9\r\n" + JSON,
    "chunks without an end": OK + b"transfer-encoding: chunked\r\n\r\n8\r\n" + JSON + b"\r\n",
    "no size of a chunk": OK + b"transfer-encoding: chunked\r\n\r\nsize\r\n",
    "two framings": OK + b"content-length: 8\r\ntransfer-encoding: chunked\r\n\r\n8\r\n" + JSON + b"\r\n0\r\n\r\n",
    "two lengths": OK + b"content-length: 8\r\ncontent-length: 9\r\n\r\n" + JSON,
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "half a head": OK + b"content-le",
    "nothing": b"",
    "a head without an end": OK + b"".join(b"x-%d: %s\r\n" % (i, b"y" * 1000) for i in range(MOST_HEAD // 1000 + 1)),
    "interim ones without an end": b"HTTP/1.1 100 Continue\r\n\r\n" * (MOST_HEAD // 25 + 1),
}


class Wire(asyncio.Transport):
    """A transport on which a test says what comes."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__({"socket": end})
        self.sent = b""
        self.is_read = True
        self.is_open = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Keep it."""
        self.sent += data

    def get_write_buffer_size(self) -> int:
        """Everything is sent at once."""
        return 0

    def pause_reading(self) -> None:
        """Nothing more is wanted."""
        self.is_read = False

    def resume_reading(self) -> None:
        """More is wanted."""
        self.is_read = True

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return not self.is_open

    def abort(self) -> None:
        """Close it."""
        self.is_open = False


def on_wire(work: Callable[[Connection, Wire], Awaitable[Any]]) -> Any:
    """What work finds out with a connection whose upstream is the test."""

    async def run() -> Any:
        near, far = socket.socketpair()
        with near, far:
            connection, wire = Connection("up", 60.0), Wire(near)
            connection.connection_made(wire)
            return await work(connection, wire)

    return asyncio.run(run())


async def received(connection: Connection, pieces: list[bytes], *, ends: bool) -> tuple[int, bytes]:
    """Status and body of an answer that comes in these pieces."""
    call = asyncio.ensure_future(connection.ask(b"GET / HTTP/1.1\r\n\r\n", b""))
    await asyncio.sleep(0)
    for piece in pieces:
        connection.data_received(piece)
    if ends:
        connection.connection_lost(None)
    answer = await call
    return answer.status, b"".join([piece async for piece in answer])


def cut(whole: bytes, places: list[int]) -> list[bytes]:
    """The same in pieces."""
    ends = sorted({min(place, len(whole)) for place in places} | {0, len(whole)})
    return [whole[a:b] for a, b in pairwise(ends)]


@given(st.sampled_from([*WHOLE, *TO_THE_END]), st.lists(st.integers(0, 200), max_size=8))
def test_an_answer_is_read_as_it_was_sent_however_it_is_cut_up(kind: str, places: list[int]) -> None:
    """A connection may be used again where the answer says itself where it ends."""

    async def work(connection: Connection, _: Wire) -> tuple[tuple[int, bytes], bool]:
        read = await received(connection, cut((WHOLE | TO_THE_END)[kind], places), ends=kind in TO_THE_END)
        return read, connection.release()

    assert on_wire(work) == (READ, kind in WHOLE)


@cases("kind", BROKEN)
def test_an_answer_that_breaks_off_or_is_not_one_is_an_error(kind: str) -> None:
    """Never a body that is shorter than it was to be, and never another call on that connection."""

    async def work(connection: Connection, wire: Wire) -> None:
        with pytest.raises(UpstreamError) as caught:
            await received(connection, [BROKEN[kind]], ends=True)
        assert caught.value.code == "upstream_broken"
        assert not connection.release()
        assert wire.is_closing()

    on_wire(work)


@cases(
    ("answer", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 8\r\n\r\n", 304),
        (OK + b"content-length: 0\r\n\r\n", 200),
    ],
)
def test_some_answers_have_no_body(answer: bytes, status: int) -> None:
    """They end with their heads."""

    async def work(connection: Connection, _: Wire) -> tuple[tuple[int, bytes], bool]:
        return await received(connection, [answer], ends=False), connection.release()

    assert on_wire(work) == ((status, b""), True)


@cases("more", [b"HTTP/1.1 200 OK\r\n", PLAIN, b"x"])
def test_a_connection_that_says_more_than_it_was_asked_is_not_used_again(more: bytes) -> None:
    """With its answer, or later: it would be taken for the answer to another call."""

    async def together(connection: Connection, _: Wire) -> tuple[tuple[int, bytes], bool]:
        return await received(connection, [PLAIN + more], ends=False), connection.release()

    async def later(connection: Connection, _: Wire) -> tuple[bool, bool]:
        await received(connection, [PLAIN], ends=False)
        kept = connection.release()
        connection.data_received(more)
        return kept, connection.is_usable(KEEP_S)

    assert on_wire(together) == (READ, False)
    assert on_wire(later) == (True, False)


def test_a_connection_is_not_used_again_just_when_its_server_may_close_it() -> None:
    """Servers close connections that were silent for 5 seconds; a request that crosses that on its way is lost, and nobody may repeat it."""

    async def work(connection: Connection, _: Wire) -> tuple[bool, bool]:
        await received(connection, [PLAIN], ends=False)
        connection.release()
        soon = connection.is_usable(KEEP_S)
        connection.idle_since -= 4.5
        return soon, connection.is_usable(KEEP_S)

    assert on_wire(work) == (True, False)


def test_what_was_said_but_not_read_yet_counts_too() -> None:
    """The loop may not have come to it."""

    async def run() -> tuple[bool, bool]:
        near, far = socket.socketpair()
        with near, far:
            connection = Connection("up", 60.0)
            connection.connection_made(Wire(near))
            before = connection.is_usable(KEEP_S)
            far.send(b"x")
            return before, connection.is_usable(KEEP_S)

    assert asyncio.run(run()) == (True, False)


def test_an_answer_that_nobody_reads_is_not_fetched() -> None:
    """A slow client holds the upstream back, and memory stays bounded."""

    async def work(connection: Connection, wire: Wire) -> None:
        call = asyncio.ensure_future(connection.ask(b"GET / HTTP/1.1\r\n\r\n", b""))
        await asyncio.sleep(0)
        connection.data_received(OK + b"\r\n" + b"a" * MOST_HELD)
        assert wire.is_read
        connection.data_received(b"b")
        assert not wire.is_read
        answer = await call
        assert await anext(answer) == b"a" * MOST_HELD + b"b"
        assert wire.is_read

    on_wire(work)


def test_what_came_before_an_answer_broke_off_is_handed_on() -> None:
    """As far as it goes."""

    async def work(connection: Connection, _: Wire) -> None:
        call = asyncio.ensure_future(connection.ask(b"GET / HTTP/1.1\r\n\r\n", b""))
        await asyncio.sleep(0)
        connection.data_received(BROKEN["too short"])
        connection.connection_lost(ConnectionResetError())
        answer = await call
        assert await anext(answer) == JSON
        with pytest.raises(UpstreamError):
            await anext(answer)

    on_wire(work)
