"""Connections to upstreams: whatever way an answer is framed or cut up it is read as sent, and nothing of one call reaches another."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.proxy.errors import UpstreamError, UpstreamTimeout
from hedgerow.proxy.upstreams.connections import KEEP_S, Connections, authority
from hedgerow.proxy.upstreams.wire import MOST_HEAD, MOST_HELD, Connection

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
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


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


async def heard(connection: Connection, pieces: list[bytes], *, ends: bool) -> tuple[int, bytes]:
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
        read = await heard(connection, cut((WHOLE | TO_THE_END)[kind], places), ends=kind in TO_THE_END)
        return read, connection.release()

    assert on_wire(work) == (READ, kind in WHOLE)


@pytest.mark.parametrize("kind", BROKEN)
def test_an_answer_that_breaks_off_or_is_not_one_is_an_error(kind: str) -> None:
    """Never a body that is shorter than it was to be, and never another call on that connection."""

    async def work(connection: Connection, wire: Wire) -> None:
        with pytest.raises(UpstreamError) as caught:
            await heard(connection, [BROKEN[kind]], ends=True)
        assert caught.value.code == "upstream_broken"
        assert not connection.release()
        assert wire.is_closing()

    on_wire(work)


@pytest.mark.parametrize(
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
        return await heard(connection, [answer], ends=False), connection.release()

    assert on_wire(work) == ((status, b""), True)


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\n", PLAIN, b"x"])
def test_a_connection_that_says_more_than_it_was_asked_is_not_used_again(more: bytes) -> None:
    """With its answer, or later: it would be taken for the answer to another call."""

    async def together(connection: Connection, _: Wire) -> tuple[tuple[int, bytes], bool]:
        return await heard(connection, [PLAIN + more], ends=False), connection.release()

    async def later(connection: Connection, _: Wire) -> tuple[bool, bool]:
        await heard(connection, [PLAIN], ends=False)
        kept = connection.release()
        connection.data_received(more)
        return kept, connection.is_usable(KEEP_S)

    assert on_wire(together) == (READ, False)
    assert on_wire(later) == (True, False)


def test_a_connection_is_not_used_again_just_when_its_server_may_close_it() -> None:
    """Servers close connections that were silent for 5 seconds; a request that crosses that on its way is lost, and nobody may repeat it."""

    async def work(connection: Connection, _: Wire) -> tuple[bool, bool]:
        await heard(connection, [PLAIN], ends=False)
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


class Upstream:
    """A server that answers each request as `speak` does; `heads` are those of the requests, `opened` counts its connections."""

    def __init__(self, speak: Speak | None, answer: bytes) -> None:
        self._speak, self._answer = speak, answer
        self.heads: list[bytes] = []
        self.opened = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.opened += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
                if self._speak is not None:
                    await self._speak(reader, writer)
                else:
                    writer.write(self._answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def connected(
    speak: Speak | None = None, answer: bytes = PLAIN, tls: Any = None, most: int = 8, silent_s: float = 30.0
) -> AsyncIterator[tuple[Upstream, Connections]]:
    """An upstream on this machine, and connections to it; `tls` is a server's context and a client's."""
    upstream = Upstream(speak, answer)
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0, ssl=tls[0] if tls else None)
    port = server.sockets[0].getsockname()[1]
    address = urlsplit(f"{'https' if tls else 'http'}://localhost:{port}/v1")
    connections = Connections("up", address, tls[1] if tls else None, most=most, connect_s=10.0, silent_s=silent_s)
    try:
        yield upstream, connections
    finally:
        await connections.aclose()
        server.close()


async def asked(
    connections: Connections, method: str = "POST", body: Any = b"hello", **named: str
) -> tuple[int, bytes]:
    """Status and body of an answer."""
    async with connections.ask(method, "/v1/x", list(named.items()), body) as answer:
        return answer.status, b"".join([piece async for piece in answer])


def test_calls_in_a_row_share_a_connection() -> None:
    """The request goes out as it is, with its length."""

    async def work() -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.readexactly(5) == b"hello"
            writer.write(PLAIN)

        async with connected(speak) as (upstream, connections):
            assert [await asked(connections, accept="*/*") for _ in range(3)] == [READ] * 3
            assert upstream.opened == 1
            first, *lines = upstream.heads[0].decode().split("\r\n")
            assert first == "POST /v1/x HTTP/1.1"
            assert sorted(lines[1:-2]) == ["accept: */*", "content-length: 5"]
            assert lines[0].startswith("host: localhost:")

    asyncio.run(work())


@pytest.mark.parametrize("answer", [PLAIN.replace(b"OK\r\n", b"OK\r\nconnection: close\r\n"), PLAIN + b"more"])
def test_a_connection_that_cannot_be_kept_is_not(answer: bytes) -> None:
    """The next call has one of its own."""

    async def work() -> None:
        async with connected(answer=answer) as (upstream, connections):
            assert [await asked(connections, body=b"") for _ in range(2)] == [READ] * 2
            assert upstream.opened == 2

    asyncio.run(work())


def test_an_answer_that_is_not_read_to_its_end_closes_its_connection() -> None:
    """The rest of it must not meet the next call."""

    async def work() -> None:
        async with connected(answer=BROKEN["too short"]) as (upstream, connections):
            async with connections.ask("POST", "/", [], b"") as answer:
                assert answer.status == 200
            async with connections.ask("POST", "/", [], b"") as answer:
                assert answer.status == 200
            assert upstream.opened == 2

    asyncio.run(work())


@pytest.mark.parametrize(("method", "repeated"), [("GET", True), ("POST", False)])
def test_a_request_is_repeated_only_where_that_does_no_harm(method: str, repeated: bool) -> None:
    """A server may close a connection just when it is used again; it may also have done the work."""

    async def work() -> tuple[int, Any]:
        async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            answered.append(writer)
            if len(answered) == 2:
                raise ConnectionResetError
            writer.write(PLAIN)

        answered: list[asyncio.StreamWriter] = []
        async with connected(speak) as (upstream, connections):
            assert await asked(connections, method, b"") == READ
            try:
                second: Any = await asked(connections, method, b"")
            except UpstreamError as error:
                second = error.code
            return len(upstream.heads), second

    assert asyncio.run(work()) == ((3, READ) if repeated else (2, "upstream_broken"))


def test_an_answer_without_a_body_by_its_method() -> None:
    """Whatever its head says of a body."""

    async def work() -> None:
        async with connected(answer=OK + b"content-length: 8\r\n\r\n") as (_, connections):
            assert await asked(connections, "HEAD", b"") == (200, b"")

    asyncio.run(work())


@pytest.mark.parametrize("value", ["a\r\nx-admin: 1", "a\nb", "a\rb", "a\0b"])
def test_no_header_becomes_two(value: str) -> None:
    """It goes nowhere."""

    async def work() -> int:
        async with connected() as (upstream, connections):
            with pytest.raises(UpstreamError):
                await asked(connections, authorization=value)
            return upstream.opened

    assert asyncio.run(work()) == 0


def test_no_more_connections_than_allowed() -> None:
    """A call waits for its turn, and a call that is cancelled while it waits takes nobody's."""

    async def work() -> None:
        async with connected(most=1) as (upstream, connections):
            async with connections.ask("POST", "/", [], b"") as answer:
                waiting = [asyncio.ensure_future(asked(connections)) for _ in range(3)]
                await asyncio.sleep(0)
                waiting[0].cancel()
                assert b"".join([piece async for piece in answer]) == JSON
            assert await asyncio.gather(*waiting[1:]) == [READ] * 2
            assert upstream.opened == 1

    asyncio.run(work())


