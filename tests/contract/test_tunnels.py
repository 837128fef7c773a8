"""WebSockets are requests: decided like all others before anything is opened, and ended when they would not be let in again."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hedgerow.proxy.audit import keys
from tests.contract.test_failures import rows_of
from tests.support.keys import in_one_minute, new_key, on_store
from tests.support.raw_upstream import OPEN, RawUpstream
from tests.support.upstream import Upstream, raw
from tests.support.waiting import until
from tests.support.wire import Reply, answer, ask, connect, head

UPGRADE = ("connection: keep-alive, Upgrade", "upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: eA==")  # fmt: skip
REALTIME = "/v1/realtime?model=gpt-realtime"
SECOND = b"POST /v1/internal/admin HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}"


@pytest.fixture
def far() -> Iterator[RawUpstream]:
    """An upstream that opens every WebSocket, and sends back what it hears."""
    with RawUpstream(OPEN).serving() as upstream:
        yield upstream


@pytest.fixture
def proxy(serve: Any, far: RawUpstream) -> Any:
    """A proxy before it."""

    def start(**options: Any) -> str:
        own = options.pop("upstream_settings", {})
        address: str = serve(upstream_settings={"base_url": far.url} | own, **({"mode": "off"} | options))
        return address

    return start


def shake(address: str, target: str = REALTIME, *lines: str, then: bytes = b"") -> socket.socket:
    """A connection that has asked for a WebSocket."""
    connection = connect(address)
    connection.sendall(head(address, "GET", target, *UPGRADE, *lines) + then)
    return connection


def opened(connection: socket.socket) -> socket.socket:
    """The connection, once its WebSocket is open."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = connection.recv(1)
        assert more, got
        got += more
    assert got.startswith(b"HTTP/1.1 101 "), got
    return connection


