"""HTTP/1.1 as real clients speak it: offers of another protocol, chunked bodies, several requests on a connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import socket
import subprocess
import time
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from hedgerow.proxy.gateway.protocol import Http11
from tests.support.upstream import Upstream, says
from tests.support.waiting import until

BODY = json.dumps(
    {"model": "m", "messages": [{"role": "user", "content": "What is the capital of Australia?"}]}
).encode()
JDK_HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: %d\r\nHost: %s\r\n"
    b"HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nUpgrade: h2c\r\nUser-Agent: Java-http-client/17.0.15\r\n"
    b"Content-Type: application/json\r\n\r\n"
)
"""What JDK 17's HttpClient sends, as read from the wire."""
JAVA = """
import java.net.URI;
import java.net.http.*;
public class Ask {
    public static void main(String[] a) throws Exception {
        HttpClient client = HttpClient.newHttpClient();
        for (int i = 0; i < 2; i++) {
            HttpRequest ask = HttpRequest.newBuilder(URI.create(a[0])).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(a[1])).build();
            HttpResponse<String> got = client.send(ask, HttpResponse.BodyHandlers.ofString());
            System.out.println(got.statusCode() + " " + got.body().contains("Canberra"));
        }
    }
}
"""


def _answers(connection: socket.socket, count: int) -> list[tuple[bytes, bytes]]:
    """Status line and body of so many answers on a connection."""
    file, answers = connection.makefile("rb"), []
    for _ in range(count):
        status, length = file.readline().strip(), 0
        while line := file.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        answers.append((status, file.read(length)))
    return answers