def test_a_silent_upstream_is_given_up() -> None:
    """Before its answer, and in the middle of it."""

    async def work() -> None:
        for answer in (b"", BROKEN["too short"]):
            async with connected(answer=answer, silent_s=0.05) as (_, connections):
                with pytest.raises(UpstreamTimeout):
                    await asked(connections)

    asyncio.run(work())


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def test_a_body_is_sent_as_it_comes() -> None:
    """In chunks; an empty piece is not the end."""

    async def work() -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            sent.append(await reader.readuntil(b"0\r\n\r\n"))
            writer.write(PLAIN)

        sent: list[bytes] = []
        async with connected(speak) as (upstream, connections):
            assert await asked(connections, body=_pieces(b"one", b"", b"three")) == READ
            assert b"transfer-encoding: chunked\r\n" in upstream.heads[0]
            assert sent == [b"3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"]

    asyncio.run(work())


def test_a_large_body_arrives_whole() -> None:
    """Piece by piece."""

    async def work() -> None:
        body = bytes(range(256)) * 20_000

        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.readexactly(len(body)) == body
            writer.write(PLAIN)

        async with connected(speak) as (upstream, connections):
            assert [await asked(connections, body=body) for _ in range(2)] == [READ] * 2
            assert upstream.opened == 1

    asyncio.run(work())


