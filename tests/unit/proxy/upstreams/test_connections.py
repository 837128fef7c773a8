"""The connections to an upstream, against a real server: kept, shared, given up, and nothing of one call reaches another."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hedgerow.proxy.config import HttpUpstream
from hedgerow.proxy.errors import UpstreamError, UpstreamTimeout
from hedgerow.proxy.protocols import Call
from hedgerow.proxy.upstreams.connections import Connections, authority
from hedgerow.proxy.upstreams.http import open_http
from tests.support.tables import cases

JSON = b'{"a": 1}'
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n" + JSON
TOO_SHORT = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n" + JSON
READ = (200, JSON)
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Upstream:
    """A server that answers each request as `speak` does; `heads` are those of the requests, `opened` counts its connections."""

    def __init__(self, speak: Speak | None, answer: bytes) -> None:
        self._speak, self._answer = speak, answer
        self.heads: list[bytes] = []
        self.opened = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        self.opened += 1
        with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError):  # its client leaves at the end
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head)
                if self._speak is not None:
                    await self._speak(reader, writer)
                else:
                    writer.write(self._answer)


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


def test_a_connection_rests_where_another_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an answer too many is seen before the connection is used again; without haste the last one is used, and the others may close."""

    async def work(rest_s: float) -> list[Any]:
        monkeypatch.setattr("hedgerow.proxy.upstreams.connections.REST_S", rest_s)
        async with connected() as (_, connections):
            taken = [await connections.take() for _ in range(3)]
            for connection in taken:
                answer = await connection.ask(b"GET / HTTP/1.1\r\n\r\n", b"")
                assert [piece async for piece in answer] == [JSON]
                connections.give_back(connection)
            used = []
            for _ in range(4):
                async with connections.ask("GET", "/", [], b"") as answer:
                    used.append(taken.index(answer._connection))
                    assert [piece async for piece in answer] == [JSON]
            return used

    assert asyncio.run(work(3600.0)) == [0, 1, 2, 0]
    assert asyncio.run(work(0.0)) == [2, 2, 2, 2]


@cases("answer", [PLAIN.replace(b"OK\r\n", b"OK\r\nconnection: close\r\n"), PLAIN + b"more"])
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
        async with connected(answer=TOO_SHORT) as (upstream, connections):
            async with connections.ask("POST", "/", [], b"") as answer:
                assert answer.status == 200
            async with connections.ask("POST", "/", [], b"") as answer:
                assert answer.status == 200
            assert upstream.opened == 2

    asyncio.run(work())


@cases(("method", "repeated"), [("GET", True), ("POST", False)])
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

    assert asyncio.run(work()) == ((3, READ) if repeated else (2, "upstream_unreachable"))


def test_a_call_of_our_own_is_made_again_where_its_connection_was_closed_under_it() -> None:
    """Drawing an answer twice costs tokens and nothing else: it counts among the `retries`, and the request does not fail."""
    body = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Oslo."}}]}'

    async def work() -> int:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(2)
            answered.append(writer)
            if len(answered) == 2:
                raise ConnectionResetError
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))

        answered: list[asyncio.StreamWriter] = []
        async with connected(speak) as (upstream, connections):
            address = f"http://{connections.authority}/v1"
            model = await open_http("up", HttpUpstream(provider="openai", base_url=address, retries=1))
            for _ in range(2):
                answer = await model.complete(Call("/chat/completions", {}))
                assert answer["choices"][0]["message"]["content"] == "Oslo."
            await model.aclose()
            return len(upstream.heads)

    assert asyncio.run(work()) == 3


def test_an_answer_without_a_body_by_its_method() -> None:
    """Whatever its head says of a body."""

    async def work() -> None:
        async with connected(answer=PLAIN.removesuffix(JSON)) as (_, connections):
            assert await asked(connections, "HEAD", b"") == (200, b"")

    asyncio.run(work())


@cases("value", ["a\r\nx-admin: 1", "a\nb", "a\rb", "a\0b"])
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
        for answer in (b"", TOO_SHORT):
            async with connected(answer=answer, silent_s=0.05) as (_, connections):
                with pytest.raises(UpstreamTimeout):
                    await asked(connections)

    asyncio.run(work())


