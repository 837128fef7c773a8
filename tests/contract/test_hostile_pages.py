"""What web pages may make a browser send: nothing to a proxy whose pages they are not, under whatever name they found it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.test_failures import rows_of
from tests.support.keys import new_key
from tests.support.upstream import Upstream, raw
from tests.support.wire import ask, head, send

CHAT, JSON = "/v1/chat/completions", "content-type: application/json"
BODY = b'{"model": "m"}'
EVIL = "evil.example:4000"


def test_a_page_that_lets_its_name_resolve_to_this_machine_is_refused(
    serve: Any, upstream: Upstream, tmp_path: Any
) -> None:
    """DNS rebinding: the browser takes the proxy for the page's own server, and sends any header and body."""
    upstream.default = raw(b"{}")
    address = serve(mode="off", upstream_settings={"api_key": "sk-secret"})
    origin = f"origin: http://{EVIL}"
    for lines, method, target in (
        ((origin, JSON), "POST", CHAT),
        ((origin, JSON, "authorization: Bearer guessed", "x-forwarded-for: 10.1.2.3"), "POST", CHAT),
        ((), "GET", "/v1/files"),
        ((origin, JSON), "POST", "/v1/feedback"),
        ((), "GET", "/v1/audit/hr_x"),
        ((), "GET", "/v1/models"),
        ((), "GET", "/dashboard"),
    ):
        for host in (EVIL, "evil.example", "evil.example.", "127.0.0.1.evil.example", "localhost.evil.example:80"):
            reply = ask(address, method, target, *lines, host=host, body=BODY if method == "POST" else None)
            assert reply.status == 403, (method, target, lines, host, reply)
    assert upstream.calls == []
    rows = {(row["status"], row["reason"], row["http_status"]) for row in rows_of(tmp_path, 5)}
    assert rows == {("failed", "cross_site", 403)}


def test_names_of_this_machine_and_its_network_are_known(serve: Any, upstream: Upstream) -> None:
    """And those that the configuration lists, and any name beside a key that is known here."""
    upstream.default = raw(b"{}")
    address = serve(mode="off")
    for host in ("localhost:4000", "127.0.0.1", "[::1]:4000", "hedgerow", "host.docker.internal:4000", "10.0.0.7"):
        assert ask(address, "POST", CHAT, JSON, host=host, body=BODY).status == 200, host
    listed = serve(mode="off", settings={"server": {"allowed_origins": [f"https://{EVIL}"]}})
    assert ask(listed, "POST", CHAT, JSON, host=EVIL, body=BODY).status == 200
    anybody = serve(mode="off", settings={"server": {"allowed_origins": ["*"]}})
    assert ask(anybody, "POST", CHAT, JSON, host=EVIL, body=BODY).status == 200


def test_a_known_key_is_no_pages(serve: Any, upstream: Upstream, tmp_path: Any) -> None:
    """Behind a proxy that passes its own name on, whoever sends a key is answered."""
    upstream.default = raw(b"{}")
    admin = "an-admin-key-of-the-tests"
    key = new_key(f"sqlite:///{tmp_path}/audit.db", "client")
    address = serve(mode="off", settings={"server": {"admin_key": admin}})
    bearer = f"authorization: Bearer {key}"
    assert ask(address, "POST", CHAT, JSON, bearer, "origin: https://chat.example", host=EVIL, body=BODY).status == 200
    assert ask(address, "GET", "/v1/admin/routes", f"authorization: Bearer {admin}", host=EVIL).status == 200
    assert ask(address, "GET", "/v1/admin/routes", host=EVIL).status == 403


@pytest.mark.parametrize("lines", [("host:",), ()])
def test_a_request_without_a_host_is_refused(serve: Any, upstream: Upstream, lines: tuple[str, ...]) -> None:
    """HTTP/1.1 asks for one; probes that speak HTTP/1.0 need none."""
    address = serve(mode="off")
    upstream.default = raw(b"{}")
    named = head(address, "POST", CHAT, *lines, JSON, f"content-length: {len(BODY)}", host="")
    assert send(address, named + BODY, "POST").status == 400
    assert upstream.calls == []
    if not lines:
        assert send(address, named.replace(b"HTTP/1.1", b"HTTP/1.0") + BODY, "POST").status == 200


def test_a_page_of_another_origin_gives_no_verdicts(serve: Any) -> None:
    """The check stands before our own endpoints too."""
    address = serve(mode="off")
    verdict = json.dumps({"id": "hr_x", "correct": True}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        reply = ask(
            address, "POST", "/v1/feedback", "origin: https://evil.example", f"content-type: {kind}", body=verdict
        )
        assert (reply.status, reply.error["code"]) == (403, "cross_site")