def heard(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or what there was until the end."""
    got = b""
    while len(got) < size and (more := connection.recv(65536)):
        got += more
    return got


def refused(address: str, *lines: str, target: str = REALTIME, host: str | None = None) -> Reply:
    """The answer to a request for a WebSocket that is not opened."""
    return ask(address, "GET", target, *UPGRADE, *lines, host=host)


@pytest.mark.parametrize("status", [b"200 OK", b"400 Bad Request", b"426 Upgrade Required", b"302 Found"])
@pytest.mark.parametrize(
    "framing", [b"content-length: 5\r\n\r\nhello", b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
)
@pytest.mark.parametrize("when", ["with it", "after it"])
def test_what_is_not_opened_is_an_ordinary_answer(
    proxy: Any, far: RawUpstream, tmp_path: Path, status: bytes, framing: bytes, when: str
) -> None:
    """It comes with its length, and both connections end: no second request goes up behind a refused one."""
    far.say = lambda _head: iter([b"HTTP/1.1 " + status + b"\r\nlocation: /x\r\nconnection: keep-alive\r\n" + framing])
    with shake(proxy(), then=SECOND if when == "with it" else b"") as connection:
        reply = answer(connection)
        assert (reply.status, reply.body) == (int(status[:3]), b"hello")
        assert reply.headers["connection"] == "close"
        if when == "after it":
            with contextlib.suppress(ConnectionError):
                connection.sendall(SECOND)
                assert connection.recv(100) == b""
    assert len(far.seen(1)) == 1
    until(lambda: far.ended == 1)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["http_status"]) == ("passed", "not_generating", reply.status)
    assert len(far.heads) == 1
    assert far.talk == b""


def test_what_is_said_too_early_is_no_request(proxy: Any, far: RawUpstream) -> None:
    """It waits until the WebSocket is open, and belongs to it."""
    with opened(shake(proxy(), then=SECOND)) as connection:
        assert heard(connection, len(SECOND)) == SECOND
    assert len(far.heads) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
def test_only_get_opens_a_websocket(serve: Any, upstream: Upstream, method: str) -> None:
    """Any other method is what it says, with its body, and without the offer."""
    seen: list[str] = []

    def reply(request: Any, _body: Any) -> Any:
        seen.append(request.method)
        return raw(b"{}")(request, {})

    upstream.default = reply
    body = b'{"model": "m"}'
    came = ask(serve(mode="off"), method, "/v1/files", *UPGRADE, "content-type: application/json", body=body)
    assert came.status == 200
    assert seen == [method]
    assert upstream.raw_bodies == [body]
    assert "upgrade" not in upstream.headers[0]


def test_a_get_with_a_body_opens_none(serve: Any, upstream: Upstream) -> None:
    """Nor does one that offers two protocols: a server may ignore an offer, and does."""
    upstream.default = raw(b"{}")
    address = serve(mode="off")
    assert ask(address, "GET", "/v1/files", *UPGRADE, body=b"{}").status == 200
    assert ask(address, "GET", "/v1/files", *UPGRADE, "upgrade: h2c").status == 200
    assert not [headers for headers in upstream.headers if "upgrade" in headers]


@pytest.mark.parametrize(
    "target", ["/v1/realtime?model=cheap&model=dear", "/openai/deployments/dear/realtime?model=cheap", "/openai/realtime?deployment=dear&model=cheap"]
)  # fmt: skip
def test_two_models_open_none(proxy: Any, far: RawUpstream, target: str) -> None:
    """The one reader of addresses reads this one too."""
    reply = refused(proxy(), target=target)
    assert (reply.status, reply.error["param"]) == (400, "model")
    assert far.heads == []


def test_a_limited_key_opens_what_it_may(serve: Any, far: RawUpstream, tmp_path: Path) -> None:
    """By the model in the address; where what is said inside names the model, none."""
    key = new_key(f"sqlite:///{tmp_path}/audit.db", "small", routes=("cheap",))
    routes = [{"name": name, "upstream": "scripted", "match": {"model": f"{name}*"}} for name in ("cheap", "dear")]
    address = serve(upstream_settings={"base_url": far.url}, settings={"routes": routes})
    bearer = f"authorization: Bearer {key}"
    for target, status in (
        ("/v1/realtime?model=dear-1", 403),
        ("/openai/deployments/dear-1/realtime", 403),
        ("/v1/realtime", 403),
        ("/v1/responses?model=cheap-1", 403),
        ("/v1/realtime?model=other", 403),
    ):
        assert refused(address, bearer, target=target).status in (status, 404), target
    assert far.heads == []
    opened(shake(address, "/v1/realtime?model=cheap-1", bearer)).close()
    opened(
        shake(address, "/v1/realtime?model=cheap-1", f"sec-websocket-protocol: realtime, openai-insecure-api-key.{key}")
    ).close()
    assert len(far.seen(2)) == 2
    assert key.encode() not in b"".join(far.heads)


@pytest.mark.parametrize("path", ["/v1/../admin/secret", "/v1/%2e%2e/admin", "/v1/admin/routes", "/v1/feedback", "/v1/Admin//routes", "/dashboard", "/v1/..;/x", "/v1\\x", "/"])  # fmt: skip
def test_what_http_refuses_is_refused(proxy: Any, far: RawUpstream, path: str) -> None:
    """Own paths and dots, with the configured key waiting."""
    reply = refused(proxy(upstream_settings={"api_key": "sk-secret"}), target=path)
    assert reply.status in (400, 404)
    assert far.heads == []


def test_a_page_of_another_origin_opens_none(proxy: Any, far: RawUpstream) -> None:
    """Browsers ask nobody before they open a WebSocket, and pages choose the key among its subprotocols."""
    address = proxy(upstream_settings={"api_key": "sk-secret"})
    evil = "origin: https://evil.example"
    for lines in ((evil,), (evil, "sec-websocket-protocol: openai-insecure-api-key.guessed"), ("origin: null",)):
        reply = refused(address, *lines)
        assert (reply.status, reply.error["code"]) == (403, "cross_site")
    rebound = refused(address, "origin: http://evil.example:4000", host="evil.example:4000")
    assert (rebound.status, rebound.error["code"]) == (403, "cross_site")
    assert far.heads == []
    opened(shake(address, REALTIME, f"origin: {address}")).close()
    listed = proxy(settings={"server": {"allowed_origins": ["https://chat.example"]}})
    opened(shake(listed, REALTIME, "origin: https://chat.example")).close()


@pytest.mark.parametrize("say", [[], [b"HTTP/1.1 101 Switching"]], ids=["nothing", "half a head"])
@pytest.mark.parametrize(
    "limit", [{"upstream_settings": {"timeout_s": 0.5}}, {"deadline_s": 0.5}], ids=["upstream", "route"]
)
def test_a_silent_upstream_costs_a_timeout(
    proxy: Any, far: RawUpstream, tmp_path: Path, say: list[bytes], limit: dict[str, Any]
) -> None:
    """As for every other request."""
    far.say = lambda _head: iter(say)
    reply = refused(proxy(**limit))
    assert (reply.status, reply.error["code"]) == (504, "upstream_timeout")
    until(lambda: far.ended == 1)
    assert [(row["status"], row["http_status"]) for row in rows_of(tmp_path, 1)] == [("failed", 504)]


@pytest.mark.parametrize(
    "say",
    [
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n",
        b"no HTTP\r\n\r\n",
    ],
)
def test_an_odd_answer_is_502(proxy: Any, far: RawUpstream, say: bytes) -> None:
    """Nothing of it reaches the client."""
    far.say = lambda _head: iter([say])
    assert refused(proxy()).status == 502


def _ends_with(proxy: Any, tmp_path: Path, end: Any, **key: Any) -> dict[str, Any]:
    """The row of an open WebSocket that has ended by itself after `end`."""
    url = f"sqlite:///{tmp_path}/audit.db"
    secret = new_key(url, "voice", **key)
    with opened(shake(proxy(), REALTIME, f"authorization: Bearer {secret}")) as connection:
        connection.sendall(b"hello")
        assert heard(connection, 5) == b"hello"
        end(url, connection)
        began = time.monotonic()
        while connection.recv(65536):
            continue
        assert time.monotonic() - began < 30
    (row,) = rows_of(tmp_path, 1)
    return row


def test_a_revoked_key_ends_its_tunnel(proxy: Any, far: RawUpstream, tmp_path: Path) -> None:
    """Within seconds, on both sides, with the one row."""
    row = _ends_with(proxy, tmp_path, lambda url, _: on_store(url, keys.revoke, "voice", actor="test"))
    assert (row["status"], row["reason"], row["http_status"]) == ("failed", "invalid_api_key", 101)
    assert row["tokens_answer"] == 2
    until(lambda: far.ended == 1)


def test_an_expired_key_ends_its_tunnel(proxy: Any, tmp_path: Path) -> None:
    """At its time, without any change of the store."""
    row = _ends_with(proxy, tmp_path, lambda *_: None, expires_at=time.time() + 4)
    assert (row["status"], row["reason"]) == ("failed", "invalid_api_key")


def test_a_key_that_loses_its_route_ends_its_tunnel(proxy: Any, tmp_path: Path) -> None:
    """What was decided once is decided again."""
    row = _ends_with(
        proxy, tmp_path, lambda url, _: on_store(url, keys.change, "voice", {"routes": ["another"]}, actor="test")
    )
    assert (row["status"], row["reason"]) == ("failed", "route_not_allowed")


def test_tokens_are_counted_as_they_flow(proxy: Any, tmp_path: Path) -> None:
    """Four bytes each, for want of a better count; a limit ends the tunnel, and holds for the next one."""
    in_one_minute(20)

    def talk(_url: str, connection: socket.socket) -> None:
        connection.sendall(b"x" * 40_000)
        assert heard(connection, 40_000) == b"x" * 40_000
        time.sleep(1.5)
        connection.sendall(b"x" * 40_000)

    row = _ends_with(proxy, tmp_path, talk, tokens_per_minute=5000)
    assert (row["status"], row["reason"]) == ("failed", "rate_limit_exceeded")
    assert row["tokens_answer"] >= 20_000


def test_a_tunnel_takes_a_slot_of_its_key(proxy: Any, tmp_path: Path) -> None:
    """As long as it is open."""
    secret = new_key(f"sqlite:///{tmp_path}/audit.db", "voice", concurrency=1)
    address, bearer = proxy(), f"authorization: Bearer {secret}"
    with opened(shake(address, REALTIME, bearer)):
        assert refused(address, bearer).status == 429

    def is_opened() -> bool:
        with shake(address, REALTIME, bearer) as connection:
            return connection.recv(12).endswith(b"101")

    until(is_opened)


def test_bytes_and_time_are_counted(proxy: Any, far: RawUpstream, lines: Any, tmp_path: Path) -> None:
    """In a row, a line and counters, whichever side ends; the last bytes of a side that ends arrive."""
    address = proxy()
    long = bytes(range(256)) * 20_000
    with opened(shake(address)) as connection:
        sender = connection.dup()
        thread = threading.Thread(target=sender.sendall, args=(long,))
        thread.start()
        assert heard(connection, len(long)) == long
        thread.join()
        sender.close()
    until(lambda: far.ended == 1)
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"], row["http_status"]) == ("passed", "not_generating", 101)
    (line,) = until(lambda: lines.of("tunnel_closed"))
    assert (line["sent"], line["received"]) == (len(long), len(long))
    figures = httpx.get(address + "/metrics").text
    assert float(re.search(r'tunnel_bytes_total{direction="sent",route="test"} (\S+)', figures)[1]) == len(long)  # type: ignore[index]
    far.say = lambda _head: iter([OPEN + b"at once", b"and later"])
    with opened(shake(address)) as connection:
        assert heard(connection, 16) == b"at onceand later"
        far.hang_up()
        assert connection.recv(1) == b""


@pytest.mark.parametrize("leaves", ["before", "while it waits"])
def test_a_client_that_leaves_before_it_is_open(proxy: Any, far: RawUpstream, tmp_path: Path, leaves: str) -> None:
    """Its request upstream ends, and its row says so."""
    far.say = lambda _head: iter([])
    connection = shake(proxy())
    if leaves == "while it waits":
        far.seen(1)
        time.sleep(0.2)
    connection.close()
    (row,) = rows_of(tmp_path, 1)
    assert (row["status"], row["reason"]) == ("cancelled", "client_gone")
    until(lambda: far.ended == len(far.connections))


def test_a_group_opens_it_at_its_first_member(serve: Any, far: RawUpstream, tmp_path: Path) -> None:
    """Like everything that generates no text, with a circuit and a span of its own."""
    one = {"provider": "openai", "base_url": far.url}
    both = {"a": one, "b": one, "both": {"provider": "group", "members": {"a": 1, "b": 1}}}
    settings = {"upstreams": both, "routes": [{"name": "test", "upstream": "both"}]}
    with opened(shake(serve(settings=settings))) as connection:
        connection.sendall(b"hi")
        assert heard(connection, 2) == b"hi"
    (row,) = rows_of(tmp_path, 1)
    assert (row["upstream"], row["http_status"]) == ("a", 101)


def test_an_upstream_without_websockets(serve: Any) -> None:
    """A model in this process has none: an error object."""
    settings = {"upstreams": {"own": {"provider": "embedded"}}, "routes": [{"name": "test", "upstream": "own"}]}
    pytest.importorskip("xllamacpp")
    reply = refused(serve(settings=settings))
    assert (reply.status, json.loads(reply.body)["error"]["code"]) == (404, "unknown_path")