def test_an_answer_may_come_before_the_request_is_sent() -> None:
    """A refusal, say. What is left of the request is not sent, and would be the beginning of another on that connection."""

    async def endless() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.Event().wait()

    async def work() -> None:
        async with connected() as (upstream, connections):
            assert await asked(connections, body=endless()) == READ
            assert await asked(connections, body=b"") == READ
            assert upstream.opened == 2

    asyncio.run(work())


def test_a_client_that_leaves_while_it_sends_ends_the_call() -> None:
    """With what its body raised."""

    class Left(Exception):
        pass

    async def leaving() -> AsyncIterator[bytes]:
        yield b"a"
        raise Left

    async def work() -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()

        async with connected(speak) as (_, connections):
            with pytest.raises(Left):
                await asked(connections, body=leaving())

    asyncio.run(work())


def test_a_call_that_is_cancelled_closes_its_connection() -> None:
    """The upstream sees that nobody waits any more."""

    async def work() -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked_for.set()
            assert await reader.read() == b""
            gone.set()

        asked_for, gone = asyncio.Event(), asyncio.Event()
        async with connected(speak) as (_, connections):
            call = asyncio.ensure_future(asked(connections, body=b""))
            await asked_for.wait()
            call.cancel()
            await asyncio.wait_for(gone.wait(), 10)

    asyncio.run(work())


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_an_upstream_that_is_not_there(host: str) -> None:
    """Says so at once."""

    async def work() -> str:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        connections = Connections("up", urlsplit(f"http://{host}:{port}"), None, most=1, connect_s=10, silent_s=10)
        with pytest.raises(UpstreamError) as caught:
            await asked(connections)
        return caught.value.code

    assert asyncio.run(work()) == "upstream_unreachable"


@pytest.mark.parametrize(
    ("address", "named"),
    [
        ("http://a.example/v1", "a.example"),
        ("https://a.example:443/v1", "a.example"),
        ("https://a.example:80/v1", "a.example:80"),
        ("http://[::1]:8000/v1", "[::1]:8000"),
        ("http://bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_how_a_host_is_named(address: str, named: str) -> None:
    """RFC 9110, 7.2; the last by RFC 3492."""
    assert authority(urlsplit(address)) == named


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of "localhost", signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(
            name, name, key.public_key(), x509.random_serial_number(), now, now + datetime.timedelta(1)
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "localhost.pem"
    plain = serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize("is_trusted", [True, False])
def test_only_a_server_that_is_who_it_says_is_asked(certificate: Path, is_trusted: bool) -> None:
    """Over TLS; a certificate that nobody vouches for is no server at all."""

    async def work() -> Any:
        server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        server.load_cert_chain(certificate)
        client = ssl.create_default_context(cafile=str(certificate) if is_trusted else None)
        async with connected(tls=(server, client)) as (upstream, connections):
            try:
                return [await asked(connections, body=b"") for _ in range(2)], upstream.opened
            except UpstreamError as error:
                return error.code

    assert asyncio.run(work()) == (([READ] * 2, 1) if is_trusted else "upstream_unreachable")