def test_a_head_that_comes_byte_by_byte_for_ever_is_given_up() -> None:
    """Although each byte comes in less time than an upstream may be silent."""

    async def speak(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nx-long: ")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def work() -> None:
        async with connected(speak, silent_s=0.2) as (_, connections):
            with pytest.raises(UpstreamTimeout):
                await asyncio.wait_for(asked(connections), 30)

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


@cases("host", ["127.0.0.1", "no-such-host.invalid"])
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


@cases(
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
    return certified(tmp_path_factory.mktemp("tls") / "localhost.pem", days=1)


def certified(path: Path, *, days: int) -> Path:
    """The same, valid until then."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(
            *(name, name, key.public_key(), x509.random_serial_number()),
            *(now - datetime.timedelta(9), now + datetime.timedelta(days)),
        )
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@cases("is_trusted", [True, False])
def test_only_a_server_that_is_who_it_says_is_asked(certificate: Path, is_trusted: bool) -> None:
    """Over TLS; a server whose certificate nobody vouches for is not connected to."""

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


@pytest.mark.parametrize("fault", ["", "no proxy", "refuses"])
def test_an_upstream_behind_a_proxy_of_the_environment(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Through a tunnel, with the proxy's own user; `NO_PROXY` leads past it, and a proxy that refuses is named."""
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        if fault == "refuses":
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            writer.close()
            return
        host, port = heads[0].split(b" ")[1].split(b":")
        there, back = await asyncio.open_connection(host.decode(), int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with closing(target), suppress(ConnectionError):
                while data := await source.read(4096):
                    target.write(data)

        await asyncio.gather(copy(reader, back), copy(there, writer))

    async def work() -> Any:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{server.sockets[0].getsockname()[1]}")
        monkeypatch.setenv("NO_PROXY", "localhost" if fault == "no proxy" else "elsewhere.example")
        held = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        held.load_cert_chain(certificate)
        async with connected(tls=(held, ssl.create_default_context(cafile=str(certificate)))) as (_, connections):
            try:
                return [await asked(connections, body=b"") for _ in range(2)]
            except UpstreamError as error:
                return error.cause
            finally:
                server.close()

    got = asyncio.run(work())
    if fault == "refuses":
        assert "the proxy of HTTPS_PROXY answered" in got
        assert "407" in got
    else:
        assert got == [READ] * 2
    assert len(heads) == (fault != "no proxy")
    assert all(b"proxy-authorization: Basic bWU6cEBzcw==" in head for head in heads)


def test_an_address_of_ipv6_stands_in_brackets_for_a_proxy_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 9110, 7.2 and 9.3.6."""
    heads: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            heads.append(await reader.readuntil(b"\r\n\r\n"))

    async def work() -> None:
        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        monkeypatch.setenv("HTTPS_PROXY", f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        address = urlsplit("https://[2001:db8::1]:8443/v1")
        with pytest.raises(UpstreamError):
            await asked(Connections("up", address, None, most=1, connect_s=10, silent_s=10))
        server.close()

    asyncio.run(work())
    assert heads == [b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nhost: [2001:db8::1]:8443\r\n\r\n"]


CAUSES = {
    "expired": "SSLCertVerificationError: certificate has expired",
    "unknown": "SSLCertVerificationError: self-signed certificate",
    "other name": "SSLCertVerificationError: IP address mismatch",
    "no TLS": "wrong version number (does this port speak TLS?)",
    "waits": "ConnectionAbortedError: SSL handshake is taking longer",
    "TLS": "ConnectionError: the port speaks TLS: use https",
    "refused": "ConnectionRefusedError: Connection refused",
    "DNS": "gaierror: ",
}


@pytest.mark.parametrize("fault", CAUSES)
def test_an_operator_is_told_why_an_upstream_cannot_be_reached(certificate: Path, tmp_path: Path, fault: str) -> None:
    """The class and the reason; the client reads none of it."""

    async def work() -> UpstreamError:
        held = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        file = certified(tmp_path / "old.pem", days=-1) if fault == "expired" else certificate
        held.load_cert_chain(file)
        client = ssl.create_default_context(cafile=None if fault == "unknown" else str(file))

        async def speaks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with closing(writer), suppress(ConnectionError):
                await reader.read(-1 if fault == "waits" else 1)
                writer.write(b"\x15\x03\x01\0\2\2\x28" if fault == "TLS" else PLAIN)

        has_tls = fault in ("expired", "unknown", "other name")
        server = await asyncio.start_server(speaks, "127.0.0.1", 0, ssl=held if has_tls else None)
        port = server.sockets[0].getsockname()[1]
        if fault == "refused":
            server.close()
        host = {"other name": "127.0.0.1", "DNS": "no-such-host.invalid"}.get(fault, "localhost")
        address = urlsplit(f"{'http' if fault in ('TLS', 'refused') else 'https'}://{host}:{port}/v1")
        tls = client if address.scheme == "https" else None
        connections = Connections("up", address, tls, most=1, connect_s=2.0, silent_s=5.0)
        with pytest.raises(UpstreamError) as caught:
            await asked(connections)
        server.close()
        return caught.value

    error = asyncio.run(work())
    assert CAUSES[fault] in (error.cause or "")
    assert (error.cause or "?") not in str(error.body())