def _connect(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


@pytest.mark.parametrize("mode", ["off", "on"])
@pytest.mark.parametrize("cut", ["together", "head first", "byte by byte"])
def test_an_offer_of_http2_does_not_cost_the_body(serve: Any, upstream: Upstream, cut: str, mode: str) -> None:
    """However the bytes arrive, and for the second request on the connection too."""
    upstream.default = says("Canberra.")
    address = serve(mode=mode)
    request = JDK_HEAD % (len(BODY), urlsplit(address).netloc.encode()) + BODY
    pieces = {
        "together": [request],
        "head first": [request[: -len(BODY)], request[-len(BODY) :]],
        "byte by byte": [request[i : i + 1] for i in range(len(request))],
    }[cut]
    with _connect(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            for piece in pieces:
                connection.sendall(piece)
            ((status, body),) = _answers(connection, 1)
            assert status == b"HTTP/1.1 200 OK"
            assert b"Canberra." in body
    assert [json.loads(sent)["messages"] for sent in upstream.raw_bodies] == [json.loads(BODY)["messages"]] * 2
    assert not {"upgrade", "http2-settings"} & set(upstream.headers[0])


def test_requests_behind_an_offer_are_answered_in_order(serve: Any, upstream: Upstream) -> None:
    """Three requests in one piece, the middle one with a chunked body and an offer."""
    upstream.default = says("Canberra.")
    address = serve(mode="off")
    host = urlsplit(address).netloc.encode()
    plain = b"POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n" % (host, len(BODY)) + BODY
    offer = b"POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nUpgrade: h2c\r\nConnection: upgrade\r\n" % host
    offer += b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    with _connect(address) as connection:
        connection.sendall(plain + offer + plain)
        assert [status for status, _ in _answers(connection, 3)] == [b"HTTP/1.1 200 OK"] * 3
    assert upstream.raw_bodies == [BODY] * 3


GET = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n"


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        (b"BREW /v1/models HTTP/1.1\r\nhost: x\r\n\r\n", 400, "no request of HTTP/1.1: Invalid method"),
        (b"\x16\x03\x01\x02\x00\x01\x00", 400, "no request of HTTP/1.1"),
        (b"CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n", 400, "no request of HTTP/1.1"),
        (
            GET + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
            "no request of HTTP/1.1: Duplicate Content-Length",
        ),
        (GET + b"host: x\r\n\r\n", 400, "names two hosts"),
        (b"GET /v1/models HTTP/1.1\r\n\r\n", 400, "names no host"),
        (GET + b"x-long: " + b"x" * 70_000 + b"\r\n\r\n", 431, "65,536 bytes"),
    ],
)
def test_what_cannot_be_read_is_refused_in_our_form(
    serve: Any, lines: Any, sent: bytes, status: int, says: str
) -> None:
    """Once, with a sentence, before there is a request; counted, and with a line in the log."""
    address = serve(mode="off")
    with _connect(address) as connection, connection.makefile("rb") as reply:
        connection.sendall(sent)
        head, _, body = reply.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    error = json.loads(body)["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "bad_request")
    assert says in error["message"]
    counted = f'hedgerow_refused_requests_total{{place="http",status="{status}"}} 1.0'
    until(lambda: counted in httpx.get(f"{address}/metrics").text)
    assert [(line["place"], line["http_status"]) for line in lines.of("refused")] == [("http", status)]


def test_what_is_refused_before_it_has_a_route_is_counted(serve: Any, lines: Any) -> None:
    """Addresses that can be read in two ways, and what our own endpoints and pages do not take."""
    address = serve(mode="off")
    for target in ("/v1/files/a%5Cb", "/v1/files/%FF", "/dashboard/%5C", "/v1/audit/unknown", "/nowhere"):
        assert httpx.get(address + target).status_code in (400, 404)
    httpx.post(address + "/v1/feedback", content=b"{")
    text = httpx.get(f"{address}/metrics").text
    for place, status, count in (("address", 400, 3), ("own", 404, 2), ("own", 400, 1)):
        assert f'hedgerow_refused_requests_total{{place="{place}",status="{status}"}} {count}.0' in text
    assert len(lines.of("refused")) == 6


@pytest.mark.parametrize("hosts", [b"Host: a\r\nHost: b\r\n", b"Host: a\r\nhost: a\r\n"])
def test_two_hosts_are_refused(serve: Any, upstream: Upstream, hosts: bytes) -> None:
    """A proxy before this one may have read the other (RFC 9112, 3.2)."""
    address = serve()
    with _connect(address) as connection:
        head = b"POST /v1/chat/completions HTTP/1.1\r\n%scontent-length: %d\r\n\r\n" % (hosts, len(BODY))
        connection.sendall(head + BODY)
        assert connection.makefile("rb").readline().startswith(b"HTTP/1.1 400")
    assert not upstream.calls


def test_a_head_without_end_is_refused(serve: Any) -> None:
    """The parser would keep 300 MB of it."""
    with _connect(serve(mode="off")) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nx-long: ")
        with contextlib.suppress(ConnectionError):
            for _ in range(40):
                connection.sendall(b"x" * 4096)
        assert connection.recv(100).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("mode", ["off", "on"])
def test_what_stands_behind_the_body_is_not_a_header(serve: Any, upstream: Upstream, mode: str) -> None:
    """Trailers pass whatever stands before the proxy and looks at headers: they must not become some."""
    seen: list[str] = []
    answer = says("Canberra.")

    def look(request: Any, body: Any) -> Any:
        seen.extend(str(value) for name, value in request.headers.items() if name == "authorization")
        return answer(request, body)

    upstream.default = look
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    with _connect(serve(mode=mode)) as connection:
        connection.sendall(head + b"%x\r\n%s\r\n0\r\nauthorization: Bearer another\r\n\r\n" % (len(BODY), BODY))
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")
    assert upstream.calls
    assert seen == []


@pytest.mark.parametrize(
    ("begin", "more"),
    [(b"2\r\n{}\r\n0\r\nx-long: ", b"x"), (b"2\r\n{}\r\n0\r\n", b"x-a: y\r\n"), (b"2;long=", b"x")],
    ids=["one trailer", "trailers", "a chunk's extension"],
)
def test_framing_without_end_is_refused(serve: Any, begin: bytes, more: bytes) -> None:
    """It belongs to no body, whose limit would hold."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    with _connect(serve(mode="off")) as connection:
        connection.sendall(head + begin)
        with contextlib.suppress(ConnectionError):
            for _ in range(40):  # 2.5 MB
                connection.sendall(more * (65_536 // len(more)))
        with contextlib.suppress(ConnectionError):  # it may be reset: what was sent is not all read
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("head", [b"x-long: " + b"x" * 70_000 + b"\r\n", b"x: y\r\n" * 20_000])
def test_a_large_head_is_refused_although_it_came_at_once(serve: Any, upstream: Upstream, head: bytes) -> None:
    """Its end and its body are there already when it is looked at."""
    with _connect(serve(mode="off")) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n" + head + b"\r\n{}")
        assert connection.recv(100).startswith(b"HTTP/1.1 431 ")
    assert upstream.calls == []


@pytest.mark.parametrize(
    "sent", [b"", b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n", JDK_HEAD % (len(BODY), b"x") + BODY[:-1]]
)
def test_a_client_that_stops_in_the_middle_loses_its_connection(
    serve: Any, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """Before its request, in its head, in its body."""
    monkeypatch.setattr(Http11, "HEAD_S", 0.3)
    monkeypatch.setattr(Http11, "IDLE_S", 0.3)
    with _connect(serve(mode="off")) as connection:
        connection.sendall(sent)
        assert connection.recv(100) == b""


def test_an_idle_connection_is_closed_and_one_in_use_is_kept(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One timer serves all requests of a connection: each of them puts the end off."""
    seconds = property(lambda _: 2.0, lambda *_: None)
    monkeypatch.setattr(Http11, "timeout_keep_alive", seconds, raising=False)
    with contextlib.closing(_connect(serve())) as connection:
        for _ in range(4):
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
            assert _answers(connection, 1)[0][0].endswith(b"200 OK")
            time.sleep(0.8)
        connection.settimeout(10)
        assert connection.recv(1) == b""


def test_a_client_that_waits_for_a_slow_answer_keeps_its_connection(
    serve: Any, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So does one that takes its time between two requests, as long as uvicorn's own keep-alive allows."""
    monkeypatch.setattr(Http11, "HEAD_S", 1.0)
    monkeypatch.setattr(Http11, "IDLE_S", 1.0)
    answer = says("Canberra.")

    async def slowly(request: Any, body: Any) -> Any:
        await asyncio.sleep(1.5)
        return answer(request, body)

    upstream.default = slowly
    with httpx.Client(base_url=serve(mode="off")) as client:
        for _ in range(2):
            reply = client.post("/v1/chat/completions", content=BODY, headers={"content-type": "application/json"})
            assert reply.status_code == 200
            time.sleep(1.5)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="there is no Java on this machine")
def test_a_stock_java_client(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """The JDK's own HttpClient, as it comes."""
    upstream.default = says("Canberra.")
    (tmp_path / "Ask.java").write_text(JAVA)
    target = serve(mode="on") + "/v1/chat/completions"
    command = ["java", "-XX:TieredStopAtLevel=1", str(tmp_path / "Ask.java"), target, BODY.decode()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split("\n")[:2] == ["200 true", "200 true"], done.stderr
